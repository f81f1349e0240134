#ifndef SKY_H
#define SKY_H

#include "types.h"

#define CLOUD_MAX 20
#define RING_MAX 10

typedef struct Cloud {
    s32 x;
    s16 y;
    s16 depth;
    u8 size;
    u8 shade;
} Cloud;

typedef struct Kite {
    Vec3 pos;
    Vec3 vel;
    s16 pitch;
    s16 roll;
    s16 yaw;
    s16 lift;
    s32 line;
    u8 stall;
    u8 torn;
    u8 rings;
    u8 pad;
} Kite;

typedef struct SkyState {
    Kite kite;
    Cloud clouds[CLOUD_MAX];
    SVec3 rings[RING_MAX];
    s32 wind_angle;
    s32 gust;
    s32 score;
    s32 ticks;
} SkyState;

extern SkyState g_sky;

void sky_init(void);
void sky_update(void);
void sky_draw(void);
s32 sky_event(s32 id, s32 arg);

#endif
