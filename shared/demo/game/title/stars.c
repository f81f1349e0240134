#include "common.h"
#include "title.h"

Star g_stars[STAR_MAX];

void star_place(Star *s, s32 z);
void stars_draw(void);
void flame_draw(s32 x, s32 y);
void flame_feed(s32 power);

void star_place(Star *s, s32 z) {
    s->x = rng_range(-400, 400);
    s->y = rng_range(-300, 300);
    s->z = z;
    s->hue = rng_next() & 31;
}

void stars_reset(void) {
    s32 i;

    for (i = 0; i < STAR_MAX; i++) {
        star_place(&g_stars[i], 40 + i * 30);
    }
}

void stars_step(s32 speed) {
    s32 i;

    for (i = 0; i < STAR_MAX; i++) {
        g_stars[i].z -= speed;
        if (g_stars[i].z < 16) {
            star_place(&g_stars[i], 760);
        }
    }
}

void stars_draw(void) {
    s32 i;
    s32 x;
    s32 y;
    s32 shade;
    s32 px;
    s32 py;

    for (i = 0; i < STAR_MAX; i++) {
        const Star *s = &g_stars[i];

        x = 160 + s->x * 128 / s->z;
        y = 120 + s->y * 128 / s->z;
        if (x < 0 || y < 0 || x > 319 || y > 239) {
            continue;
        }
        shade = 255 - s->z / 3;
        if (shade < 20) {
            shade = 20;
        }
        draw_color(shade, shade - s->hue / 2, shade - s->hue);
        px = 160 + s->x * 128 / (s->z + 12);
        py = 120 + s->y * 128 / (s->z + 12);
        if (px < 0 || px > 319) {
            px = x;
        }
        if (py < 0 || py > 239) {
            py = y;
        }
        if (s->z < 120) {
            draw_line(x, y, px, py);
        } else {
            draw_tile(x, y, s->z < 300 ? 0x2E : 0x2D, 60);
        }
    }
}

void flame_feed(s32 power) {
    s32 x;

    for (x = 4; x < 16; x++) {
        g_title.heat[15][x] = fx_clamp(power + rng_range(-20, 20), 0, 63);
    }
}

void flame_step(void) {
    s32 x;
    s32 y;
    s32 sum;
    s32 cool;

    for (y = 0; y < 15; y++) {
        for (x = 1; x < 19; x++) {
            sum = g_title.heat[y + 1][x - 1];
            sum += g_title.heat[y + 1][x] * 2;
            sum += g_title.heat[y + 1][x + 1];
            cool = (rng_next() >> 4) & 3;
            sum = sum / 4 - cool;
            if (y > 4 && g_title.heat[y][x] > sum) {
                sum = (sum + g_title.heat[y][x]) / 2;
            }
            if (sum < 0) {
                sum = 0;
            }
            g_title.heat[y][x] = sum;
        }
    }
    for (x = 0; x < 20; x++) {
        if (g_title.heat[15][x] > 3) {
            g_title.heat[15][x] -= 3;
        }
    }
}

void flame_draw(s32 x, s32 y) {
    s32 i;
    s32 j;
    s32 heat;
    u16 color;
    Rect r;

    r.w = 4;
    r.h = 4;
    for (j = 0; j < 16; j++) {
        for (i = 0; i < 20; i++) {
            heat = g_title.heat[j][i];
            if (heat < 4) {
                continue;
            }
            color = g_title.palette[heat >> 1];
            draw_color((color & 31) << 3, (color >> 2) & 0xF8, (color >> 7) & 0xF8);
            r.x = x + i * 4;
            r.y = y + j * 4;
            draw_box(&r, 30);
        }
    }
}
