#include "common.h"
#include "sky.h"

const SVec3 kite_model[6] = {
    { 0, 24, 0, 0 }, { 18, 4, 0, 0 }, { 0, -30, 0, 0 }, { -18, 4, 0, 0 }, { 0, 0, 6, 0 }, { 0, -44, 4, 0 },
};
u8 kite_edges[8][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 }, { 4, 0 }, { 4, 1 }, { 4, 3 }, { 2, 5 } };
s32 kite_best;

void kite_reset(void);
s32 kite_lift(s32 speed, s32 pitch);
void kite_step(s32 stick_x, s32 stick_y);
s32 kite_through(const SVec3 *ring);
void kite_matrix(Matrix *out);
void kite_draw(void);
s32 kite_record(void);

void kite_reset(void) {
    Kite *k = &g_sky.kite;

    k->pos.x = 0;
    k->pos.y = FX(30);
    k->pos.z = FX(80);
    k->vel.x = 0;
    k->vel.y = 0;
    k->vel.z = FX_ONE;
    k->pitch = 200;
    k->roll = 0;
    k->yaw = 0;
    k->lift = 0;
    k->line = FX(120);
    k->stall = 0;
    k->torn = 0;
    k->rings = 0;
}

s32 kite_lift(s32 speed, s32 pitch) {
    s32 lift = fx_mul(fx_mul(speed, speed), fx_sin(pitch * 2));

    if (pitch > 700 || pitch < -300) {
        return lift / 4;
    }
    return lift;
}

void kite_step(s32 stick_x, s32 stick_y) {
    Kite *k = &g_sky.kite;
    s32 speed;
    s32 drag;
    s32 reach;
    Vec3 wind;

    k->roll = fx_clamp(k->roll + stick_x / 4, -800, 800);
    k->pitch = fx_clamp(k->pitch + stick_y / 8, -600, 900);
    k->yaw = (k->yaw + k->roll / 64) & (ANGLE_FULL - 1);
    if (stick_x == 0) {
        k->roll = fx_approach(k->roll, 0, 20);
    }
    wind.x = fx_cos(g_sky.wind_angle) / 8 + g_sky.gust;
    wind.y = 0;
    wind.z = fx_sin(g_sky.wind_angle) / 8 + FX_HALF;
    speed = fx_length2(wind.x - k->vel.x, wind.z - k->vel.z) + FX_HALF;
    k->lift = kite_lift(speed, k->pitch) >> 2;
    k->lift -= k->torn * 16;
    if (k->lift < 20) {
        if (k->stall < 60) {
            k->stall++;
        }
    } else {
        k->stall = 0;
    }
    drag = FX_ONE - 120 - k->stall * 4;
    k->vel.x = fx_mul(k->vel.x, drag) + wind.x / 32 + fx_sin(k->roll) / 16;
    k->vel.y = fx_mul(k->vel.y, drag) + k->lift - 60;
    k->vel.z = fx_mul(k->vel.z, drag) + wind.z / 32;
    k->pos.x += k->vel.x;
    k->pos.y += k->vel.y;
    k->pos.z += k->vel.z;
    if (k->pos.y < 0) {
        k->pos.y = 0;
        k->vel.y = -k->vel.y / 2;
        k->torn++;
        snd_effect(5);
    }
    reach = fx_length2(k->pos.x, k->pos.y);
    if (reach > k->line && reach != 0) {
        k->pos.x = fx_mul(k->pos.x, fx_div(k->line, reach));
        k->pos.y = fx_mul(k->pos.y, fx_div(k->line, reach));
    }
}

s32 kite_through(const SVec3 *ring) {
    const Kite *k = &g_sky.kite;
    s32 dx = FX_INT(k->pos.x) - ring->x;
    s32 dy = FX_INT(k->pos.y) - ring->y;
    s32 dz = FX_INT(k->pos.z) - ring->z;

    return dz > -12 && dz < 12 && dx * dx + dy * dy < 32 * 32;
}

void kite_matrix(Matrix *out) {
    Matrix a;
    Matrix b;
    Matrix c;

    mtx_rot_x(&a, g_sky.kite.pitch);
    mtx_rot_z(&b, g_sky.kite.roll);
    mtx_mul(&c, &a, &b);
    mtx_rot_y(&a, g_sky.kite.yaw);
    mtx_mul(out, &a, &c);
    out->t[0] = FX_INT(g_sky.kite.pos.x);
    out->t[1] = FX_INT(g_sky.kite.pos.y);
    out->t[2] = FX_INT(g_sky.kite.pos.z);
}

s32 kite_record(void) {
    if (g_sky.kite.pos.y > kite_best) {
        kite_best = g_sky.kite.pos.y;
        return TRUE;
    }
    return FALSE;
}

void kite_draw(void) {
    Matrix own;
    Matrix world;
    Point points[6];
    s32 depth[6];
    s32 i;
    Vec3 spot;
    s32 from;
    s32 to;

    kite_matrix(&own);
    mtx_mul(&world, &g_camera.view, &own);
    for (i = 0; i < 6; i++) {
        depth[i] = mtx_project(&world, &kite_model[i], &points[i]);
    }
    draw_color(240, 90 + g_sky.kite.torn * 20, 60);
    for (i = 0; i < 8; i++) {
        from = kite_edges[i][0];
        to = kite_edges[i][1];
        if (depth[from] < 0 || depth[to] < 0) {
            continue;
        }
        draw_line(points[from].x, points[from].y, points[to].x, points[to].y);
    }
    if (g_sky.kite.stall > 20 && (g_sky.ticks & 4)) {
        spot.x = g_sky.kite.pos.x;
        spot.y = g_sky.kite.pos.y;
        part_emit(spot.x, spot.y, rng_range(-200, 200), 300, 6);
    }
    if (depth[2] >= 0) {
        draw_line(points[2].x, points[2].y, 160, 239);
    }
    for (i = 0; i < 3 && depth[5] >= 0; i++) {
        spot.z = fx_sin(g_sky.ticks * 90 + i * 700) >> 10;
        draw_tile(points[5].x + spot.z - 4, points[5].y + i * 7, 0x2A + i, 10);
    }
}
