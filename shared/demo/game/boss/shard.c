#include "common.h"
#include "boss.h"

Shard g_shards[SHARD_MAX];
const s8 shard_fan[8][2] = { { 3, 0 }, { 2, 2 }, { 0, 3 }, { -2, 2 }, { -3, 0 }, { -2, -2 }, { 0, -3 }, { 2, -2 } };

s32 shard_slot(void);
void shards_step(void);
void shards_draw(void);

s32 shard_slot(void) {
    s32 i;

    for (i = 0; i < SHARD_MAX; i++) {
        if (g_shards[i].life == 0) {
            return i;
        }
    }
    return -1;
}

void shards_burst(s32 x, s32 y, s32 count) {
    s32 i;
    s32 slot;

    for (i = 0; i < count; i++) {
        slot = shard_slot();
        if (slot < 0) {
            return;
        }
        g_shards[slot].x = x;
        g_shards[slot].y = y;
        g_shards[slot].vx = shard_fan[i & 7][0] + count / 8;
        g_shards[slot].vy = shard_fan[i & 7][1];
        g_shards[slot].life = 50 + (rng_next() & 31);
        g_shards[slot].spin = i;
    }
}

void shards_step(void) {
    s32 i;
    s32 flags;
    Rect box;
    Entity *player = g_pool.player;

    box.w = 6;
    box.h = 6;
    for (i = 0; i < SHARD_MAX; i++) {
        Shard *s = &g_shards[i];

        if (s->life == 0) {
            continue;
        }
        s->life--;
        s->x += s->vx;
        s->y += s->vy;
        if (s->life & 3) {
            s->spin++;
        } else {
            s->vy++;
        }
        flags = map_flags_at(s->x, s->y);
        if (flags & TILE_SOLID) {
            s->x -= s->vx;
            s->y -= s->vy;
            s->vx = -s->vx;
            s->vy = -s->vy / 2;
            s->life /= 2;
            spark_blue(FX(s->x), FX(s->y));
        } else if (flags & TILE_WATER) {
            s->life = 0;
            continue;
        }
        if (player == NULL || s->life < 4) {
            continue;
        }
        box.x = s->x - 3;
        box.y = s->y - 3;
        if (hit_point(&box, FX_INT(player->pos.x), FX_INT(player->pos.y))) {
            ent_hurt(player, 1 + g_boss.enraged);
            s->life = 3;
        }
    }
}

void shards_draw(void) {
    s32 i;

    for (i = 0; i < SHARD_MAX; i++) {
        if (g_shards[i].life > 0) {
            draw_color(120 + g_shards[i].life, 160, 255);
            draw_tile(g_shards[i].x - g_map.scroll_x, g_shards[i].y - g_map.scroll_y, 0x150 + (g_shards[i].spin & 7), 7);
        }
    }
}
