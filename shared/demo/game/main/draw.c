#include "common.h"

DrawState g_draw;
Prim g_prims[PRIM_MAX];

s32 draw_clip(Rect *r);

void draw_begin(void) {
    s32 i;

    for (i = 0; i < OT_SIZE; i++) {
        g_draw.ot[i] = OT_END;
    }
    g_draw.used = 0;
    g_draw.dropped = 0;
    g_draw.r = 128;
    g_draw.g = 128;
    g_draw.b = 128;
    g_draw.clip.x = 0;
    g_draw.clip.y = 0;
    g_draw.clip.w = 320;
    g_draw.clip.h = 240;
}

void draw_color(u8 r, u8 g, u8 b) {
    g_draw.r = r;
    g_draw.g = g;
    g_draw.b = b;
}

Prim *draw_alloc(s32 depth) {
    Prim *p;

    if (g_draw.used >= PRIM_MAX) {
        g_draw.dropped++;
        return NULL;
    }
    if (depth < 0) {
        depth = 0;
    } else if (depth >= OT_SIZE) {
        depth = OT_SIZE - 1;
    }
    p = &g_prims[g_draw.used++];
    p->tag = (g_draw.ot[depth] & 0x00FFFFFF) | 0x04000000;
    g_draw.ot[depth] = (u32)p & 0x00FFFFFF;
    p->r = g_draw.r;
    p->g = g_draw.g;
    p->b = g_draw.b;
    return p;
}

void draw_tile(s32 x, s32 y, s32 tile, s32 depth) {
    Prim *p;

    if (x < -16 || x >= 320 || y < -16 || y >= 240) {
        return;
    }
    p = draw_alloc(depth);
    if (p == NULL) {
        return;
    }
    p->code = 0x7C;
    p->x = x;
    p->y = y;
    p->u_v = ((tile & 15) << 4) | ((tile >> 4) << 12);
    p->clut = 0x7800 + (tile >> 6);
}

void draw_box(const Rect *r, s32 depth) {
    Prim *p;
    Rect part = *r;

    if (!draw_clip(&part)) {
        return;
    }
    p = draw_alloc(depth);
    if (p != NULL) {
        p->code = 0x60;
        p->x = part.x;
        p->y = part.y;
        p->u_v = part.w;
        p->clut = part.h;
    }
}

void draw_line(s32 x0, s32 y0, s32 x1, s32 y1) {
    s32 dx = fx_abs(x1 - x0);
    s32 dy = -fx_abs(y1 - y0);
    s32 sx = x0 < x1 ? 1 : -1;
    s32 sy = y0 < y1 ? 1 : -1;
    s32 err = dx + dy;
    s32 twice;
    Prim *p;

    for (;;) {
        p = draw_alloc(0);
        if (p == NULL) {
            return;
        }
        p->code = 0x68;
        p->x = x0;
        p->y = y0;
        if (x0 == x1 && y0 == y1) {
            return;
        }
        twice = 2 * err;
        if (twice >= dy) {
            err += dy;
            x0 += sx;
        }
        if (twice <= dx) {
            err += dx;
            y0 += sy;
        }
    }
}

s32 draw_clip(Rect *r) {
    s32 x0 = r->x;
    s32 y0 = r->y;
    s32 x1 = x0 + r->w;
    s32 y1 = y0 + r->h;
    const Rect *c = &g_draw.clip;

    if (x0 < c->x) {
        x0 = c->x;
    }
    if (y0 < c->y) {
        y0 = c->y;
    }
    if (x1 > c->x + c->w) {
        x1 = c->x + c->w;
    }
    if (y1 > c->y + c->h) {
        y1 = c->y + c->h;
    }
    if (x0 >= x1 || y0 >= y1) {
        return FALSE;
    }
    r->x = x0;
    r->y = y0;
    r->w = x1 - x0;
    r->h = y1 - y0;
    return TRUE;
}

void draw_fade_to(s32 level) {
    s32 fade = g_draw.fade;

    if (fade + 8 < level) {
        fade += 8;
    } else if (fade - 8 > level) {
        fade -= 8;
    } else {
        fade = level;
    }
    g_draw.fade = fade;
}

u16 draw_blend(u16 a, u16 b, s32 t) {
    s32 r = (a & 31) + ((((b & 31) - (a & 31)) * t) >> 8);
    s32 g = ((a >> 5) & 31) + (((((b >> 5) & 31) - ((a >> 5) & 31)) * t) >> 8);
    s32 u = ((a >> 10) & 31) + (((((b >> 10) & 31) - ((a >> 10) & 31)) * t) >> 8);

    return r | (g << 5) | (u << 10) | (a & 0x8000);
}

void draw_number(s32 x, s32 y, s32 value) {
    char buf[12];
    s32 i;
    s32 n = str_from_int(buf, value);

    for (i = 0; i < n; i++) {
        draw_tile(x + i * 8, y, buf[i], 1);
    }
}
