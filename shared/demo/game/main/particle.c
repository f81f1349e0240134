#include "common.h"

ParticlePool g_parts;

s32 part_shade(const Particle *p);

void part_clear(void) {
    s32 i;

    for (i = 0; i < PART_MAX; i++) {
        g_parts.list[i].life = 0;
    }
    g_parts.next = 0;
    g_parts.live = 0;
    g_parts.gravity = 64;
    g_parts.wind = 0;
}

Particle *part_emit(s32 x, s32 y, s32 vx, s32 vy, s32 kind) {
    Particle *p = &g_parts.list[g_parts.next];

    g_parts.next++;
    if (g_parts.next >= PART_MAX) {
        g_parts.next = 0;
    }
    if (p->life == 0) {
        g_parts.live++;
    }
    p->x = x;
    p->y = y;
    p->vx = vx;
    p->vy = vy;
    p->kind = kind;
    p->life = 24 + (rng_next() & 15);
    p->shade = 31;
    return p;
}

void part_burst(s32 x, s32 y, s32 count, s32 kind) {
    s32 vx;
    s32 vy;

    while (count-- > 0) {
        vx = rng_range(-1200, 1200);
        vy = rng_range(-2400, -200);
        part_emit(x, y, vx, vy, kind);
    }
}

void part_ring(s32 x, s32 y, s32 speed) {
    s32 angle;

    for (angle = 0; angle < ANGLE_FULL; angle += 256) {
        part_emit(x, y, (fx_cos(angle) * speed) >> 2, (fx_sin(angle) * speed) >> 2, 1);
    }
}

void part_update(void) {
    s32 i;
    Particle *p;

    for (i = 0; i < PART_MAX; i++) {
        p = &g_parts.list[i];
        if (p->life == 0) {
            continue;
        }
        p->x += p->vx;
        p->y += p->vy;
        p->vx += g_parts.wind;
        switch (p->kind) {
            case 0:
            case 1:
                break;
            case 2:
                p->vy += g_parts.gravity;
                break;
            case 3:
                p->vy -= g_parts.gravity / 2;
                break;
            case 5:
                p->vx = -p->vx;
                p->vy += 16;
                break;
            case 6:
                p->vx += rng_range(-40, 40);
                break;
            default:
                p->vy += 32;
                break;
        }
        p->shade = part_shade(p);
        if (--p->life == 0) {
            g_parts.live--;
        }
    }
}

s32 part_shade(const Particle *p) {
    s32 shade = p->life;

    if (p->kind >= 4) {
        shade += 6;
    }
    return shade > 31 ? 31 : shade;
}

void part_draw(void) {
    s32 i;
    Rect dot;

    dot.w = 2;
    dot.h = 2;
    for (i = 0; i < PART_MAX; i++) {
        const Particle *p = &g_parts.list[i];

        if (p->life != 0) {
            dot.x = FX_INT(p->x) - g_map.scroll_x;
            dot.y = FX_INT(p->y) - g_map.scroll_y;
            draw_color(p->shade << 3, p->shade << 2, p->kind << 5);
            draw_box(&dot, 4);
        }
    }
}

void part_set_wind(s32 wind) {
    g_parts.wind = wind;
}

void spark_red(s32 x, s32 y) {
    part_emit(x, y, -300, -900, 2);
    part_emit(x, y, 300, -900, 2);
    part_emit(x, y, 0, -1500, 2);
}

void spark_blue(s32 x, s32 y) {
    part_emit(x, y, -200, -600, 3);
    part_emit(x, y, 200, -600, 3);
    part_emit(x, y, 0, -1100, 3);
}

void spark_gold(s32 x, s32 y) {
    part_emit(x, y, -450, -750, 5);
    part_emit(x, y, 450, -750, 5);
    part_emit(x, y, 0, -1300, 5);
}
