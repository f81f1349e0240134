#include "common.h"

Camera g_camera;

void mtx_identity(Matrix *out) {
    s32 i;
    s32 j;

    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            out->m[i][j] = i == j ? FX_ONE : 0;
        }
        out->t[i] = 0;
    }
}

void mtx_rot_x(Matrix *out, s32 angle) {
    s32 s = fx_sin(angle);
    s32 c = fx_cos(angle);

    mtx_identity(out);
    out->m[1][1] = c;
    out->m[1][2] = -s;
    out->m[2][1] = s;
    out->m[2][2] = c;
}

void mtx_rot_y(Matrix *out, s32 angle) {
    s32 s = fx_sin(angle);
    s32 c = fx_cos(angle);

    mtx_identity(out);
    out->m[0][0] = c;
    out->m[0][2] = s;
    out->m[2][0] = -s;
    out->m[2][2] = c;
}

void mtx_rot_z(Matrix *out, s32 angle) {
    s32 s = fx_sin(angle);
    s32 c = fx_cos(angle);

    mtx_identity(out);
    out->m[0][0] = c;
    out->m[0][1] = -s;
    out->m[1][0] = s;
    out->m[1][1] = c;
}

void mtx_mul(Matrix *out, const Matrix *a, const Matrix *b) {
    s32 i;
    s32 j;
    s32 sum;

    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            sum = a->m[i][0] * b->m[0][j];
            sum += a->m[i][1] * b->m[1][j];
            sum += a->m[i][2] * b->m[2][j];
            out->m[i][j] = sum >> FX_SHIFT;
        }
        sum = a->m[i][0] * (b->t[0] >> 4) + a->m[i][1] * (b->t[1] >> 4) + a->m[i][2] * (b->t[2] >> 4);
        out->t[i] = a->t[i] + (sum >> (FX_SHIFT - 4));
    }
}

void mtx_apply(const Matrix *m, const SVec3 *in, Vec3 *out) {
    out->x = ((m->m[0][0] * in->x + m->m[0][1] * in->y + m->m[0][2] * in->z) >> FX_SHIFT) + m->t[0];
    out->y = ((m->m[1][0] * in->x + m->m[1][1] * in->y + m->m[1][2] * in->z) >> FX_SHIFT) + m->t[1];
    out->z = ((m->m[2][0] * in->x + m->m[2][1] * in->y + m->m[2][2] * in->z) >> FX_SHIFT) + m->t[2];
}

void mtx_translate(Matrix *m, s32 x, s32 y, s32 z) {
    m->t[0] += x;
    m->t[1] += y;
    m->t[2] += z;
}

s32 mtx_project(const Matrix *m, const SVec3 *in, Point *out) {
    Vec3 v;

    mtx_apply(m, in, &v);
    if (v.z < g_camera.near_z || v.z > g_camera.far_z) {
        return -1;
    }
    out->x = g_camera.center_x + (v.x * g_camera.focal) / v.z;
    out->y = g_camera.center_y - (v.y * g_camera.focal) / v.z;
    return v.z >> 4;
}

void vec_add(Vec3 *out, const Vec3 *a, const Vec3 *b) {
    out->x = a->x + b->x;
    out->y = a->y + b->y;
    out->z = a->z + b->z;
}

void vec_scale(Vec3 *v, s32 k) {
    v->x = fx_mul(v->x, k);
    v->y = fx_mul(v->y, k);
    v->z = fx_mul(v->z, k);
}

void vec_normalize(Vec3 *v) {
    s32 len = fx_sqrt((v->x >> 6) * (v->x >> 6) + (v->y >> 6) * (v->y >> 6) + (v->z >> 6) * (v->z >> 6)) << 6;

    if (len == 0) {
        v->x = FX_ONE;
        v->y = 0;
        v->z = 0;
        return;
    }
    v->x = fx_div(v->x, len);
    v->y = fx_div(v->y, len);
    v->z = fx_div(v->z, len);
}

void camera_reset(void) {
    mtx_identity(&g_camera.view);
    g_camera.focal = 320;
    g_camera.center_x = 160;
    g_camera.center_y = 120;
    g_camera.near_z = 16;
    g_camera.far_z = 4096;
}
