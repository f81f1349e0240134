#include "common.h"
#include "engine.h"

Actor ov_actors[ACTOR_MAX];
s32 ov_clock;

void actor_think(Actor *a);
s32 actor_reach(const Actor *a, s32 x, s32 y);
void actor_face(Actor *a, s32 x, s32 y);

void actor_reset(void) {
    s32 i;

    for (i = 0; i < ACTOR_MAX; i++) {
        ov_actors[i].state = ACT_GONE;
        ov_actors[i].flags = 0;
    }
    ov_clock = 0;
}

Actor *actor_spawn(s32 kind, s32 x, s32 y) {
    s32 i;

    for (i = 0; i < ACTOR_MAX; i++) {
        Actor *a = &ov_actors[i];

        if (a->state != ACT_GONE) {
            continue;
        }
        a->x = FX(x);
        a->y = FX(y);
        a->vx = 0;
        a->vy = 0;
        a->angle = rng_next() & (ANGLE_FULL - 1);
        a->timer = 30;
        a->hp = g_kinds[kind & 7].hp;
        a->state = ACT_IDLE;
        a->kind = kind;
        a->flags = 1;
        a->route = 0xFF;
        a->frame = 0;
        a->shade = 16;
        a->home_x = x;
        a->home_y = y;
        return a;
    }
    return NULL;
}

s32 actor_reach(const Actor *a, s32 x, s32 y) {
    s32 dx = fx_abs(a->x - x) >> 8;
    s32 dy = fx_abs(a->y - y) >> 8;

    return dx + dy - (dx < dy ? dx : dy) / 2;
}

void actor_face(Actor *a, s32 x, s32 y) {
    a->angle = fx_turn_toward(a->angle, fx_atan2(y - a->y, x - a->x), 96);
}

void actor_think(Actor *a) {
    const Entity *player = g_pool.player;
    s32 reach;

    if (player == NULL) {
        a->state = ACT_IDLE;
        return;
    }
    reach = actor_reach(a, player->pos.x, player->pos.y);
    switch (a->state) {
        case ACT_IDLE:
            a->vx = 0;
            a->vy = 0;
            if (--a->timer <= 0) {
                a->timer = 60 + (rng_next() & 31);
                a->state = a->route != 0xFF ? ACT_WALK : ACT_CHASE;
            }
            break;
        case ACT_WALK:
            if (route_step(a, FX_ONE / 2)) {
                a->state = ACT_IDLE;
                a->timer = 45;
            } else if (reach < 64 * 16) {
                a->state = ACT_CHASE;
                snd_effect(10);
            }
            break;
        case ACT_CHASE:
            actor_face(a, player->pos.x, player->pos.y);
            a->vx = fx_mul(fx_cos(a->angle), FX_ONE);
            a->vy = fx_mul(fx_sin(a->angle), FX_ONE);
            if (reach < 24 * 16) {
                a->state = ACT_CHARGE;
                a->timer = 20;
            } else if (reach > 120 * 16) {
                a->state = ACT_IDLE;
                a->timer = 90;
            }
            break;
        case ACT_CHARGE:
            a->vx += fx_cos(a->angle) >> 3;
            a->vy += fx_sin(a->angle) >> 3;
            if (--a->timer == 0) {
                a->vx /= 4;
                a->vy /= 4;
                a->state = ACT_CHASE;
            }
            if (reach < 8 * 16) {
                ent_hurt(g_pool.player, 3);
            }
            break;
        case ACT_HURT:
            a->vx = -a->vx / 2;
            a->vy = -a->vy / 2;
            if (--a->timer <= 0) {
                a->state = a->hp > 0 ? ACT_CHASE : ACT_DIE;
                a->timer = 16;
            }
            break;
        case ACT_DIE:
            a->shade--;
            spark_red(a->x, a->y);
            if (--a->timer <= 0) {
                a->state = ACT_GONE;
                game_add_exp(a->kind + 2);
            }
            break;
    }
}

void actor_update_all(void) {
    s32 i;

    ov_clock++;
    for (i = 0; i < ACTOR_MAX; i++) {
        Actor *a = &ov_actors[i];

        if (a->state == ACT_GONE) {
            continue;
        }
        actor_think(a);
        if (!(map_flags_at(FX_INT(a->x + a->vx), FX_INT(a->y)) & TILE_SOLID)) {
            a->x += a->vx;
        }
        if (!(map_flags_at(FX_INT(a->x), FX_INT(a->y + a->vy)) & TILE_SOLID)) {
            a->y += a->vy;
        }
        if (((ov_clock + i) & 7) == 0) {
            a->frame = (a->frame + 1) & 3;
        }
    }
}

void actor_draw_all(s32 shade) {
    s32 i;
    s32 x;
    s32 y;
    s32 light;
    s32 tile;

    for (i = 0; i < ACTOR_MAX; i++) {
        const Actor *a = &ov_actors[i];

        if (a->state == ACT_GONE) {
            continue;
        }
        x = FX_INT(a->x) - g_map.scroll_x;
        y = FX_INT(a->y) - g_map.scroll_y;
        if (x < -24 || y < -24 || x > 344 || y > 264) {
            continue;
        }
        light = a->shade * shade / 16;
        if (a->state == ACT_HURT && (ov_clock & 2)) {
            draw_color(255, 64, 64);
        } else {
            light = fx_clamp(light * 8, 16, 255);
            draw_color(light, light, light);
        }
        tile = 128 + a->kind * 8 + a->frame;
        if (a->vx < 0) {
            tile += 4;
        }
        if (a->flags & 2) {
            draw_tile(x - 8, y + 4, 0x1B, OT_SIZE - 2);
        }
        draw_tile(x - 8, y - 8, tile, 8 + (y >> 3) / 4);
        if (a->hp > 0 && a->hp < g_kinds[a->kind & 7].hp) {
            draw_line(x - 8, y - 12, x - 8 + a->hp, y - 12);
        }
    }
}

s32 actor_hit(Actor *a, s32 damage) {
    if (a->state == ACT_GONE || a->state == ACT_DIE || a->state == ACT_HURT) {
        return FALSE;
    }
    a->hp -= damage;
    a->timer = 12;
    a->state = ACT_HURT;
    if (a->hp <= 0) {
        a->hp = 0;
        snd_effect(6);
    }
    return TRUE;
}
