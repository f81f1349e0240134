#ifndef CAVE_H
#define CAVE_H

#include "types.h"

#define BAT_MAX 16
#define CRYSTAL_W 16
#define CRYSTAL_H 12

typedef struct Bat {
    s16 x;
    s16 y;
    s16 vx;
    s16 vy;
} Bat;

typedef struct CaveState {
    s32 depth;
    s32 rooms;
    s32 steps;
    s16 water;
    s16 drip;
    u8 solved;
    u8 lamps;
    u8 chest_open;
    u8 pad;
} CaveState;

extern CaveState g_cave;
extern Bat g_bats[BAT_MAX];

void cave_init(void);
void cave_update(void);
void cave_draw(void);
s32 cave_event(s32 id, s32 arg);
void bats_init(s32 x, s32 y);
void bats_step(s32 lamp_x, s32 lamp_y);

#endif
