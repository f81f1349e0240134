#include "boat.h"

Boat g_boat;
Buoy g_buoys[BUOY_MAX];
s16 g_waves[WAVE_W][WAVE_W];

void boat_turn(s32 stick);
s32 buoy_distance(const Buoy *b);

void waves_step(void) {
    s32 x;
    s32 y;
    s32 sum;

    for (y = 0; y < WAVE_W; y++) {
        for (x = 0; x < WAVE_W; x++) {
            sum = g_waves[(y - 1) & (WAVE_W - 1)][x] + g_waves[(y + 1) & (WAVE_W - 1)][x];
            sum += g_waves[y][(x - 1) & (WAVE_W - 1)] + g_waves[y][(x + 1) & (WAVE_W - 1)];
            g_waves[y][x] = (sum / 2 - g_waves[y][x]) * 15 / 16;
        }
    }
    if ((rnd_next() & 7) == 0) {
        g_waves[rnd_next() & (WAVE_W - 1)][rnd_next() & (WAVE_W - 1)] += 96;
    }
}

s32 waves_at(s32 x, s32 y) {
    return g_waves[(y >> 5) & (WAVE_W - 1)][(x >> 5) & (WAVE_W - 1)];
}

void boat_reset(void) {
    g_boat.x = 0;
    g_boat.y = 0;
    g_boat.speed = 0;
    g_boat.heading = 16;
    g_boat.rudder = 0;
    g_boat.hull = 100;
    g_boat.state = STATE_READY;
    g_boat.gate = 0;
    g_boat.ticks = 0;
}

void boat_turn(s32 stick) {
    g_boat.rudder = q_clamp(g_boat.rudder + stick / 16, -12, 12);
    if (stick == 0 && g_boat.rudder != 0) {
        g_boat.rudder += g_boat.rudder > 0 ? -1 : 1;
    }
    g_boat.heading = (g_boat.heading + g_boat.rudder * g_boat.speed / 2048) & 63;
}

void boat_hit(s32 damage) {
    if (g_boat.hull > damage) {
        g_boat.hull -= damage;
        g_boat.speed /= 2;
    } else {
        g_boat.hull = 0;
        g_boat.speed = 0;
        g_boat.state = STATE_WRECK;
    }
}

void boat_step(void) {
    s32 slope;
    s32 top;

    switch (g_boat.state) {
        case STATE_READY:
            if (g_pad.pressed & 0x8000) {
                g_boat.state = STATE_RACE;
                buoys_place(BUOY_MAX);
            }
            return;
        case STATE_RACE:
            break;
        case STATE_WRECK:
            if (g_pad.pressed & 0x1000) {
                boat_reset();
            }
            return;
        case STATE_HOME:
            record_insert(g_boat.ticks, "AAA");
            boat_reset();
            return;
        default:
            g_boat.state = STATE_READY;
            return;
    }
    g_boat.ticks++;
    boat_turn(g_pad.stick_x);
    slope = waves_at(g_boat.x >> Q_SHIFT, g_boat.y >> Q_SHIFT);
    slope -= waves_at((g_boat.x >> Q_SHIFT) + q_cos(g_boat.heading) / 8, (g_boat.y >> Q_SHIFT) + q_sin(g_boat.heading) / 8);
    top = 900 + g_boat.hull * 4;
    g_boat.speed += slope;
    if (g_pad.held & 0x8000) {
        g_boat.speed += 24;
    }
    g_boat.speed = q_clamp(g_boat.speed - g_boat.speed / 64, -200, top);
    g_boat.x += q_mul(q_cos(g_boat.heading), g_boat.speed);
    g_boat.y += q_mul(q_sin(g_boat.heading), g_boat.speed);
    if (slope > 160 || slope < -160) {
        boat_hit(4);
    }
    if (buoys_check() < 0) {
        boat_hit(15);
    }
}

void buoys_place(s32 count) {
    s32 i;
    s32 x = 0;
    s32 y = 0;

    for (i = 0; i < count; i++) {
        x += rnd_range(60, 140);
        y += rnd_range(-70, 70);
        g_buoys[i].x = x;
        g_buoys[i].y = y;
        g_buoys[i].color = i % 3;
        g_buoys[i].passed = 0;
        g_buoys[i].bob = i * 7;
    }
}

s32 buoy_distance(const Buoy *b) {
    s32 dx = (g_boat.x >> Q_SHIFT) - b->x;
    s32 dy = (g_boat.y >> Q_SHIFT) - b->y;

    return q_sqrt(dx * dx + dy * dy);
}

s32 buoys_check(void) {
    s32 i;
    s32 distance;
    s32 result = 0;

    for (i = 0; i < BUOY_MAX; i++) {
        Buoy *b = &g_buoys[i];

        b->bob = waves_at(b->x, b->y) >> 3;
        if (b->passed) {
            continue;
        }
        distance = buoy_distance(b);
        if (distance < 6) {
            b->passed = 2;
            return -1;
        }
        if (distance < 28 && i == g_boat.gate) {
            b->passed = 1;
            g_boat.gate++;
            result++;
            if (g_boat.gate == BUOY_MAX) {
                g_boat.state = STATE_HOME;
            }
        }
    }
    return result;
}
