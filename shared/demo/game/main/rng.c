#include "common.h"

RngState g_rng;

void sort_shell(u16 *keys, s32 count);

void rng_seed(u32 seed) {
    s32 i;

    g_rng.seed = seed ^ 0x2545F491;
    g_rng.calls = 0;
    for (i = 3; i >= 0; i--) {
        g_rng.history[i] = seed;
    }
}

u32 rng_next(void) {
    g_rng.seed = g_rng.seed * RNG_MUL + RNG_ADD;
    g_rng.history[g_rng.calls++ & 3] = g_rng.seed;
    return (g_rng.seed >> 16) & 0x7FFF;
}

s32 rng_range(s32 lo, s32 hi) {
    s32 span = hi - lo + 1;

    if (span <= 0) {
        return lo;
    }
    return lo + (s32)(rng_next() % (u32)span);
}

s32 rng_percent(s32 chance) {
    return (s32)(rng_next() % 100) < chance;
}

s32 rng_weighted(const u8 *weights, s32 count) {
    s32 total = 0;
    s32 roll;
    s32 i;

    for (i = 0; i < count; i++) {
        total += weights[i];
    }
    if (total == 0) {
        return -1;
    }
    roll = rng_range(0, total - 1);
    for (i = 0; i < count; i++) {
        roll -= weights[i];
        if (roll < 0) {
            return i;
        }
    }
    return count - 1;
}

u32 rng_xorshift(u32 *state) {
    u32 v = *state;

    v ^= v << 13;
    v ^= v >> 17;
    v ^= v << 5;
    *state = v;
    return v;
}

void sort_bubble(s16 *keys, s32 count) {
    s32 i;
    s32 swapped;
    s16 keep;

    do {
        swapped = 0;
        for (i = 0; i < count - 1; i++) {
            if (keys[i] > keys[i + 1]) {
                keep = keys[i];
                keys[i] = keys[i + 1];
                keys[i + 1] = keep;
                swapped = 1;
            }
        }
        count--;
    } while (swapped);
}

void sort_shell(u16 *keys, s32 count) {
    s32 gap;
    s32 i;
    s32 j;
    u16 key;

    for (gap = count / 2; gap > 0; gap /= 2) {
        for (i = gap; i < count; i++) {
            key = keys[i];
            for (j = i; j >= gap && keys[j - gap] > key; j -= gap) {
                keys[j] = keys[j - gap];
            }
            keys[j] = key;
        }
    }
}
