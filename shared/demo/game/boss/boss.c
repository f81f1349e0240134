#include "common.h"
#include "engine.h"
#include "golem.h"
#include "boss.h"

OverlayHeader boss_header = { OVL_MAGIC, OVL_BOSS, boss_init, boss_update, boss_draw, boss_event };

u8 boss_scene[] = { 3, 8, 2, 10, 15, 1, 40, 4, 1, 0, 10, 9, 1, 10, 5, 0 };

Boss g_boss;

void boss_move(void);
void boss_pattern_fan(void);
void boss_pattern_ring(void);
void boss_pattern_cross(void);
void boss_pattern_rain(void);
void boss_choose(void);
void beams_reset(void);
void beams_step(void);
void beams_draw(void);
s32 beams_live(void);
void shards_step(void);
void shards_draw(void);
s32 boss_hurt(s32 amount);

#ifdef NON_MATCHING
/* Same meaning, but the comparison comes out in another order. */
s32 boss_phase(const Boss *b) {
    s32 percent = b->hp * 100 / b->hp_max;

    if (percent < 25) {
        return 3;
    }
    return percent < 50 ? 2 : percent < 75;
}
#else
s32 boss_phase(const Boss *b) {
    s32 percent = b->hp * 100 / b->hp_max;

    if (percent >= 75) {
        return 0;
    }
    if (percent >= 50) {
        return 1;
    }
    return percent >= 25 ? 2 : 3;
}
#endif

void boss_init(void) {
    s32 i;
    Rect r;

    map_clear(24, 18);
    actor_reset();
    beams_reset();
    r.x = 0;
    r.y = 0;
    r.w = 24;
    r.h = 18;
    map_fill(&r, 3);
    r.x = 1;
    r.y = 1;
    r.w = 22;
    r.h = 16;
    map_fill(&r, 5);
    for (i = 0; i < 4; i++) {
        map_set(5 + (i & 1) * 13, 4 + (i >> 1) * 9, 14);
        map_light(5 + (i & 1) * 13, 4 + (i >> 1) * 9, 4);
    }
    g_boss.x = FX(192);
    g_boss.y = FX(72);
    g_boss.hp_max = 240 + g_game.level * 20;
    g_boss.hp = g_boss.hp_max;
    g_boss.shield = 0;
    g_boss.timer = 120;
    g_boss.phase = 0;
    g_boss.pattern = 0;
    g_boss.step = 0;
    g_boss.enraged = 0;
    g_boss.hits = 0;
    ent_spawn(KIND_KEEPER, 192, 224);
    golem_wake(96, 112);
    scene_start(boss_scene);
}

s32 boss_hurt(s32 amount) {
    s32 phase;

    if (g_boss.shield > 0) {
        g_boss.shield -= amount * 2;
        spark_blue(g_boss.x, g_boss.y);
        if (g_boss.shield <= 0) {
            g_boss.shield = 0;
            shards_burst(FX_INT(g_boss.x), FX_INT(g_boss.y), 12);
            snd_effect(12);
        }
        return FALSE;
    }
    g_boss.hits++;
    g_boss.hp -= amount;
    if (g_boss.hp < 0) {
        g_boss.hp = 0;
    }
    phase = boss_phase(&g_boss);
    if (phase != g_boss.phase) {
        g_boss.phase = phase;
        g_boss.shield = 40 + phase * 20;
        g_boss.enraged = phase == 3;
        g_boss.timer = 60;
        part_ring(g_boss.x, g_boss.y, 4);
    }
    return g_boss.hp == 0;
}

void boss_move(void) {
    const Entity *player = g_pool.player;
    s32 tx = FX(192);
    s32 ty = FX(64);
    s32 speed = FX_ONE / 2;

    switch (g_boss.phase) {
        case 0:
            tx += fx_sin(g_pool.tick * 12) * 60;
            break;
        case 1:
            tx += fx_sin(g_pool.tick * 16) * 90;
            ty += fx_cos(g_pool.tick * 32) * 24;
            break;
        case 2:
            if (player != NULL) {
                tx = player->pos.x;
                ty = player->pos.y - FX(80);
            }
            speed = FX_ONE;
            break;
        case 3:
            if (player != NULL) {
                tx = player->pos.x + fx_cos(g_pool.tick * 40) * 70;
                ty = player->pos.y + fx_sin(g_pool.tick * 40) * 70;
            }
            speed = FX_ONE * 2;
            break;
    }
    g_boss.x = fx_approach(g_boss.x, fx_clamp(tx, FX(32), FX(352)), speed);
    g_boss.y = fx_approach(g_boss.y, fx_clamp(ty, FX(32), FX(256)), speed);
}

