#ifndef BOSS_H
#define BOSS_H

#include "types.h"

#define BEAM_MAX 6
#define SHARD_MAX 20

typedef struct Beam {
    s32 x;
    s32 y;
    s16 angle;
    s16 spin;
    u16 length;
    u8 life;
    u8 kind;
} Beam;

typedef struct Boss {
    s32 x;
    s32 y;
    s32 shield;
    s16 hp;
    s16 hp_max;
    s16 timer;
    u8 phase;
    u8 pattern;
    u8 step;
    u8 enraged;
    u16 hits;
} Boss;

typedef struct Shard {
    s16 x;
    s16 y;
    s8 vx;
    s8 vy;
    u8 life;
    u8 spin;
} Shard;

extern Boss g_boss;
extern Beam g_beams[BEAM_MAX];
extern Shard g_shards[SHARD_MAX];

void boss_init(void);
void boss_update(void);
void boss_draw(void);
s32 boss_event(s32 id, s32 arg);
s32 boss_phase(const Boss *b);
Beam *beam_fire(s32 angle, s32 spin, s32 kind);
void shards_burst(s32 x, s32 y, s32 count);

#endif
