#include "common.h"

AiState g_ai;

const u8 g_ai_code[] = {
    /* 0 nothing */ AI_END,
    /* 1 bat */ AI_TURN, 1, 44, AI_THRUST, 16, AI_WAIT, 12, AI_IF_NEAR, 48, 7, AI_LOOP,
    /* 12 slime */ AI_RANDOM, 4, AI_THRUST, 8, AI_WAIT, 40, AI_STOP, AI_JUMP, 12, AI_WAIT, 60, AI_WAIT, 5, AI_LOOP,
    /* 26 wisp */ AI_IF_HURT, 33, AI_AIM, AI_THRUST, 12, AI_WAIT, 8, AI_TURN, 8, 0, AI_THRUST, 24, AI_WAIT, AI_END,
    /* 40 golem */ AI_AIM, AI_THRUST, 4, AI_WAIT, 30, AI_IF_NEAR, 32, 50, AI_SHOOT, AI_LOOP, AI_SOUND, 9, AI_JUMP, 20,
    AI_WAIT, 80, AI_LOOP, AI_END,
};

s32 ai_arg16(const u8 *p);
s32 ai_step(Entity *e, s32 index);
void ai_run(Entity *e, s32 index);
s32 ai_sees(const Entity *e, const Entity *other, s32 range);

s32 ai_arg16(const u8 *p) {
    return (s16)((p[0] << 8) | p[1]);
}

s32 ai_sees(const Entity *e, const Entity *other, s32 range) {
    if (other == NULL || !(other->flags & ENT_ALIVE)) {
        return FALSE;
    }
    if (ent_distance(e, other) > FX(range)) {
        return FALSE;
    }
    if (e->flags & ENT_GHOST) {
        return TRUE;
    }
    return map_line_clear(FX_INT(e->pos.x) / TILE_SIZE, FX_INT(e->pos.y) / TILE_SIZE,
                          FX_INT(other->pos.x) / TILE_SIZE, FX_INT(other->pos.y) / TILE_SIZE);
}

s32 ai_step(Entity *e, s32 index) {
    const u8 *p = &g_ai_code[e->script];
    Entity *shot;

    switch (p[0]) {
        case AI_END:
            e->state = 0;
            return FALSE;
        case AI_WAIT:
            e->script_wait = p[1];
            e->script += 2;
            return FALSE;
        case AI_TURN:
            e->angle = (e->angle + ai_arg16(p + 1)) & (ANGLE_FULL - 1);
            e->script += 3;
            return TRUE;
        case AI_THRUST:
            ent_thrust(e, p[1] << 8);
            e->script += 2;
            return TRUE;
        case AI_STOP:
            e->vel.x = 0;
            e->vel.y = 0;
            e->script += 1;
            return TRUE;
        case AI_AIM:
            if (g_pool.player != NULL) {
                e->target = g_pool.player;
                ent_face(e, e->target);
            }
            e->script += 1;
            return TRUE;
        case AI_JUMP:
            e->vel.z = p[1] << 9;
            e->script += 2;
            return TRUE;
        case AI_LOOP:
            g_ai.loops[index]++;
            e->script = g_kinds[e->kind].script;
            return FALSE;
        case AI_IF_NEAR:
            if (ai_sees(e, g_pool.player, p[1])) {
                e->script = p[2];
            } else {
                e->script += 3;
            }
            return TRUE;
        case AI_IF_HURT:
            e->script = (e->flags & ENT_HURT) ? p[1] : e->script + 2;
            return TRUE;
        case AI_SHOOT:
            shot = ent_spawn(KIND_SPARK, FX_INT(e->pos.x), FX_INT(e->pos.y));
            if (shot != NULL) {
                shot->angle = e->angle;
                shot->team = e->team;
                ent_thrust(shot, FX(3));
            }
            e->script += 1;
            return TRUE;
        case AI_SOUND:
            snd_effect(p[1]);
            e->script += 2;
            return TRUE;
        case AI_RANDOM:
            e->angle = rng_range(0, p[1]) * ANGLE_QUARTER;
            e->script += 2;
            return TRUE;
        default:
            g_boot.errors++;
            e->state = 0;
            return FALSE;
    }
}

void ai_run(Entity *e, s32 index) {
    if (e->script_wait > 0) {
        e->script_wait--;
        return;
    }
    while (g_ai.budget > 0 && ai_step(e, index)) {
        g_ai.budget--;
        g_ai.steps++;
    }
}

void ai_run_all(void) {
    s32 i;

    g_ai.budget = 64;
    for (i = 0; i < ENT_MAX; i++) {
        if ((g_ents[i].flags & ENT_ALIVE) && g_ents[i].state != 0) {
            ai_run(&g_ents[i], i);
        }
    }
}

void ai_chase(Entity *e) {
    Entity *t = e->target;

    if (!ent_is_alive(t)) {
        e->target = ent_nearest(e, 1);
        return;
    }
    e->angle = fx_turn_toward(e->angle, fx_atan2(t->pos.y - e->pos.y, t->pos.x - e->pos.x), 128);
    ent_thrust(e, FX_ONE);
}

void ai_flee(Entity *e) {
    Entity *t = e->target;

    if (!ent_is_alive(t)) {
        e->target = ent_nearest(e, 2);
        return;
    }
    e->angle = fx_turn_toward(e->angle, fx_atan2(e->pos.y - t->pos.y, e->pos.x - t->pos.x), 256);
    ent_thrust(e, FX_ONE + FX_HALF);
}

s32 ai_threat(const Entity *e) {
    s32 score = e->hp * 2 + e->radius;

    if (e->flags & ENT_GHOST) {
        score += 10;
    }
    if (e->target == g_pool.player) {
        score *= 2;
    }
    switch (e->kind) {
        case KIND_BAT:
            score += 3;
            break;
        case KIND_SLIME:
            score -= 2;
            break;
        case KIND_GOLEM:
            score += 50;
            break;
    }
    return fx_clamp(score, 0, 255);
}