void boss_pattern_fan(void) {
    s32 i;
    s32 aim = ANGLE_QUARTER;

    if (g_pool.player != NULL) {
        aim = fx_atan2(g_pool.player->pos.y - g_boss.y, g_pool.player->pos.x - g_boss.x);
    }
    for (i = -1; i <= 1; i++) {
        beam_fire(aim + i * 200, i * 4, 0);
    }
    g_boss.timer = 90 - g_boss.phase * 15;
}

void boss_pattern_ring(void) {
    s32 i;

    for (i = 0; i < 6; i++) {
        beam_fire(i * 683 + g_boss.step * 97, 10 + g_boss.phase * 2, 1);
    }
    g_boss.timer = 120 - g_boss.phase * 10;
}

void boss_pattern_cross(void) {
    s32 i;

    for (i = 0; i < 4; i++) {
        beam_fire(i * 1024 + g_boss.step * 45, 6 + g_boss.phase * 3, 2);
    }
    g_boss.timer = 100 - g_boss.phase * 12;
}

void boss_pattern_rain(void) {
    s32 i;

    for (i = 0; i < 4 + g_boss.phase; i++) {
        shards_burst(rng_range(24, 360), 20, 2);
    }
    g_boss.timer = 70;
    if (g_boss.enraged) {
        actor_spawn(KIND_SPARK, rng_range(40, 340), 30);
    }
}

void boss_choose(void) {
    u8 weights[4];
    s32 pick;

    weights[0] = 6;
    weights[1] = 2 + g_boss.phase;
    weights[2] = g_boss.phase > 0 ? 4 : 0;
    weights[3] = g_boss.phase * 3;
    weights[g_boss.pattern & 3] /= 2;
    pick = rng_weighted(weights, 4);
    g_boss.pattern = pick;
    g_boss.step++;
    switch (pick) {
        case 0:
            boss_pattern_fan();
            break;
        case 1:
            boss_pattern_ring();
            break;
        case 2:
            boss_pattern_cross();
            break;
        default:
            boss_pattern_rain();
            break;
    }
}

void boss_update(void) {
    scene_step();
    if (g_boss.hp > 0) {
        boss_move();
        if (--g_boss.timer <= 0 && beams_live() < 3) {
            boss_choose();
        }
        if (g_boss.enraged && (g_pool.tick & 15) == 0) {
            part_burst(g_boss.x, g_boss.y, 3, 3);
        }
    }
    golem_step();
    actor_update_all();
    beams_step();
    shards_step();
}

void boss_draw(void) {
    Rect bar;
    s32 x = FX_INT(g_boss.x) - g_map.scroll_x;
    s32 y = FX_INT(g_boss.y) - g_map.scroll_y;

    beams_draw();
    shards_draw();
    actor_draw_all(18);
    if (g_boss.shield > 0) {
        draw_color(80, 120, 255);
    } else {
        draw_color(255, 255 - g_boss.phase * 60, 255 - g_boss.phase * 80);
    }
    draw_tile(x - 16, y - 16, 0x140 + g_boss.phase * 4, 9);
    draw_tile(x, y - 16, 0x141 + g_boss.phase * 4, 9);
    draw_tile(x - 16, y, 0x142 + g_boss.phase * 4, 9);
    draw_tile(x, y, 0x143 + g_boss.phase * 4, 9);
    if (g_boss.enraged && (g_pool.tick & 4)) {
        draw_tile(x - 8, y - 30, 0x1C, 8);
    }
    bar.x = 60;
    bar.y = 220;
    bar.w = 200 * g_boss.hp / g_boss.hp_max;
    bar.h = 6;
    draw_box(&bar, 1);
}

s32 boss_event(s32 id, s32 arg) {
    switch (id) {
        case 0:
            if (boss_hurt(arg)) {
                flag_set(60);
                game_add_exp(400);
                put_str("The dark lets go.\n");
                return TRUE;
            }
            return FALSE;
        case 1:
            g_boss.shield += arg;
            return g_boss.shield;
        case 2:
            return golem_damage(arg);
        case 4:
            shards_burst(arg & 0x1FF, arg >> 9, 8);
            return beams_live();
        case 5:
            g_boss.timer += arg;
            return g_boss.timer;
        case 6:
            if (g_boss.phase < 2 || beams_live() > 0) {
                return FALSE;
            }
            g_boss.x = FX(192);
            g_boss.y = FX(128);
            for (arg = 0; arg < 4; arg++) {
                beam_fire(arg * 1024 + 512, 12, 1);
            }
            return TRUE;
        case 8:
            text_set_var(3, g_boss.hits);
            return g_boss.hits;
    }
    return -1;
}
