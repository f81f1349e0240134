#include "common.h"
#include "engine.h"

Route ov_routes[4];
Scene ov_scene;

s32 scene_arg(void);

s32 route_step(Actor *a, s32 speed) {
    Route *r;
    s32 dx;
    s32 dy;
    s32 len;
    const Point *p;

    if (a->route > 3) {
        return TRUE;
    }
    r = &ov_routes[a->route];
    if (r->count == 0) {
        a->route = 0xFF;
        return TRUE;
    }
    if (r->wait > 0) {
        r->wait--;
        a->vx = 0;
        a->vy = 0;
        return FALSE;
    }
    p = &r->points[r->at];
    dx = FX(p->x + a->home_x) - a->x;
    dy = FX(p->y + a->home_y) - a->y;
    len = fx_length2(dx, dy);
    if (len < speed * 2) {
        a->vx = 0;
        a->vy = 0;
        r->at++;
        r->wait = 15;
        if (r->at < r->count) {
            return FALSE;
        }
        r->at = 0;
        if (!r->loop) {
            a->route = 0xFF;
            return TRUE;
        }
        if (r->loop > 1) {
            r->loop--;
        }
        return FALSE;
    }
    if (len < speed * 16) {
        speed = len / 16 + FX_ONE / 8;
    }
    a->vx = fx_mul(fx_div(dx, len), speed);
    a->vy = fx_mul(fx_div(dy, len), speed);
    a->angle = fx_atan2(dy, dx);
    return FALSE;
}

void scene_start(const u8 *code) {
    ov_scene.code = code;
    ov_scene.pc = 0;
    ov_scene.wait = 0;
    ov_scene.depth = 0;
    ov_scene.loop = 0;
    ov_scene.running = 1;
}

s32 scene_arg(void) {
    return (s8)ov_scene.code[ov_scene.pc++];
}

s32 scene_step(void) {
    s32 id;
    s32 x;
    s32 y;
    Actor *a;

    if (!ov_scene.running) {
        return FALSE;
    }
    if (ov_scene.wait > 0) {
        ov_scene.wait--;
        return TRUE;
    }
    switch (scene_arg()) {
        case 0:
            ov_scene.running = 0;
            return FALSE;
        case 1:
            ov_scene.wait = scene_arg() * 2;
            break;
        case 2:
            id = scene_arg();
            x = scene_arg() * 4;
            y = scene_arg() * 4;
            a = actor_spawn(id, x, y);
            if (a != NULL) {
                a->route = scene_arg();
            } else {
                ov_scene.pc++;
            }
            break;
        case 3:
            x = scene_arg() * TILE_SIZE;
            y = scene_arg() * TILE_SIZE;
            ov_scene.camera_x = fx_approach(ov_scene.camera_x, x, 4);
            ov_scene.camera_y = fx_approach(ov_scene.camera_y, y, 4);
            map_scroll_to(ov_scene.camera_x, ov_scene.camera_y);
            if (ov_scene.camera_x != x || ov_scene.camera_y != y) {
                ov_scene.pc -= 3;
            }
            break;
        case 4:
            if (ov_scene.depth < 4) {
                id = scene_arg();
                ov_scene.calls[ov_scene.depth++] = ov_scene.pc;
                ov_scene.pc += id;
            }
            break;
        case 5:
            if (ov_scene.depth > 0) {
                ov_scene.pc = ov_scene.calls[--ov_scene.depth];
            }
            break;
        case 8:
            flag_set(scene_arg() & 0xFF);
            break;
        case 9:
            id = scene_arg() & 0xFF;
            x = scene_arg();
            if (flag_get(id)) {
                ov_scene.pc += x;
            }
            break;
        case 10:
            snd_effect(scene_arg());
            break;
        case 11:
            id = scene_arg();
            x = scene_arg();
            if (++ov_scene.loop < id) {
                ov_scene.pc -= x;
            } else {
                ov_scene.loop = 0;
            }
            break;
        default:
            g_boot.errors++;
            ov_scene.running = 0;
            return FALSE;
    }
    return TRUE;
}
