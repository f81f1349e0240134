#include "common.h"
#include "engine.h"
#include "sky.h"

OverlayHeader sky_header = { OVL_MAGIC, OVL_SKY, sky_init, sky_update, sky_draw, sky_event };

u8 sky_scene[] = { 1, 10, 2, 4, 60, 20, 0, 3, 10, 6, 10, 5, 9, 18, 3, 1, 60, 8, 18, 11, 3, 9, 0 };

SkyState g_sky;

void clouds_reset(void);
void clouds_step(void);
void clouds_draw(void);
void kite_reset(void);
void kite_step(s32 stick_x, s32 stick_y);
void kite_draw(void);
s32 kite_through(const SVec3 *ring);
void rings_place(s32 seed);
void rings_draw(void);
s32 rings_check(void);
s32 kite_record(void);

void rings_place(s32 seed) {
    s32 i;
    s32 angle = seed;

    for (i = 0; i < RING_MAX; i++) {
        g_sky.rings[i].x = fx_sin(angle) >> 3;
        g_sky.rings[i].y = 40 + (fx_cos(angle * 3) >> 6);
        g_sky.rings[i].z = 400 + i * 220;
        g_sky.rings[i].pad = 1;
        angle += 311 + (rng_next() & 127);
    }
}

s32 rings_check(void) {
    s32 i;
    s32 hits = 0;

    for (i = 0; i < RING_MAX; i++) {
        if (g_sky.rings[i].pad == 0) {
            continue;
        }
        if (kite_through(&g_sky.rings[i])) {
            g_sky.rings[i].pad = 0;
            g_sky.kite.rings++;
            g_sky.score += 50 + g_sky.kite.rings * 10;
            hits++;
        }
    }
    if (hits != 0) {
        snd_effect(13);
    }
    return hits;
}

void rings_draw(void) {
    s32 i;
    s32 k;
    s32 depth;
    SVec3 spoke;
    Point p;
    Point last;

    for (i = 0; i < RING_MAX; i++) {
        const SVec3 *ring = &g_sky.rings[i];

        if (ring->pad == 0) {
            continue;
        }
        if (ring->z < FX_INT(g_sky.kite.pos.z) - 40) {
            draw_color(90, 90, 90);
            draw_number(ring->x + 160, ring->y, i);
        }
        last.x = -1;
        last.y = -1;
        draw_color(220, 200 - i * 12, 60 + i * 15);
        for (k = 0; k <= 12; k++) {
            spoke.x = ring->x + (fx_cos(k * 341) >> 7);
            spoke.y = ring->y + (fx_sin(k * 341) >> 7);
            spoke.z = ring->z;
            depth = mtx_project(&g_camera.view, &spoke, &p);
            if (depth < 0) {
                break;
            }
            if (p.x < 0 || p.x > 319) {
                last.x = -1;
                continue;
            }
            if (last.x >= 0) {
                draw_line(last.x, last.y, p.x, p.y);
            }
            last = p;
        }
    }
}

void sky_init(void) {
    s32 i;

    camera_reset();
    actor_reset();
    clouds_reset();
    kite_reset();
    rings_place(g_rng.seed & 4095);
    g_sky.wind_angle = rng_range(0, ANGLE_FULL - 1);
    g_sky.gust = 0;
    g_sky.score = 0;
    g_sky.ticks = 0;
    for (i = 0; i < ROUTE_MAX; i++) {
        ov_routes[0].points[i].x = fx_cos(i * 512) >> 6;
        ov_routes[0].points[i].y = fx_sin(i * 512) >> 7;
    }
    ov_routes[0].count = ROUTE_MAX;
    ov_routes[0].loop = 1;
    scene_start(sky_scene);
}

void sky_update(void) {
    Matrix pitch;
    Matrix yaw;

    g_sky.ticks++;
    g_sky.wind_angle = (g_sky.wind_angle + 3) & (ANGLE_FULL - 1);
    if ((g_sky.ticks & 127) == 0) {
        g_sky.gust = rng_range(-600, 900);
        part_set_wind(g_sky.gust >> 5);
    }
    g_sky.gust = fx_approach(g_sky.gust, 0, 6);
    scene_step();
    actor_update_all();
    clouds_step();
    kite_step(g_pads[0].stick_x, g_pads[0].stick_y);
    rings_check();
    if (kite_record()) {
        g_sky.score++;
    }
    mtx_rot_x(&pitch, -g_sky.kite.pitch / 4);
    mtx_rot_y(&yaw, -g_sky.kite.yaw / 2);
    mtx_mul(&g_camera.view, &pitch, &yaw);
    mtx_translate(&g_camera.view, -FX_INT(g_sky.kite.pos.x), -FX_INT(g_sky.kite.pos.y), -FX_INT(g_sky.kite.pos.z) + 80);
}

void sky_draw(void) {
    clouds_draw();
    rings_draw();
    kite_draw();
    actor_draw_all(24);
    draw_number(16, 16, g_sky.score);
    draw_number(280, 16, FX_INT(g_sky.kite.line));
}

s32 sky_event(s32 id, s32 arg) {
    Kite *k = &g_sky.kite;
    Vec3 away;

    switch (id) {
        case 0:
            k->line = fx_clamp(k->line + FX(arg), FX(40), FX(400));
            return FX_INT(k->line);
        case 1:
            if (k->torn > 0 && inv_remove(ITEM_CLOAK, 1)) {
                k->torn = 0;
                put_str("The kite is whole again.\n");
                return TRUE;
            }
            return FALSE;
        case 2:
            away.x = rng_range(-FX_ONE, FX_ONE);
            away.y = FX_HALF;
            away.z = rng_range(0, FX_ONE);
            vec_normalize(&away);
            vec_scale(&away, arg << 4);
            vec_add(&k->vel, &k->vel, &away);
            k->torn++;
            return k->torn;
        case 3:
            rings_place(arg);
            k->rings = 0;
            return RING_MAX;
        case 4:
            k->yaw += arg;
            k->roll = 0;
            return k->yaw;
        case 5:
            game_add_gold(g_sky.score / 10);
            g_sky.score = 0;
            return g_game.gold;
        default:
            return -1;
    }
}
