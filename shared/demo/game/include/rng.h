#ifndef RNG_H
#define RNG_H

#include "types.h"

#define RNG_MUL 0x41C64E6D
#define RNG_ADD 12345

typedef struct RngState {
    u32 seed;
    u32 calls;
    u32 history[4];
} RngState;

extern RngState g_rng;

void rng_seed(u32 seed);
u32 rng_next(void);
s32 rng_range(s32 lo, s32 hi);
s32 rng_percent(s32 chance);
s32 rng_weighted(const u8 *weights, s32 count);
u32 rng_xorshift(u32 *state);

void sort_bubble(s16 *keys, s32 count);

#endif
