#include "common.h"
#include "engine.h"
#include "town.h"

Folk g_folk[FOLK_MAX];
s32 folk_gossip;
u8 folk_last;

const u8 folk_line_hello[] = "Good light to you,\n\x84!\x87";
const u8 folk_line_rain[] = "\x80\x03" "Rain again.\x81\x08 My wicks are wet.\x87";
const u8 folk_line_debt[] = "You owe the shop \x85\x05 coins.\x87";
const u8 folk_line_night[] = "\x8B\x04" "Who goes there?\x87";
const s32 place_spots[8][2] = { { 72, 168 }, { 180, 168 }, { 290, 168 }, { 400, 168 }, { 90, 290 }, { 200, 290 }, { 310, 290 }, { 420, 290 } };

s32 folk_wants(const Folk *f);
void folk_walk(Folk *f);
void folk_draw(void);
s32 folk_find(s32 x, s32 y);

void folk_reset(void) {
    s32 i;

    for (i = 0; i < FOLK_MAX; i++) {
        g_folk[i].id = i;
        g_folk[i].mood = 4 + (rng_next() & 3);
        g_folk[i].place = i;
        g_folk[i].goal = i;
        g_folk[i].x = place_spots[i][0];
        g_folk[i].y = place_spots[i][1];
        g_folk[i].talk_count = 0;
        g_folk[i].wait = 60;
        g_folk[i].line = folk_line_hello;
    }
    folk_gossip = 0;
    folk_last = 0xFF;
}

s32 folk_wants(const Folk *f) {
    if (town_rain > 0 || town_hour > 21 || town_hour < 6) {
        return f->id & 7;
    }
    switch ((town_hour + f->id) % 9) {
        case 0:
        case 1:
            return 1;
        case 2:
            return 3;
        case 4:
            return (f->id * 3) & 7;
        case 5:
            return 6;
        case 6:
            return f->mood > 5 ? 7 : 0;
        case 8:
            return 5;
        default:
            return f->place;
    }
}

void folk_walk(Folk *f) {
    s32 gx = place_spots[f->goal][0];
    s32 gy = place_spots[f->goal][1];
    s32 lane = 170;

    if (f->x == gx && f->y == gy) {
        f->place = f->goal;
        f->wait = rng_range(90, 240);
        return;
    }
    if (f->x != gx && f->y != lane) {
        f->y = fx_approach(f->y, lane, 1);
    } else if (f->x != gx) {
        f->x = fx_approach(f->x, gx, 1);
    } else {
        f->y = fx_approach(f->y, gy, 1);
    }
}

void folk_step(void) {
    s32 i;
    s32 j;

    for (i = 0; i < FOLK_MAX; i++) {
        Folk *f = &g_folk[i];

        if (f->wait > 0) {
            f->wait--;
            continue;
        }
        if (f->place == f->goal) {
            f->goal = folk_wants(f);
            if (f->goal == f->place) {
                f->wait = 120;
                continue;
            }
        }
        folk_walk(f);
        for (j = 0; j < FOLK_MAX; j++) {
            if (j == i || g_folk[j].wait == 0) {
                continue;
            }
            if (fx_abs(g_folk[j].x - f->x) < 8 && fx_abs(g_folk[j].y - f->y) < 8) {
                f->wait = 30 + (rng_next() & 15);
                g_folk[j].wait = f->wait;
                folk_gossip++;
                if (f->mood < g_folk[j].mood) {
                    f->mood++;
                } else if (f->mood > g_folk[j].mood) {
                    g_folk[j].mood++;
                }
                if (f->x < g_folk[j].x) {
                    f->x--;
                } else if (f->x > g_folk[j].x) {
                    f->x++;
                }
                if (folk_gossip > 9) {
                    folk_gossip = 0;
                    town_debt -= town_debt > 0;
                }
            }
        }
    }
}

s32 folk_talk(s32 id) {
    Folk *f = &g_folk[id];

    f->talk_count++;
    if (town_hour > 21 || town_hour < 5) {
        f->line = folk_line_night;
        f->mood -= f->mood > 0;
    } else if (town_debt > 0 && id == 2) {
        text_set_var(5, town_debt);
        f->line = folk_line_debt;
    } else if (town_rain > 0) {
        f->line = folk_line_rain;
    } else {
        f->line = folk_line_hello;
        if (folk_last != id && f->mood < 9) {
            f->mood++;
        }
    }
    folk_last = id;
    f->wait = 90;
    text_open(f->line);
    mode_set(MODE_TALK);
    return f->talk_count;
}

s32 folk_find(s32 x, s32 y) {
    s32 i;

    for (i = 0; i < FOLK_MAX; i++) {
        if (fx_abs(g_folk[i].x / 4 - x) < 5 && fx_abs(g_folk[i].y / 4 - y) < 5) {
            return i;
        }
    }
    return -1;
}

void folk_draw(void) {
    s32 i;

    for (i = 0; i < FOLK_MAX; i++) {
        const Folk *f = &g_folk[i];

        draw_color(120 + f->mood * 12, 120, 150 - f->mood * 8);
        draw_tile(f->x - g_map.scroll_x, f->y - g_map.scroll_y, 0xC0 + f->id * 2 + ((f->x >> 2) & 1), 12);
        if (f->wait > 60) {
            draw_tile(f->x - g_map.scroll_x, f->y - g_map.scroll_y - 14, 0x1D, 11);
        }
    }
}
