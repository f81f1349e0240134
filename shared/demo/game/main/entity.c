#include "common.h"

Entity g_ents[ENT_MAX];
EntityPool g_pool;

const KindInfo g_kinds[8] = {
    { 0, 0, 0, 0, 0 },
    { 40, 7, 1, ENT_SOLID, 0 },
    { 4, 5, 2, 0, 1 },
    { 9, 8, 2, ENT_SOLID, 12 },
    { 6, 4, 2, ENT_GHOST, 26 },
    { 1, 8, 0, ENT_SOLID, 0 },
    { 1, 2, 0, ENT_GHOST, 0 },
    { 60, 15, 2, ENT_SOLID, 40 },
};

void ent_animate(Entity *e);
void ent_move(Entity *e);
static s32 ent_slot(const Entity *e);
void ent_drop(const Entity *e);

void ent_clear_all(void) {
    s32 i;

    for (i = 0; i < ENT_MAX; i++) {
        g_ents[i].flags = 0;
        g_ents[i].kind = KIND_NONE;
        g_ents[i].target = NULL;
    }
    g_pool.live = 0;
    g_pool.spawned = 0;
    g_pool.player = NULL;
    g_pool.tick = 0;
}

Entity *ent_spawn(s32 kind, s32 x, s32 y) {
    Entity *e;
    const KindInfo *info = &g_kinds[kind];
    s32 i;

    for (i = 0; i < ENT_MAX; i++) {
        e = &g_ents[i];
        if (e->flags & ENT_ALIVE) {
            continue;
        }
        e->flags = info->flags | ENT_ALIVE;
        e->kind = kind;
        e->state = 0;
        e->team = info->team;
        e->hp = info->hp;
        e->timer = 0;
        e->pos.x = FX(x);
        e->pos.y = FX(y);
        e->pos.z = 0;
        e->vel.x = 0;
        e->vel.y = 0;
        e->vel.z = 0;
        e->angle = 0;
        e->radius = info->radius;
        e->target = NULL;
        e->script = info->script;
        e->script_wait = 0;
        e->frame = 0;
        e->anim = 0;
        g_pool.live++;
        g_pool.spawned++;
        if (kind == KIND_KEEPER) {
            g_pool.player = e;
        }
        return e;
    }
    return NULL;
}

static s32 ent_slot(const Entity *e) {
    return e - g_ents;
}

void ent_kill(Entity *e) {
    if (!(e->flags & ENT_ALIVE)) {
        return;
    }
    e->flags = 0;
    g_pool.live--;
    if (g_pool.player == e) {
        g_pool.player = NULL;
    }
    g_ai.loops[ent_slot(e)] = 0;
}

Entity *ent_find_kind(s32 kind) {
    s32 i;

    for (i = 0; i < ENT_MAX; i++) {
        if ((g_ents[i].flags & ENT_ALIVE) && g_ents[i].kind == kind) {
            return &g_ents[i];
        }
    }
    return NULL;
}

s32 ent_distance(const Entity *a, const Entity *b) {
    s32 dx = fx_abs(a->pos.x - b->pos.x);
    s32 dy = fx_abs(a->pos.y - b->pos.y);

    if (dx > dy) {
        return dx + dy / 2;
    }
    return dy + dx / 2;
}

Entity *ent_nearest(const Entity *from, s32 team) {
    Entity *best = NULL;
    s32 best_distance = 0x7FFFFFFF;
    s32 distance;
    s32 i;

    for (i = 0; i < ENT_MAX; i++) {
        Entity *e = &g_ents[i];

        if (e == from || !(e->flags & ENT_ALIVE) || e->team != team) {
            continue;
        }
        distance = ent_distance(from, e);
        if (distance < best_distance) {
            best_distance = distance;
            best = e;
        }
    }
    return best;
}

void ent_move(Entity *e) {
    Rect box;
    s32 nx = e->pos.x + e->vel.x;
    s32 ny = e->pos.y + e->vel.y;
    s32 r = e->radius;

    box.w = r * 2;
    box.h = r * 2;
    if (e->flags & ENT_GHOST) {
        e->pos.x = nx;
        e->pos.y = ny;
        e->pos.z += e->vel.z;
        return;
    }
    box.x = FX_INT(nx) - r;
    box.y = FX_INT(e->pos.y) - r;
    if (!map_solid_box(&box)) {
        e->pos.x = nx;
    } else {
        e->vel.x = -e->vel.x / 2;
    }
    box.x = FX_INT(e->pos.x) - r;
    box.y = FX_INT(ny) - r;
    if (!map_solid_box(&box)) {
        e->pos.y = ny;
    } else {
        e->vel.y = -e->vel.y / 2;
    }
    if (map_flags_at(FX_INT(e->pos.x), FX_INT(e->pos.y)) & TILE_WATER) {
        e->vel.x = e->vel.x * 3 / 4;
        e->vel.y = e->vel.y * 3 / 4;
    }
    e->pos.z += e->vel.z;
    if (e->pos.z > 0) {
        e->vel.z -= FX_ONE / 4;
    } else {
        e->pos.z = 0;
        e->vel.z = 0;
    }
}

