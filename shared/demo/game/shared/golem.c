#include "common.h"
#include "golem.h"

Golem g_golem;

void golem_wake(s32 x, s32 y) {
    g_golem.body = actor_spawn(KIND_GOLEM, x, y);
    g_golem.anger = 0;
    g_golem.arm[0] = ANGLE_QUARTER;
    g_golem.arm[1] = -ANGLE_QUARTER;
    g_golem.arm_speed[0] = 0;
    g_golem.arm_speed[1] = 0;
    g_golem.stride = 0;
    g_golem.phase = 1;
    g_golem.armor = 12;
    text_set_var(2, g_golem.armor);
}

void golem_step(void) {
    Actor *body = g_golem.body;
    s32 side;
    s32 hand_x;
    s32 hand_y;
    const Entity *player = g_pool.player;

    if (body == NULL || body->state == ACT_GONE) {
        return;
    }
    g_golem.stride = (g_golem.stride + 24 + g_golem.anger / 8) & (ANGLE_FULL - 1);
    body->y += fx_sin(g_golem.stride) >> 4;
    for (side = 0; side < 2; side++) {
        g_golem.arm[side] += g_golem.arm_speed[side];
        if (g_golem.arm[side] > ANGLE_HALF || g_golem.arm[side] < -ANGLE_HALF) {
            g_golem.arm_speed[side] = -g_golem.arm_speed[side] / 2;
        }
        hand_x = body->x + fx_cos(g_golem.arm[side]) * 20;
        hand_y = body->y + fx_sin(g_golem.arm[side]) * 20;
        if (g_golem.anger > 50) {
            spark_gold(hand_x, hand_y);
        }
        if (player != NULL && fx_abs(player->pos.x - hand_x) < FX(10) && fx_abs(player->pos.y - hand_y) < FX(10)) {
            ent_hurt(g_pool.player, 4 + g_golem.phase);
            g_golem.anger -= 10;
        }
    }
    if (g_golem.anger < 100) {
        g_golem.anger++;
    } else {
        golem_slam(rng_next() & 1);
    }
}

void golem_slam(s32 side) {
    g_golem.arm_speed[side] = g_golem.arm[side] < 0 ? 160 : -160;
    g_golem.anger = 0;
    part_burst(g_golem.body->x, g_golem.body->y, 12, 2);
    snd_effect(12);
}

s32 golem_damage(s32 amount) {
    if (g_golem.armor > amount) {
        g_golem.armor -= amount;
        g_golem.anger += 15;
        return FALSE;
    }
    amount -= g_golem.armor;
    g_golem.armor = 0;
    if (actor_hit(g_golem.body, amount)) {
        g_golem.phase++;
        text_set_var(2, g_golem.body->hp);
    }
    return g_golem.body->hp == 0;
}
