#include "common.h"

GameState g_game;
BootInfo g_boot;
OverlaySlot g_overlay = { OVL_NONE, OVL_TITLE, 24, 0 };

const s16 g_level_exp[10] = { 0, 20, 55, 110, 190, 300, 450, 650, 920, 1300 };

const OverlayInfo g_overlays[6] = {
    { "NONE.BIN", 0, 0, 0 },
    { "TITLE.BIN", 6, 0, 1 },
    { "TOWN.BIN", 9, 0, 2 },
    { "CAVE.BIN", 8, 1, 3 },
    { "SKY.BIN", 7, 1, 4 },
    { "BOSS.BIN", 8, 1, 5 },
};

void (*const g_mode_table[MODE_COUNT])(void) = {
    mode_boot, mode_title, mode_field, mode_talk, mode_menu, mode_over,
};

void boot_start(void) {
    game_reset();
    pad_init();
    arena_init();
    snd_reset();
    card_format();
    rng_seed(0x1EAF);
    mode_set(MODE_TITLE);
    game_loop();
}

void halt_forever(void) {
    g_boot.halted = 1;
    for (;;) {
        g_boot.vblanks++;
    }
}

void boot_hook(void) {
}

void vblank_irq(void) {
    g_boot.vblanks++;
    snd_tick();
}

void frame_wait(void) {
    u32 now = g_boot.vblanks;

    while (now == g_boot.last_vblank) {
        now = g_boot.vblanks;
    }
    if (now - g_boot.last_vblank > 2) {
        g_boot.lag += now - g_boot.last_vblank - 2;
    }
    g_boot.last_vblank = now;
}

void mode_set(s32 mode) {
    if (mode < 0 || mode >= MODE_COUNT) {
        g_boot.errors++;
        return;
    }
    g_game.next_mode = mode;
}

void mode_boot(void) {
    ovl_request(OVL_TITLE);
    if (ovl_load() != 0) {
        ovl_init();
        mode_set(MODE_TITLE);
    }
}

void mode_title(void) {
    ovl_update();
    ovl_draw();
    if (pad_pressed(0, PAD_START) != 0) {
        snd_effect(3);
        ovl_event(1, 0);
        mode_set(MODE_FIELD);
    }
}

void mode_field(void) {
    Entity *player = g_pool.player;

    if (player != NULL && g_game.hp > 0) {
        switch (pad_dir(0)) {
            case 1:
                player->vel.y = -FX(2);
                break;
            case 3:
                player->vel.x = FX(2);
                break;
            case 5:
                player->vel.y = FX(2);
                break;
            case 7:
                player->vel.x = -FX(2);
                break;
            default:
                player->vel.x = fx_approach(player->vel.x, 0, FX_HALF);
                player->vel.y = fx_approach(player->vel.y, 0, FX_HALF);
                break;
        }
        map_scroll_to(FX_INT(player->pos.x), FX_INT(player->pos.y));
    }
    if (pad_held(0, PAD_SQUARE) && g_game.oil > 0) {
        game_burn_oil(1);
        if (player != NULL) {
            map_light(FX_INT(player->pos.x) >> 4, FX_INT(player->pos.y) >> 4, 6);
        }
    }
    ai_run_all();
    ent_update_all();
    hit_resolve();
    ovl_update();
    part_update();
    map_draw();
    ent_draw_all(g_map.scroll_x, g_map.scroll_y);
    part_draw();
    ovl_draw();
    if (pad_pressed(0, PAD_TRIANGLE) != 0) {
        menu_push(MENU_MAIN);
        mode_set(MODE_MENU);
    } else if (g_game.hp <= 0) {
        mode_set(MODE_OVER);
    }
}

void mode_talk(void) {
    text_update();
    map_draw();
    text_draw(24, 160);
    if (!g_text.active) {
        mode_set(MODE_FIELD);
    }
}

void mode_menu(void) {
    menu_update();
    menu_draw();
    if (!menu_is_open()) {
        mode_set(MODE_FIELD);
    }
}

void mode_over(void) {
    draw_fade_to(255);
    if (g_draw.fade == 255) {
        game_reset();
        mode_set(MODE_TITLE);
    }
}

void game_reset(void) {
    s32 i;

    g_game.mode = MODE_BOOT;
    g_game.next_mode = MODE_BOOT;
    g_game.frame = 0;
    g_game.map_id = 0;
    g_game.hp = 40;
    g_game.hp_max = 40;
    g_game.level = 1;
    g_game.keys = 0;
    g_game.gold = 120;
    g_game.exp = 0;
    g_game.seconds = 0;
    g_game.oil = 600;
    g_game.oil_max = 900;
    for (i = 0; i < 32; i++) {
        g_game.flags[i] = 0;
    }
    inv_clear();
    ent_clear_all();
    part_clear();
    menu_reset();
}

void game_tick(void) {
    g_game.frame++;
    if (g_game.frame % 60 == 0) {
        g_game.seconds++;
        game_burn_oil(2);
    }
    if (g_game.next_mode != g_game.mode) {
        g_game.mode = g_game.next_mode;
        text_close();
    }
    g_mode_table[g_game.mode]();
}

void game_loop(void) {
    while (g_boot.errors < 16) {
        frame_wait();
        pad_update();
        draw_begin();
        game_tick();
        boot_hook();
    }
    halt_forever();
}

s32 flag_get(s32 index) {
    return (g_game.flags[index >> 3] >> (index & 7)) & 1;
}

void flag_set(s32 index) {
    g_game.flags[index >> 3] |= 1 << (index & 7);
}

void game_add_gold(s32 amount) {
    s32 gold = g_game.gold + amount;

    if (gold < 0) {
        gold = 0;
    }
    if (gold > 99999) {
        gold = 99999;
    }
    g_game.gold = gold;
}

s32 game_add_exp(s32 amount) {
    s32 gained = 0;

    g_game.exp += amount;
    while (g_game.level < 10 && g_game.exp >= g_level_exp[g_game.level]) {
        g_game.level++;
        g_game.hp_max += 6 + g_game.level;
        g_game.hp = g_game.hp_max;
        g_game.oil_max += 50;
        gained++;
    }
    if (gained > 0) {
        snd_effect(7);
        part_ring(g_pool.player->pos.x, g_pool.player->pos.y, 3);
    }
    return gained;
}

void game_burn_oil(s32 rate) {
    s32 oil = g_game.oil - rate;

    if (inv_count(ITEM_MIRROR) != 0) {
        oil++;
    }
    if (oil <= 0) {
        if (inv_remove(ITEM_OIL, 1)) {
            oil = g_game.oil_max;
        } else {
            oil = 0;
            map_darken();
        }
    }
    g_game.oil = oil;
}
