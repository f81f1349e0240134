#ifndef GOLEM_H
#define GOLEM_H

/* shared/golem.c is one file that the cave and the boss overlay both compile. */

#include "types.h"
#include "engine.h"

typedef struct Golem {
    Actor *body;
    s32 anger;
    s16 arm[2];
    s16 arm_speed[2];
    s16 stride;
    u8 phase;
    u8 armor;
} Golem;

extern Golem g_golem;

void golem_wake(s32 x, s32 y);
void golem_step(void);
void golem_slam(s32 side);
s32 golem_damage(s32 amount);

#endif
