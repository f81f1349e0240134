#ifndef FIXED_H
#define FIXED_H

#include "types.h"

#define FX_SHIFT 12
#define FX_ONE (1 << FX_SHIFT)
#define FX_HALF (FX_ONE >> 1)
#define FX(n) ((n) << FX_SHIFT)
#define FX_INT(n) ((n) >> FX_SHIFT)

#define ANGLE_FULL 4096
#define ANGLE_HALF 2048
#define ANGLE_QUARTER 1024

extern const s16 g_sin_quarter[65];

s32 fx_mul(s32 a, s32 b);
s32 fx_div(s32 a, s32 b);
s32 fx_clamp(s32 v, s32 lo, s32 hi);
s32 fx_abs(s32 v);
s32 fx_sign(s32 v);
s32 fx_sin(s32 angle);
s32 fx_cos(s32 angle);
s32 fx_sqrt(u32 v);
s32 fx_atan2(s32 y, s32 x);
s32 fx_length2(s32 x, s32 y);
s32 fx_approach(s32 from, s32 to, s32 step);
s32 fx_turn_toward(s32 from, s32 to, s32 step);

#endif