void ent_drop(const Entity *e) {
    s32 roll = rng_range(0, 15);

    if (roll < 3) {
        inv_add(ITEM_OIL, 1);
    } else if (roll < 5) {
        inv_add(ITEM_BREAD, 1);
    } else if (roll == 5) {
        inv_add(ITEM_TONIC, 1);
    } else {
        game_add_gold(e->radius + roll);
    }
}

void ent_hurt(Entity *e, s32 amount) {
    if (e->flags & ENT_HURT) {
        return;
    }
    e->hp -= amount;
    e->flags |= ENT_HURT;
    e->timer = 20;
    snd_effect(e->team == 1 ? 4 : 5);
    if (e->team == 1) {
        g_game.hp = e->hp;
    }
    if (e->hp <= 0) {
        part_burst(e->pos.x, e->pos.y, 10, e->kind);
        if (e->team == 2) {
            ent_drop(e);
            game_add_exp(g_kinds[e->kind].hp);
        }
        ent_kill(e);
    }
}

void ent_animate(Entity *e) {
    if (++e->anim < 8) {
        return;
    }
    e->anim = 0;
    e->frame = (e->frame + 1) & 3;
}

void ent_update_all(void) {
    s32 i;

    g_pool.tick++;
    for (i = 0; i < ENT_MAX; i++) {
        Entity *e = &g_ents[i];

        if (!(e->flags & ENT_ALIVE)) {
            continue;
        }
        if (e->timer > 0 && --e->timer == 0) {
            e->flags &= ~ENT_HURT;
        }
        ent_move(e);
        if (e->vel.x != 0 || e->vel.y != 0) {
            ent_animate(e);
        }
        if (e->vel.x < 0) {
            e->flags |= ENT_FLIP;
        } else if (e->vel.x > 0) {
            e->flags &= ~ENT_FLIP;
        }
        if (map_flags_at(FX_INT(e->pos.x), FX_INT(e->pos.y)) & TILE_HURT) {
            ent_hurt(e, 1);
        }
    }
}

void ent_face(Entity *e, const Entity *other) {
    e->angle = fx_atan2(other->pos.y - e->pos.y, other->pos.x - e->pos.x);
}

void ent_thrust(Entity *e, s32 speed) {
    e->vel.x = fx_mul(fx_cos(e->angle), speed);
    e->vel.y = fx_mul(fx_sin(e->angle), speed);
}

s32 ent_is_alive(const Entity *e) {
    return e != NULL && (e->flags & ENT_ALIVE);
}

void ent_draw_all(s32 cam_x, s32 cam_y) {
    s32 i;
    s32 x;
    s32 y;
    s32 tile;

    for (i = 0; i < ENT_MAX; i++) {
        const Entity *e = &g_ents[i];

        if (!(e->flags & ENT_ALIVE)) {
            continue;
        }
        if ((e->flags & ENT_HURT) && (g_pool.tick & 1)) {
            continue;
        }
        x = FX_INT(e->pos.x) - cam_x - 8;
        y = FX_INT(e->pos.y) - cam_y - 8 - FX_INT(e->pos.z);
        tile = 128 + e->kind * 8 + e->frame;
        if (e->flags & ENT_FLIP) {
            tile += 4;
        }
        draw_tile(x, y, tile, 8 + (y >> 4));
    }
}

Entity *spawn_bat(s32 x, s32 y) {
    Entity *e = ent_spawn(KIND_BAT, x, y);

    if (e != NULL) {
        e->pos.z = FX(24);
        e->angle = rng_range(0, 4095);
        e->script_wait = 30;
    }
    return e;
}

Entity *spawn_slime(s32 x, s32 y) {
    Entity *e = ent_spawn(KIND_SLIME, x, y);

    if (e != NULL) {
        e->pos.z = FX(2);
        e->angle = rng_range(0, 1023);
        e->script_wait = 90;
    }
    return e;
}

Entity *spawn_wisp(s32 x, s32 y) {
    Entity *e = ent_spawn(KIND_WISP, x, y);

    if (e != NULL) {
        e->pos.z = FX(12);
        e->angle = rng_range(0, 2047);
        e->script_wait = 10;
    }
    return e;
}
