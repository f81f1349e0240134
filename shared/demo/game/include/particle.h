#ifndef PARTICLE_H
#define PARTICLE_H

#include "types.h"

#define PART_MAX 48

typedef struct Particle {
    s32 x;
    s32 y;
    s16 vx;
    s16 vy;
    u8 life;
    u8 kind;
    u8 shade;
    u8 pad;
} Particle;

typedef struct ParticlePool {
    Particle list[PART_MAX];
    s32 next;
    s32 live;
    s16 gravity;
    s16 wind;
} ParticlePool;

extern ParticlePool g_parts;

void part_clear(void);
Particle *part_emit(s32 x, s32 y, s32 vx, s32 vy, s32 kind);
void part_burst(s32 x, s32 y, s32 count, s32 kind);
void part_ring(s32 x, s32 y, s32 speed);
void part_update(void);
void part_draw(void);
void part_set_wind(s32 wind);
void spark_red(s32 x, s32 y);
void spark_blue(s32 x, s32 y);
void spark_gold(s32 x, s32 y);

#endif
