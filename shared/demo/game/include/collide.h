#ifndef COLLIDE_H
#define COLLIDE_H

#include "types.h"
#include "entity.h"

typedef struct HitInfo {
    Entity *a;
    Entity *b;
    s32 depth;
    s32 nx;
    s32 ny;
} HitInfo;

extern HitInfo g_hit;

s32 hit_overlap(s32 a0, s32 a1, s32 b0, s32 b1);
s32 hit_near(const Entity *a, const Entity *b);
s32 hit_rects(const Rect *a, const Rect *b);
s32 hit_point(const Rect *r, s32 x, s32 y);
s32 hit_circles(const Entity *a, const Entity *b);
s32 hit_all(Entity *e);
void hit_resolve(void);

#endif
