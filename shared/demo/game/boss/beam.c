#include "common.h"
#include "boss.h"

Beam g_beams[BEAM_MAX];
s32 beam_grazes;

void beams_reset(void);
s32 beam_distance(const Beam *b, s32 x, s32 y);
void beams_step(void);
void beams_draw(void);
s32 beams_live(void);
s32 beam_power(const Beam *b);

void beams_reset(void) {
    s32 i;

    for (i = 0; i < BEAM_MAX; i++) {
        g_beams[i].life = 0;
    }
    beam_grazes = 0;
}

Beam *beam_fire(s32 angle, s32 spin, s32 kind) {
    s32 i;

    for (i = 0; i < BEAM_MAX; i++) {
        Beam *b = &g_beams[i];

        if (b->life != 0) {
            continue;
        }
        b->x = g_boss.x;
        b->y = g_boss.y;
        b->angle = angle & (ANGLE_FULL - 1);
        b->spin = spin;
        b->length = 8;
        b->life = kind == 1 ? 140 : 90;
        b->kind = kind;
        return b;
    }
    return NULL;
}

s32 beam_distance(const Beam *b, s32 x, s32 y) {
    s32 dx = FX_INT(x - b->x);
    s32 dy = FX_INT(y - b->y);
    s32 along = fx_cos(b->angle) * dx + fx_sin(b->angle) * dy;
    s32 side = fx_cos(b->angle) * dy - fx_sin(b->angle) * dx;

    if (along < 0 || FX_INT(along) > b->length) {
        return 0x7FFF;
    }
    return fx_abs(FX_INT(side));
}

s32 beam_power(const Beam *b) {
    switch (b->kind) {
        case 0:
            return 4;
        case 1:
            return 2 + g_boss.phase;
        case 2:
            return 3 + g_boss.enraged * 4;
    }
    return 1;
}

void beams_step(void) {
    s32 i;
    s32 gap;
    s32 tip_x;
    s32 tip_y;
    Entity *player = g_pool.player;

    for (i = 0; i < BEAM_MAX; i++) {
        Beam *b = &g_beams[i];

        if (b->life == 0) {
            continue;
        }
        b->life--;
        b->angle = (b->angle + b->spin) & (ANGLE_FULL - 1);
        switch (b->kind) {
            case 0:
                b->x += fx_cos(b->angle) * 3;
                b->y += fx_sin(b->angle) * 3;
                if (b->length < 40) {
                    b->length += 4;
                }
                break;
            case 1:
                if (b->life > 100) {
                    b->length += 3;
                } else if (b->length > 3) {
                    b->length -= 1;
                }
                b->x = g_boss.x;
                b->y = g_boss.y;
                break;
            case 2:
                b->length = 120 + (fx_sin(b->life * 64) >> 7);
                b->spin = fx_approach(b->spin, 0, 1);
                break;
        }
        tip_x = b->x + fx_cos(b->angle) * b->length;
        tip_y = b->y + fx_sin(b->angle) * b->length;
        if (map_flags_at(FX_INT(tip_x), FX_INT(tip_y)) & TILE_SOLID) {
            spark_red(tip_x, tip_y);
            if (b->kind == 0) {
                b->life = 0;
                shards_burst(FX_INT(tip_x), FX_INT(tip_y), 3);
                continue;
            }
        }
        if (player == NULL) {
            continue;
        }
        gap = beam_distance(b, player->pos.x, player->pos.y);
        if (gap < 5) {
            ent_hurt(player, beam_power(b));
        } else if (gap < 14) {
            beam_grazes++;
        }
    }
}

void beams_draw(void) {
    s32 i;
    s32 x;
    s32 y;
    s32 tx;
    s32 ty;

    for (i = 0; i < BEAM_MAX; i++) {
        const Beam *b = &g_beams[i];

        if (b->life == 0) {
            continue;
        }
        x = FX_INT(b->x) - g_map.scroll_x;
        y = FX_INT(b->y) - g_map.scroll_y;
        tx = x + FX_INT(fx_cos(b->angle) * b->length);
        ty = y + FX_INT(fx_sin(b->angle) * b->length);
        draw_color(255, b->kind * 80, 60 + b->life);
        draw_line(x, y, tx, ty);
        if (tx < -64 || ty < -64 || tx > 384 || ty > 304) {
            draw_tile(x - 4, y - 4, 0x2A, 3);
            continue;
        }
        if (b->life & 2) {
            draw_color(255, 255, 255);
            draw_line(x + 1, y, tx, ty);
        }
    }
}

s32 beams_live(void) {
    s32 n = 0;
    s32 i;

    for (i = 0; i < BEAM_MAX; i++) {
        n += g_beams[i].life != 0;
    }
    return n;
}
