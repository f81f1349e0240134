#ifndef AI_H
#define AI_H

#include "types.h"
#include "entity.h"

#define AI_END 0
#define AI_WAIT 1
#define AI_TURN 2
#define AI_THRUST 3
#define AI_STOP 4
#define AI_AIM 5
#define AI_JUMP 6
#define AI_LOOP 7
#define AI_IF_NEAR 9
#define AI_IF_HURT 10
#define AI_SHOOT 12
#define AI_SOUND 13
#define AI_RANDOM 14

typedef struct AiState {
    s32 steps;
    s32 budget;
    s16 loops[ENT_MAX];
} AiState;

extern AiState g_ai;
extern const u8 g_ai_code[];

void ai_run_all(void);
void ai_chase(Entity *e);
void ai_flee(Entity *e);
s32 ai_threat(const Entity *e);

#endif
