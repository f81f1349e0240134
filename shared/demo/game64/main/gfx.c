#include "boat.h"

GfxList g_gfx;

void gfx_glyph(s32 x, s32 y, u8 c);

void gfx_begin(void) {
    g_gfx.used = 0;
    g_gfx.lost = 0;
    gfx_put(0xE7000000, 0);
}

void gfx_put(u32 w0, u32 w1) {
    if (g_gfx.used < GFX_MAX) {
        g_gfx.list[g_gfx.used].w0 = w0;
        g_gfx.list[g_gfx.used].w1 = w1;
        g_gfx.used++;
    } else {
        g_gfx.lost++;
    }
}

void gfx_rect(s32 x0, s32 y0, s32 x1, s32 y1, u16 color) {
    x0 = q_clamp(x0, 0, 319);
    x1 = q_clamp(x1, 0, 319);
    y0 = q_clamp(y0, 0, 239);
    y1 = q_clamp(y1, 0, 239);
    if (x0 >= x1 || y0 >= y1) {
        return;
    }
    gfx_put(0xF7000000, ((u32)color << 16) | color);
    gfx_put(0xF6000000 | (x1 << 14) | (y1 << 2), (x0 << 14) | (y0 << 2));
}

void gfx_glyph(s32 x, s32 y, u8 c) {
    gfx_put(0xE4000000 | ((x + 8) << 14) | ((y + 8) << 2), (x << 14) | (y << 2));
    gfx_put(0xB4000000, (u32)(c & 15) << 24 | (c >> 4) << 8);
}

void gfx_text(s32 x, s32 y, const char *s) {
    s32 start = x;

    for (; *s != '\0'; s++) {
        if (*s == '\n') {
            x = start;
            y += 10;
        } else {
            if (*s != ' ') {
                gfx_glyph(x, y, *s);
            }
            x += 8;
        }
    }
}
