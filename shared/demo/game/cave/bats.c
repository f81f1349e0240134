#include "common.h"
#include "engine.h"
#include "cave.h"

Bat g_bats[BAT_MAX];
s32 g_bat_panic;

s32 bat_limit(s32 v, s32 most);
void bats_draw(void);
void bats_scatter(s32 force);

void bats_init(s32 x, s32 y) {
    s32 i;

    for (i = 0; i < BAT_MAX; i++) {
        g_bats[i].x = x + rng_range(-20, 20);
        g_bats[i].y = y + rng_range(-12, 12);
        g_bats[i].vx = rng_range(-3, 3);
        g_bats[i].vy = rng_range(-2, 2);
    }
    g_bat_panic = 0;
}

s32 bat_limit(s32 v, s32 most) {
    if (v > most) {
        return most;
    }
    return v < -most ? -most : v;
}

void bats_step(s32 lamp_x, s32 lamp_y) {
    s32 i;
    s32 j;
    s32 mid_x = 0;
    s32 mid_y = 0;
    s32 avg_vx = 0;
    s32 avg_vy = 0;
    s32 dx;
    s32 dy;
    s32 ax;
    s32 ay;

    for (i = 0; i < BAT_MAX; i++) {
        mid_x += g_bats[i].x;
        mid_y += g_bats[i].y;
        avg_vx += g_bats[i].vx;
        avg_vy += g_bats[i].vy;
    }
    mid_x /= BAT_MAX;
    mid_y /= BAT_MAX;
    avg_vx /= BAT_MAX;
    avg_vy /= BAT_MAX;
    for (i = 0; i < BAT_MAX; i++) {
        Bat *b = &g_bats[i];

        ax = (mid_x - b->x) / 32 + (avg_vx - b->vx) / 4;
        ay = (mid_y - b->y) / 32 + (avg_vy - b->vy) / 4;
        for (j = 0; j < BAT_MAX; j++) {
            dx = b->x - g_bats[j].x;
            dy = b->y - g_bats[j].y;
            if (j != i && fx_abs(dx) + fx_abs(dy) < 10) {
                ax += fx_sign(dx) * 2;
                ay += fx_sign(dy) * 2;
            }
        }
        dx = b->x - lamp_x;
        dy = b->y - lamp_y;
        if (dx * dx + dy * dy < 48 * 48) {
            ax += dx / 8;
            ay += dy / 8;
            g_bat_panic++;
        }
        b->vx = bat_limit(b->vx + ax, 4);
        b->vy = bat_limit(b->vy + ay, 3);
        b->x += b->vx;
        b->y += b->vy;
    }
    if (g_bat_panic > 0) {
        g_bat_panic--;
    }
}

void bats_draw(void) {
    s32 i;

    draw_color(90, 70, 110);
    for (i = 0; i < BAT_MAX; i++) {
        draw_tile(g_bats[i].x - g_map.scroll_x, g_bats[i].y - g_map.scroll_y, 0x90 + ((g_game.frame + i) & 3), 6);
    }
}

void bats_scatter(s32 force) {
    s32 i;

    for (i = 0; i < BAT_MAX; i++) {
        g_bats[i].vx = bat_limit(rng_range(-force, force), 9);
        g_bats[i].vy = bat_limit(rng_range(-force, force), 7);
    }
    g_bat_panic += force;
}
