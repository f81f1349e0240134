#include "common.h"

HitInfo g_hit;

/* This file is built with inlining on: hit_overlap, hit_near and hit_point vanish into their callers. */

s32 hit_segment(s32 x0, s32 y0, s32 x1, s32 y1, const Rect *r);
s32 hit_sweep(const Rect *a, const Rect *b, s32 dx, s32 dy);
void hit_push(Entity *a, Entity *b);

s32 hit_overlap(s32 a0, s32 a1, s32 b0, s32 b1) {
    return a0 < b1 && b0 < a1;
}

s32 hit_near(const Entity *a, const Entity *b) {
    return fx_abs(a->pos.x - b->pos.x) < FX(32);
}

s32 hit_point(const Rect *r, s32 x, s32 y) {
    return x >= r->x && y >= r->y && x < r->x + r->w && y < r->y + r->h;
}

s32 hit_rects(const Rect *a, const Rect *b) {
    return hit_overlap(a->x, a->x + a->w, b->x, b->x + b->w) && hit_overlap(a->y, a->y + a->h, b->y, b->y + b->h);
}

s32 hit_circles(const Entity *a, const Entity *b) {
    s32 dx;
    s32 dy;
    s32 reach = a->radius + b->radius;

    if (!hit_near(a, b)) {
        return FALSE;
    }
    dx = FX_INT(b->pos.x - a->pos.x);
    dy = FX_INT(b->pos.y - a->pos.y);
    if (dx * dx + dy * dy >= reach * reach) {
        return FALSE;
    }
    g_hit.nx = dx;
    g_hit.ny = dy;
    g_hit.depth = reach - fx_sqrt(dx * dx + dy * dy);
    return TRUE;
}

void hit_push(Entity *a, Entity *b) {
    s32 half = FX(g_hit.depth) / 2;

    if (g_hit.nx < 0) {
        half = -half;
    }
    if (a->flags & ENT_SOLID) {
        a->pos.x -= half;
    }
    if (b->flags & ENT_SOLID) {
        b->pos.x += half;
    }
}

s32 hit_sweep(const Rect *a, const Rect *b, s32 dx, s32 dy) {
    Rect moved = *a;
    s32 step;

    for (step = 1; step <= 4; step++) {
        moved.x = a->x + dx * step / 4;
        moved.y = a->y + dy * step / 4;
        if (hit_rects(&moved, b)) {
            return step;
        }
    }
    return 0;
}

s32 hit_all(Entity *e) {
    s32 i;
    s32 hits = 0;

    for (i = 0; i < ENT_MAX; i++) {
        Entity *other = &g_ents[i];

        if (other == e || !(other->flags & ENT_ALIVE) || !hit_circles(e, other)) {
            continue;
        }
        g_hit.a = e;
        g_hit.b = other;
        hits++;
        if (other->team != e->team && other->team != 0) {
            ent_hurt(other, 2 + (e->team == 1) * 3);
        } else {
            hit_push(e, other);
        }
    }
    return hits;
}

void hit_resolve(void) {
    s32 i;

    for (i = 0; i < ENT_MAX; i++) {
        if ((g_ents[i].flags & ENT_ALIVE) && g_ents[i].team != 0) {
            hit_all(&g_ents[i]);
        }
    }
}

s32 hit_segment(s32 x0, s32 y0, s32 x1, s32 y1, const Rect *r) {
    s32 mx;
    s32 my;
    s32 depth;

    for (depth = 0; depth < 6; depth++) {
        if (hit_point(r, x0, y0) || hit_point(r, x1, y1)) {
            return TRUE;
        }
        if (x0 == x1 && y0 == y1) {
            break;
        }
        mx = (x0 + x1) >> 1;
        my = (y0 + y1) >> 1;
        if (hit_point(r, mx, my)) {
            return TRUE;
        }
        if (fx_abs(mx - r->x) < fx_abs(x1 - r->x)) {
            x1 = mx;
            y1 = my;
        } else {
            x0 = mx;
            y0 = my;
        }
    }
    return FALSE;
}
