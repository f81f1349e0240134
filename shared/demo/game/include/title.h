#ifndef TITLE_H
#define TITLE_H

#include "types.h"

#define STAR_MAX 24
#define CREDIT_MAX 8
#define CREDIT_HEIGHT (CREDIT_MAX * 18 + 40)

typedef struct Star {
    s16 x;
    s16 y;
    s16 z;
    s16 hue;
} Star;

typedef struct TitleState {
    s32 step;
    s32 ticks;
    s32 choice;
    s16 scroll;
    s16 flame;
    u16 palette[32];
    u8 heat[16][20];
} TitleState;

extern TitleState g_title;
extern Star g_stars[STAR_MAX];

void stars_reset(void);
void stars_step(s32 speed);
void flame_step(void);

#endif
