#include "boat.h"

u32 g_seed = 1;

const s16 g_sine[17] = { 0, 25, 50, 74, 98, 121, 142, 162, 181, 198, 213, 226, 237, 245, 251, 255, 256 };

u32 rnd_next(void) {
    g_seed = g_seed * 1664525 + 1013904223;
    return g_seed >> 10;
}

s32 rnd_range(s32 lo, s32 hi) {
    return lo + (s32)(rnd_next() % (u32)(hi - lo + 1));
}

s32 q_mul(s32 a, s32 b) {
    return (s32)(((s64)a * b) >> Q_SHIFT);
}

s32 q_sin(s32 angle) {
    s32 i = angle & 63;

    if (i < 16) {
        return g_sine[i];
    }
    if (i < 32) {
        return g_sine[32 - i];
    }
    return i < 48 ? -g_sine[i - 32] : -g_sine[64 - i];
}

s32 q_cos(s32 angle) {
    return q_sin(angle + 16);
}

s32 q_clamp(s32 v, s32 lo, s32 hi) {
    if (v < lo) {
        return lo;
    }
    return v > hi ? hi : v;
}

s32 q_sqrt(u32 v) {
    u32 bit = 1u << 30;
    u32 root = 0;

    while (bit > v) {
        bit >>= 2;
    }
    for (; bit != 0; bit >>= 2) {
        if (v >= root + bit) {
            v -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root;
}
