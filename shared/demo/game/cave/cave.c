#include "common.h"
#include "engine.h"
#include "golem.h"
#include "cave.h"

OverlayHeader cave_header = { OVL_MAGIC, OVL_CAVE, cave_init, cave_update, cave_draw, cave_event };

u8 cave_intro[] = {
    1, 20, 2, 2, 40, 30, 0xFF, 2, 4, 70, 44, 0xFF, 10, 3, 3, 8, 6, 1, 30, 8, 17, 0,
};

CaveState g_cave;

void cave_room(s32 x, s32 y, s32 w, s32 h);
void cave_tunnel(s32 x0, s32 y0, s32 x1, s32 y1);
void cave_place_chests(void);
void cave_drip(void);
void crystal_seed(u32 seed);
s32 crystal_step(void);
s32 crystal_solved(void);
void crystal_touch(s32 x, s32 y);
void crystal_draw(s32 x, s32 y);
void bats_draw(void);
void bats_scatter(s32 force);

void cave_room(s32 x, s32 y, s32 w, s32 h) {
    Rect r;

    r.x = x;
    r.y = y;
    r.w = w;
    r.h = h;
    map_fill(&r, 4);
    r.x = x + 1;
    r.y = y + 1;
    r.w = w - 2;
    r.h = h - 2;
    map_fill(&r, 5);
    g_cave.rooms++;
}

void cave_tunnel(s32 x0, s32 y0, s32 x1, s32 y1) {
    while (x0 != x1) {
        map_set(x0, y0, 5);
        map_set(x0, y0 + 1, 4);
        x0 += fx_sign(x1 - x0);
    }
    while (y0 != y1) {
        map_set(x0, y0, 5);
        map_set(x0 + 1, y0, 4);
        y0 += fx_sign(y1 - y0);
    }
}

void cave_init(void) {
    s32 i;
    s32 x;
    s32 y;
    s32 w;
    s32 h;
    s32 last_x = 0;
    s32 last_y = 0;
    Rect all;

    map_clear(MAP_W, MAP_H);
    actor_reset();
    g_cave.rooms = 0;
    g_cave.steps = 0;
    g_cave.water = 0;
    g_cave.solved = 0;
    g_cave.chest_open = 0;
    all.x = 0;
    all.y = 0;
    all.w = MAP_W;
    all.h = MAP_H;
    map_fill(&all, 1);
    for (i = 0; i < 6; i++) {
        w = rng_range(4, 8);
        h = rng_range(3, 6);
        x = rng_range(1, MAP_W - w - 2);
        y = rng_range(1, MAP_H - h - 2);
        cave_room(x, y, w, h);
        x += w / 2;
        y += h / 2;
        if (i == 0) {
            ent_spawn(KIND_KEEPER, x * TILE_SIZE + 8, y * TILE_SIZE + 8);
        } else {
            cave_tunnel(last_x, last_y, x, y);
            if (rng_percent(60)) {
                spawn_slime(x * TILE_SIZE, y * TILE_SIZE);
            } else {
                spawn_bat(x * TILE_SIZE, y * TILE_SIZE);
            }
        }
        last_x = x;
        last_y = y;
    }
    cave_place_chests();
    golem_wake(last_x * TILE_SIZE, last_y * TILE_SIZE);
    bats_init(last_x * TILE_SIZE, last_y * TILE_SIZE);
    crystal_seed(g_rng.seed);
    scene_start(cave_intro);
}

void cave_place_chests(void) {
    s32 tries;
    s32 placed = 0;
    s32 x;
    s32 y;

    for (tries = 0; tries < 200 && placed < 3; tries++) {
        x = rng_range(2, MAP_W - 3);
        y = rng_range(2, MAP_H - 3);
        if (map_get(x, y) != 5 || map_get(x + 1, y) != 5 || map_get(x - 1, y) != 5) {
            continue;
        }
        if (map_get(x, y - 1) == 1) {
            ent_spawn(KIND_CHEST, x * TILE_SIZE + 8, y * TILE_SIZE + 8);
            map_set(x, y, 12 + placed);
            placed++;
        }
    }
    g_cave.lamps = placed;
}

void cave_drip(void) {
    static s16 drops[8];
    s32 i = g_cave.steps & 7;

    drops[i]++;
    if (drops[i] > 40 + i * 3) {
        drops[i] = 0;
        g_cave.drip = i;
        spark_blue(FX(i * 40 + 8), FX(drops[(i + 1) & 7]));
    }
}

void cave_update(void) {
    const Entity *player = g_pool.player;

    g_cave.steps++;
    scene_step();
    actor_update_all();
    golem_step();
    cave_drip();
    if (player != NULL) {
        bats_step(FX_INT(player->pos.x), FX_INT(player->pos.y));
        map_light(FX_INT(player->pos.x) >> 4, FX_INT(player->pos.y) >> 4, 2 + g_game.oil / 200);
    }
    if ((g_cave.steps & 63) == 0) {
        map_darken();
        if (!g_cave.solved && !crystal_step() && crystal_solved()) {
            g_cave.solved = 1;
            flag_set(40);
            snd_effect(14);
        }
    }
}

void cave_draw(void) {
    actor_draw_all(10 + g_game.oil / 100);
    bats_draw();
    if (!g_cave.solved) {
        crystal_draw(8, 140);
    }
    draw_number(280, 8, g_game.oil);
}

s32 cave_event(s32 id, s32 arg) {
    s32 i;
    Entity *e;

    switch (id) {
        case 0:
            g_cave.depth += arg;
            text_set_var(1, g_cave.depth);
            return g_cave.depth;
        case 1:
            e = ent_find_kind(KIND_CHEST);
            if (e == NULL) {
                return FALSE;
            }
            ent_kill(e);
            g_cave.chest_open++;
            inv_add(ITEM_OIL + arg, 1);
            put_str("A chest! ");
            put_str(item_name(ITEM_OIL + arg));
            put_ch('\n');
            return TRUE;
        case 2:
            crystal_touch(arg & 15, arg >> 4);
            snd_effect(9);
            return crystal_solved();
        case 3:
            bats_scatter(arg);
            for (i = 0; i < ACTOR_MAX; i++) {
                if (ov_actors[i].kind == KIND_BAT && actor_hit(&ov_actors[i], 1)) {
                    game_add_exp(1);
                }
            }
            return TRUE;
        case 6:
            if (golem_damage(arg)) {
                flag_set(41);
                put_str("The stone sleeps.\n");
                return TRUE;
            }
            return FALSE;
        case 7:
            g_cave.water = fx_clamp(g_cave.water + arg, 0, 8);
            for (i = 0; i < g_cave.water; i++) {
                map_set(i * 3 + 1, MAP_H - 2, 6);
            }
            return g_cave.water;
        default:
            return -1;
    }
}
