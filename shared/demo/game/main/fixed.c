#include "common.h"

const s16 g_sin_quarter[65] = {
    0,    101,  201,  301,  401,  501,  601,  700,  799,  897,  995,  1092, 1189, 1285, 1380, 1474, 1567,
    1660, 1751, 1842, 1931, 2019, 2106, 2191, 2276, 2359, 2440, 2520, 2598, 2675, 2751, 2824, 2896, 2967,
    3035, 3102, 3166, 3229, 3290, 3349, 3406, 3461, 3513, 3564, 3612, 3659, 3703, 3745, 3784, 3822, 3857,
    3889, 3920, 3948, 3973, 3996, 4017, 4036, 4052, 4065, 4076, 4085, 4091, 4095, 4096,
};

s32 fx_mul(s32 a, s32 b) {
    return (s32)(((s64)a * b) >> FX_SHIFT);
}

s32 fx_div(s32 a, s32 b) {
    s32 whole;
    s32 rest;

    if (b == 0) {
        return a < 0 ? -0x7FFFFFFF : 0x7FFFFFFF;
    }
    whole = a / b;
    rest = a % b;
    return (whole << FX_SHIFT) + (rest << FX_SHIFT) / b;
}

s32 fx_clamp(s32 v, s32 lo, s32 hi) {
    if (v < lo) {
        return lo;
    }
    if (v > hi) {
        return hi;
    }
    return v;
}

s32 fx_abs(s32 v) {
    return v < 0 ? -v : v;
}

s32 fx_sign(s32 v) {
    if (v > 0) {
        return 1;
    }
    return v < 0 ? -1 : 0;
}

s32 fx_sin(s32 angle) {
    s32 index = (angle & (ANGLE_FULL - 1)) >> 4;

    if (index < 64) {
        return g_sin_quarter[index];
    }
    if (index < 128) {
        return g_sin_quarter[128 - index];
    }
    if (index < 192) {
        return -g_sin_quarter[index - 128];
    }
    return -g_sin_quarter[256 - index];
}

s32 fx_cos(s32 angle) {
    return fx_sin(angle + ANGLE_QUARTER);
}

s32 fx_sqrt(u32 v) {
    u32 root = 0;
    u32 bit = 1u << 30;

    while (bit > v) {
        bit >>= 2;
    }
    while (bit != 0) {
        if (v >= root + bit) {
            v -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
        bit >>= 2;
    }
    return root;
}

s32 fx_atan2(s32 y, s32 x) {
    s32 ax = fx_abs(x);
    s32 ay = fx_abs(y);
    s32 angle;
    s32 ratio;

    if (ax == 0 && ay == 0) {
        return 0;
    }
    if (ax >= ay) {
        ratio = (ay << 8) / ax;
        angle = (ratio * (652 - ((ratio * ratio) >> 9) / 2)) >> 8;
    } else {
        ratio = (ax << 8) / ay;
        angle = ANGLE_QUARTER - ((ratio * (652 - ((ratio * ratio) >> 9) / 2)) >> 8);
    }
    if (x < 0) {
        angle = ANGLE_HALF - angle;
    }
    if (y < 0) {
        angle = ANGLE_FULL - angle;
    }
    return angle & (ANGLE_FULL - 1);
}

s32 fx_length2(s32 x, s32 y) {
    s32 ax = fx_abs(x) >> 6;
    s32 ay = fx_abs(y) >> 6;

    return fx_sqrt(ax * ax + ay * ay) << 6;
}

s32 fx_approach(s32 from, s32 to, s32 step) {
    if (from < to) {
        from += step;
        if (from > to) {
            from = to;
        }
    } else if (from > to) {
        from -= step;
        if (from < to) {
            from = to;
        }
    }
    return from;
}

s32 fx_turn_toward(s32 from, s32 to, s32 step) {
    s32 delta = (to - from) & (ANGLE_FULL - 1);

    if (delta > ANGLE_HALF) {
        delta -= ANGLE_FULL;
    }
    if (delta > step) {
        delta = step;
    } else if (delta < -step) {
        delta = -step;
    }
    return (from + delta) & (ANGLE_FULL - 1);
}
