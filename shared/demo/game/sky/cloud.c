#include "common.h"
#include "sky.h"

void clouds_reset(void);
void cloud_respawn(Cloud *c, s32 x);
void clouds_sort(void);
void clouds_step(void);
void clouds_draw(void);

void cloud_respawn(Cloud *c, s32 x) {
    c->x = FX(x);
    c->y = rng_range(8, 120);
    c->depth = rng_range(1, 7);
    c->size = rng_range(2, 6);
    c->shade = 120 + c->depth * 16;
}

void clouds_reset(void) {
    s32 i;

    for (i = 0; i < CLOUD_MAX; i++) {
        cloud_respawn(&g_sky.clouds[i], rng_range(0, 319));
    }
    clouds_sort();
}

void clouds_sort(void) {
    s32 i;
    s32 swapped = 1;
    Cloud keep;

    while (swapped) {
        swapped = 0;
        for (i = 0; i + 1 < CLOUD_MAX; i++) {
            if (g_sky.clouds[i].depth < g_sky.clouds[i + 1].depth) {
                keep = g_sky.clouds[i];
                g_sky.clouds[i] = g_sky.clouds[i + 1];
                g_sky.clouds[i + 1] = keep;
                swapped = 1;
            }
        }
    }
}

void clouds_step(void) {
    s32 i;
    s32 push;
    s32 dirty = 0;

    push = (fx_cos(g_sky.wind_angle) + g_sky.gust) >> 2;
    for (i = 0; i < CLOUD_MAX; i++) {
        Cloud *c = &g_sky.clouds[i];

        c->x += push / c->depth;
        if (c->x < -FX(64)) {
            cloud_respawn(c, 330);
            dirty = 1;
        } else if (c->x > FX(384)) {
            cloud_respawn(c, -60);
            dirty = 1;
        }
    }
    if (dirty) {
        clouds_sort();
    }
}

void clouds_draw(void) {
    s32 i;
    s32 k;
    s32 x;
    s32 lobes;
    Rect r;

    for (i = 0; i < CLOUD_MAX; i++) {
        const Cloud *c = &g_sky.clouds[i];

        draw_color(c->shade, c->shade, 255);
        lobes = c->size;
        for (k = 0; k < lobes; k++) {
            x = FX_INT(c->x) + k * 9;
            r.x = x;
            r.y = c->y - (k < lobes - k ? k : lobes - k) * 3;
            r.w = 14 - c->depth;
            r.h = 10 - c->depth;
            draw_box(&r, 20 + c->depth * 4);
        }
    }
}
