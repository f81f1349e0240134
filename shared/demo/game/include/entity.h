#ifndef ENTITY_H
#define ENTITY_H

#include "types.h"

#define ENT_MAX 32

#define ENT_ALIVE 0x01
#define ENT_SOLID 0x02
#define ENT_HURT 0x04
#define ENT_FLIP 0x08
#define ENT_GHOST 0x10

#define KIND_NONE 0
#define KIND_KEEPER 1
#define KIND_BAT 2
#define KIND_SLIME 3
#define KIND_WISP 4
#define KIND_CHEST 5
#define KIND_SPARK 6
#define KIND_GOLEM 7

typedef struct Entity {
    u8 flags;
    u8 kind;
    u8 state;
    u8 team;
    s16 hp;
    s16 timer;
    Vec3 pos;
    Vec3 vel;
    s16 angle;
    s16 radius;
    struct Entity *target;
    u16 script;
    u16 script_wait;
    s16 frame;
    s16 anim;
} Entity;

typedef struct EntityPool {
    s32 live;
    s32 spawned;
    Entity *player;
    s32 tick;
} EntityPool;

typedef struct KindInfo {
    s16 hp;
    s16 radius;
    u8 team;
    u8 flags;
    u16 script;
} KindInfo;

extern Entity g_ents[ENT_MAX];
extern EntityPool g_pool;
extern const KindInfo g_kinds[8];

void ent_clear_all(void);
Entity *ent_spawn(s32 kind, s32 x, s32 y);
void ent_kill(Entity *e);
Entity *ent_find_kind(s32 kind);
Entity *ent_nearest(const Entity *from, s32 team);
void ent_hurt(Entity *e, s32 amount);
void ent_update_all(void);
s32 ent_distance(const Entity *a, const Entity *b);
void ent_face(Entity *e, const Entity *other);
void ent_thrust(Entity *e, s32 speed);
s32 ent_is_alive(const Entity *e);
void ent_draw_all(s32 cam_x, s32 cam_y);
Entity *spawn_bat(s32 x, s32 y);
Entity *spawn_slime(s32 x, s32 y);
Entity *spawn_wisp(s32 x, s32 y);

#endif
