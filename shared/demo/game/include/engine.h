#ifndef ENGINE_H
#define ENGINE_H

/* The overlay engine: the same sources are compiled into every overlay. */

#include "types.h"

#define ACTOR_MAX 12
#define ROUTE_MAX 8

#define ACT_IDLE 0
#define ACT_WALK 1
#define ACT_CHASE 2
#define ACT_CHARGE 3
#define ACT_HURT 4
#define ACT_DIE 6
#define ACT_GONE 7

typedef struct Actor {
    s32 x;
    s32 y;
    s32 vx;
    s32 vy;
    s16 angle;
    s16 timer;
    s16 hp;
    u8 state;
    u8 kind;
    u8 flags;
    u8 route;
    u8 frame;
    u8 shade;
    s16 home_x;
    s16 home_y;
} Actor;

typedef struct Route {
    Point points[ROUTE_MAX];
    u8 count;
    u8 at;
    u8 loop;
    u8 wait;
} Route;

typedef struct Scene {
    const u8 *code;
    s16 pc;
    s16 wait;
    s16 calls[4];
    s16 loop;
    u8 depth;
    u8 running;
    s32 camera_x;
    s32 camera_y;
} Scene;

extern Actor ov_actors[ACTOR_MAX];
extern Route ov_routes[4];
extern Scene ov_scene;

void actor_reset(void);
Actor *actor_spawn(s32 kind, s32 x, s32 y);
void actor_update_all(void);
void actor_draw_all(s32 shade);
s32 actor_hit(Actor *a, s32 damage);
s32 route_step(Actor *a, s32 speed);
void scene_start(const u8 *code);
s32 scene_step(void);

#endif
