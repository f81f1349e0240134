#ifndef DRAW_H
#define DRAW_H

#include "types.h"

#define OT_SIZE 64
#define PRIM_MAX 256
#define OT_END 0x00FFFFFF

/* One 16-byte drawing packet, linked into the ordering table. */
typedef struct Prim {
    u32 tag;
    u8 r;
    u8 g;
    u8 b;
    u8 code;
    s16 x;
    s16 y;
    u16 u_v;
    u16 clut;
} Prim;

typedef struct DrawState {
    u32 ot[OT_SIZE];
    s32 used;
    s32 dropped;
    u8 r;
    u8 g;
    u8 b;
    u8 fade;
    Rect clip;
} DrawState;

extern DrawState g_draw;
extern Prim g_prims[PRIM_MAX];

void draw_begin(void);
void draw_color(u8 r, u8 g, u8 b);
Prim *draw_alloc(s32 depth);
void draw_tile(s32 x, s32 y, s32 tile, s32 depth);
void draw_box(const Rect *r, s32 depth);
void draw_line(s32 x0, s32 y0, s32 x1, s32 y1);
void draw_fade_to(s32 level);
u16 draw_blend(u16 a, u16 b, s32 t);
void draw_number(s32 x, s32 y, s32 value);

#endif
