#ifndef BOAT_H
#define BOAT_H

#include "types.h"

#define BUOY_MAX 10
#define WAVE_W 16
#define GFX_MAX 128

#define Q_SHIFT 8
#define Q_ONE (1 << Q_SHIFT)

#define STATE_READY 0
#define STATE_RACE 1
#define STATE_WRECK 3
#define STATE_HOME 4

typedef struct Boat {
    s32 x;
    s32 y;
    s32 speed;
    s16 heading;
    s16 rudder;
    s16 hull;
    u8 state;
    u8 gate;
    u32 ticks;
} Boat;

typedef struct Buoy {
    s16 x;
    s16 y;
    u8 color;
    u8 passed;
    s16 bob;
} Buoy;

typedef struct Gfx {
    u32 w0;
    u32 w1;
} Gfx;

typedef struct GfxList {
    Gfx list[GFX_MAX];
    s32 used;
    s32 lost;
} GfxList;

typedef struct Controller {
    u16 held;
    u16 pressed;
    s8 stick_x;
    s8 stick_y;
    u8 errors;
    u8 port;
} Controller;

/* A record as it lies in the cartridge's EEPROM. */
typedef struct PACKED Record {
    u8 tag;
    u32 ticks;
    char name[3];
    u16 sum;
} Record;

extern Boat g_boat;
extern Buoy g_buoys[BUOY_MAX];
extern GfxList g_gfx;
extern Controller g_pad;
extern u32 g_seed;
extern s16 g_waves[WAVE_W][WAVE_W];
extern Record g_records[4];
extern u32 g_frame;

u32 rnd_next(void);
s32 rnd_range(s32 lo, s32 hi);
s32 q_mul(s32 a, s32 b);
s32 q_sin(s32 angle);
s32 q_cos(s32 angle);
s32 q_clamp(s32 v, s32 lo, s32 hi);
s32 q_sqrt(u32 v);
void waves_step(void);
s32 waves_at(s32 x, s32 y);
void boat_reset(void);
void boat_step(void);
void boat_hit(s32 damage);
void buoys_place(s32 count);
s32 buoys_check(void);
void gfx_begin(void);
void gfx_put(u32 w0, u32 w1);
void gfx_rect(s32 x0, s32 y0, s32 x1, s32 y1, u16 color);
void gfx_text(s32 x, s32 y, const char *s);
void pad_read(u32 raw);
s32 record_insert(u32 ticks, const char *name);
void game_frame(u32 raw);

#endif
