#include "common.h"
#include "engine.h"
#include "title.h"

TitleState g_title;

u8 title_jingle[] = { 0xC0, 5, 0, 0x90, 0x30, 0x60, 0x20, 0x94, 0x34, 0x50, 0x40, 0xF0 };

s32 title_main(s32 cmd, s32 arg);
void title_init(void);
void title_update(void);
void title_draw(void);
void title_palette(s32 t);
void title_choose(s32 dir);
s32 title_code(void);
void stars_draw(void);
void flame_draw(s32 x, s32 y);
void flame_feed(s32 power);
void credits_draw(s32 scroll);
void logo_draw(s32 x, s32 y, s32 t);

s32 title_main(s32 cmd, s32 arg) {
    switch (cmd) {
        case OVL_CMD_INIT:
            title_init();
            return 0;
        case OVL_CMD_UPDATE:
            title_update();
            return g_title.step;
        case OVL_CMD_DRAW:
            title_draw();
            return 0;
        case OVL_CMD_EXIT:
            return g_title.choice;
        case OVL_CMD_EXIT + 1:
            g_title.step = 4;
            return arg;
    }
    return -1;
}

void title_init(void) {
    s32 i;

    g_title.step = 0;
    g_title.ticks = 0;
    g_title.choice = 0;
    g_title.scroll = 240;
    g_title.flame = 0;
    for (i = 0; i < 32; i++) {
        g_title.palette[i] = draw_blend(0x0842, 0x03FF, i * 8);
    }
    stars_reset();
    actor_reset();
}

void title_palette(s32 t) {
    s32 i;
    u16 keep = g_title.palette[0];

    if (t & 3) {
        return;
    }
    for (i = 0; i < 31; i++) {
        g_title.palette[i] = draw_blend(g_title.palette[i], g_title.palette[i + 1], 64);
    }
    g_title.palette[31] = draw_blend(keep, 0x7FFF, (t >> 2) & 127);
}

void title_choose(s32 dir) {
    s32 old = g_title.choice;

    g_title.choice += dir;
    if (g_title.choice < 0) {
        g_title.choice = 2;
    } else if (g_title.choice > 2) {
        g_title.choice = 0;
    }
    if (g_title.choice == 1 && card_find_free() == 0) {
        g_title.choice += dir;
    }
    if (old != g_title.choice) {
        snd_effect(8);
    }
}

s32 title_code(void) {
    static const u8 code[6] = { 1, 1, 5, 5, 7, 3 };

    if (pad_combo(&g_pads[0], code, 6)) {
        g_game.gold = 7777;
        snd_effect(14);
        return TRUE;
    }
    return FALSE;
}

void title_update(void) {
    s32 dir = pad_dir(0);

    g_title.ticks++;
    title_palette(g_title.ticks);
    flame_step();
    switch (g_title.step) {
        case 0:
            stars_step(2);
            if (g_title.ticks > 90 || pad_pressed(0, PAD_START)) {
                g_title.step = 1;
                snd_play(0, title_jingle);
            }
            break;
        case 1:
            stars_step(6);
            flame_feed(g_title.flame);
            if (++g_title.flame >= 60) {
                g_title.step = 2;
            }
            break;
        case 2:
            stars_step(1);
            flame_feed(40 + (rng_next() & 31));
            if (g_pads[0].repeat != 0) {
                if (dir == 1) {
                    title_choose(-1);
                } else if (dir == 5) {
                    title_choose(1);
                }
            }
            title_code();
            if (pad_pressed(0, PAD_CROSS)) {
                g_title.step = g_title.choice == 2 ? 4 : 3;
                snd_effect(1);
            }
            break;
        case 3:
            draw_fade_to(255);
            if (g_draw.fade == 255) {
                ovl_request(g_title.choice == 0 ? OVL_TOWN : OVL_CAVE);
                mode_set(MODE_FIELD);
            }
            break;
        case 4:
            stars_step(3);
            g_title.scroll--;
            if (g_title.scroll < -CREDIT_HEIGHT || pad_pressed(0, PAD_CIRCLE)) {
                g_title.scroll = 240;
                g_title.step = 2;
            }
            break;
    }
}

void title_draw(void) {
    s32 i;
    s32 y;

    stars_draw();
    if (g_title.step == 4) {
        credits_draw(g_title.scroll);
        return;
    }
    flame_draw(120, 60);
    logo_draw(56, 30, g_title.ticks);
    if (g_title.step < 2) {
        return;
    }
    for (i = 0; i < 3; i++) {
        y = 170 + i * 16;
        if (i == g_title.choice) {
            draw_color(255, 220, 120);
            draw_tile(112 + (fx_sin(g_title.ticks * 64) >> 10), y, 0x3E, 2);
        } else {
            draw_color(110, 110, 130);
        }
        draw_tile(128, y, 0xE0 + i * 4, 2);
        draw_tile(144, y, 0xE1 + i * 4, 2);
        draw_tile(160, y, 0xE2 + i * 4, 2);
    }
}
