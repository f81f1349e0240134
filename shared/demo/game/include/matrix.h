#ifndef MATRIX_H
#define MATRIX_H

#include "types.h"

/* A rotation (4.12) and a translation (world units). */
typedef struct Matrix {
    s16 m[3][3];
    s16 pad;
    s32 t[3];
} Matrix;

typedef struct Camera {
    Matrix view;
    s32 focal;
    s16 center_x;
    s16 center_y;
    s16 near_z;
    s16 far_z;
} Camera;

extern Camera g_camera;

void mtx_identity(Matrix *out);
void mtx_rot_x(Matrix *out, s32 angle);
void mtx_rot_y(Matrix *out, s32 angle);
void mtx_rot_z(Matrix *out, s32 angle);
void mtx_mul(Matrix *out, const Matrix *a, const Matrix *b);
void mtx_apply(const Matrix *m, const SVec3 *in, Vec3 *out);
void mtx_translate(Matrix *m, s32 x, s32 y, s32 z);
s32 mtx_project(const Matrix *m, const SVec3 *in, Point *out);
void vec_add(Vec3 *out, const Vec3 *a, const Vec3 *b);
void vec_scale(Vec3 *v, s32 k);
void vec_normalize(Vec3 *v);
void camera_reset(void);

#endif
