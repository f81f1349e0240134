#include "boat.h"

Controller g_pad;
Record g_records[4];
u32 g_frame;

u16 record_sum(const Record *r);
void draw_boat(void);
void game_hang(void);
void game_nothing(void);

void pad_read(u32 raw) {
    u16 now = raw >> 16;

    if ((raw >> 24) == 0xFF) {
        g_pad.errors++;
        return;
    }
    g_pad.pressed = now & ~g_pad.held;
    g_pad.held = now;
    g_pad.stick_x = raw >> 8;
    g_pad.stick_y = raw;
}

u16 record_sum(const Record *r) {
    u32 sum = 0xA5A5 ^ r->tag;

    sum += r->ticks ^ (r->ticks >> 16);
    sum += r->name[0] * 3 + r->name[1] * 5 + r->name[2] * 7;
    return sum;
}

s32 record_insert(u32 ticks, const char *name) {
    static u8 serial;
    s32 at;
    s32 i;

    for (at = 0; at < 4; at++) {
        if (g_records[at].tag == 0 || g_records[at].sum != record_sum(&g_records[at]) || ticks < g_records[at].ticks) {
            break;
        }
    }
    if (at == 4) {
        return -1;
    }
    for (i = 3; i > at; i--) {
        g_records[i] = g_records[i - 1];
    }
    g_records[at].tag = ++serial;
    g_records[at].ticks = ticks;
    for (i = 0; i < 3; i++) {
        g_records[at].name[i] = name[i];
    }
    g_records[at].sum = record_sum(&g_records[at]);
    return at;
}

void game_hang(void) {
    for (;;) {
        g_frame++;
    }
}

void game_nothing(void) {
}

void draw_boat(void) {
    s32 x = 160 + q_cos(g_boat.heading) / 16;
    s32 y = 180 + q_sin(g_boat.heading) / 32;
    s32 i;
    s32 bx;
    s32 by;

    gfx_rect(0, 0, 320, 100, 0x6BFF);
    gfx_rect(0, 100, 320, 240, 0x11A9);
    for (i = 0; i < BUOY_MAX; i++) {
        bx = 160 + g_buoys[i].x - (g_boat.x >> Q_SHIFT);
        by = 180 + g_buoys[i].y - (g_boat.y >> Q_SHIFT) - g_buoys[i].bob;
        if (g_buoys[i].passed != 1) {
            gfx_rect(bx - 3, by - 6, bx + 3, by, 0xF801 - (g_buoys[i].color << 6));
        }
    }
    gfx_rect(x - 8, y - 4, x + 8, y + 4, 0xFFFF);
    gfx_rect(16, 16, 16 + g_boat.hull, 20, 0x07C1);
}

void game_frame(u32 raw) {
    g_frame++;
    pad_read(raw);
    waves_step();
    boat_step();
    gfx_begin();
    draw_boat();
    switch (g_boat.state) {
        case STATE_READY:
            gfx_text(96, 60, "press A\nto cast off");
            break;
        case STATE_WRECK:
            gfx_text(112, 60, "wrecked");
            break;
        case STATE_HOME:
            gfx_text(112, 60, "home");
            break;
    }
    if (g_gfx.lost > 1000) {
        game_hang();
    }
    game_nothing();
}
