#include "common.h"
#include "engine.h"
#include "town.h"

s32 town_hour = 8;
s16 town_rain;
u8 town_minute;
u8 town_lamps_on;
s16 town_bell[4] = { 6, 12, 18, 21 };

u8 lamp_spots[LAMP_MAX][2] = {
    { 3, 3 }, { 8, 3 }, { 14, 4 }, { 20, 3 }, { 26, 5 }, { 5, 11 }, { 12, 12 }, { 18, 11 }, { 25, 12 }, { 4, 19 }, { 15, 20 }, { 27, 19 },
};

u8 town_scene[] = { 10, 2, 3, 4, 4, 1, 15, 8, 20, 9, 20, 2, 10, 4, 0 };

s32 town_main(s32 cmd, s32 arg);
void town_init(void);
void town_update(void);
void town_draw(void);
void town_build(s32 x, s32 y, s32 w, s32 h, s32 roof);
void town_clock(void);
void town_lamps(s32 on);
void town_weather(void);
void folk_draw(void);
s32 folk_find(s32 x, s32 y);
void stock_drift(void);
s32 stock_sell(s32 id, s32 count);
s32 stock_haggle(s32 slot, s32 offer);
void sign_write(s32 x, s32 y, const char *s);

s32 town_main(s32 cmd, s32 arg) {
    s32 who;

    switch (cmd) {
        case OVL_CMD_INIT:
            town_init();
            return 0;
        case OVL_CMD_UPDATE:
            town_update();
            return town_hour;
        case OVL_CMD_DRAW:
            town_draw();
            return 0;
        case OVL_CMD_EXIT:
            town_debt += town_debt / 10;
            return town_debt;
        case OVL_CMD_EXIT + 1:
            who = folk_find(arg & 0xFF, arg >> 8);
            return who < 0 ? FALSE : folk_talk(who);
        case OVL_CMD_EXIT + 2:
            return stock_buy(arg & 7, 1 + (arg >> 3));
        case OVL_CMD_EXIT + 3:
            return stock_sell(arg & 15, 1);
        case OVL_CMD_EXIT + 5:
            return stock_haggle(arg & 7, arg >> 3);
        case OVL_CMD_EXIT + 4:
            if (arg > g_game.gold) {
                arg = g_game.gold;
            }
            town_debt -= arg;
            game_add_gold(-arg);
            if (town_debt < 0) {
                game_add_gold(-town_debt);
                town_debt = 0;
            }
            return town_debt;
        case OVL_CMD_EXIT + 6:
            town_hour = (town_hour + arg) % 24;
            heal_big(town_hour);
            town_lamps(town_hour > 18 || town_hour < 6);
            return town_hour;
    }
    return -1;
}

void town_build(s32 x, s32 y, s32 w, s32 h, s32 roof) {
    s32 i;
    Rect r;

    r.x = x;
    r.y = y;
    r.w = w;
    r.h = h;
    map_fill(&r, 32 + roof);
    r.y = y + h - 1;
    r.h = 1;
    map_fill(&r, 20);
    map_set(x + w / 2, y + h - 1, 10);
    for (i = 1; i < w - 1; i += 2) {
        if (i != w / 2) {
            map_set(x + i, y + h - 1, 21 + (roof & 1));
        }
    }
}

void town_init(void) {
    s32 i;
    Actor *a;

    map_clear(MAP_W, MAP_H);
    actor_reset();
    town_minute = 0;
    town_rain = 0;
    for (i = 0; i < 4; i++) {
        town_build(2 + i * 7, 5, 5, 4, i);
        town_build(3 + i * 7, 13, 4, 4, i + 4);
    }
    for (i = 0; i < MAP_W; i++) {
        map_set(i, 10, 16);
        map_set(i, 11, 17);
        if ((i & 7) == 5) {
            map_set(i, 9, 24);
            map_set(i, 12, 24);
        }
    }
    if (town_debt > 50) {
        town_hour = 19;
        put_str("The keeper of the shop is waiting.\n");
    }
    folk_reset();
    stock_reset();
    for (i = 0; i < 3; i++) {
        a = actor_spawn(KIND_WISP, 60 + i * 120, 170);
        if (a != NULL) {
            a->route = i;
        }
        ov_routes[i].count = 2;
        ov_routes[i].loop = 1;
        ov_routes[i].points[1].x = 40 - i * 10;
    }
    ent_spawn(KIND_KEEPER, 160, 176);
    town_lamps(town_hour > 18 || town_hour < 6);
    scene_start(town_scene);
}

void town_lamps(s32 on) {
    s32 i;

    town_lamps_on = on;
    for (i = 0; i < LAMP_MAX; i++) {
        map_set(lamp_spots[i][0], lamp_spots[i][1], on ? 12 : 52);
        if (on) {
            map_light(lamp_spots[i][0], lamp_spots[i][1], 4);
        }
    }
}

void town_clock(void) {
    s32 i;

    town_minute += 2;
    if (town_minute < 60) {
        return;
    }
    town_minute = 0;
    if (++town_hour >= 24) {
        town_hour = 0;
        stock_drift();
    }
    for (i = 0; i < 4; i++) {
        if (town_hour == town_bell[i]) {
            snd_effect(11);
        }
    }
    if (town_hour == 19) {
        town_lamps(TRUE);
    } else if (town_hour == 6) {
        town_lamps(FALSE);
    }
}

void town_weather(void) {
    s32 i;

    if (town_rain > 0) {
        town_rain--;
        for (i = 0; i < 3; i++) {
            part_emit(FX(g_map.scroll_x + rng_range(0, 319)), FX(g_map.scroll_y), 200, 5000, 0);
        }
        if (town_rain == 0) {
            part_set_wind(0);
        }
    } else if (rng_percent(1) && (rng_next() & 63) == 0) {
        town_rain = rng_range(200, 900);
        part_set_wind(24);
    }
}

void town_update(void) {
    static u32 ticks;

    ticks++;
    if ((ticks & 31) == 0) {
        town_clock();
    }
    scene_step();
    folk_step();
    actor_update_all();
    town_weather();
    if (!town_lamps_on && (ticks & 127) == 0 && (town_hour > 20 || town_hour < 5)) {
        map_darken();
    }
}

void town_draw(void) {
    s32 shade = 16;

    if (town_hour < 6 || town_hour > 20) {
        shade = 6;
    } else if (town_hour < 8 || town_hour > 17) {
        shade = 11;
    }
    folk_draw();
    actor_draw_all(shade);
    sign_write(4, 4, town_rain > 0 ? "RAIN" : "FAIR");
    draw_number(270, 8, town_hour * 100 + town_minute);
    draw_number(270, 20, g_game.gold);
}
