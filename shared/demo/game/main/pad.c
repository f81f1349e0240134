#include "common.h"

Pad g_pads[PAD_PORTS];
PadRaw g_pad_raw[PAD_PORTS];

s8 pad_stick(u8 raw);
void pad_read(Pad *p, const PadRaw *raw);
void pad_remember(Pad *p, s32 dir);

void pad_init(void) {
    s32 i;

    for (i = 0; i < PAD_PORTS; i++) {
        g_pads[i].held = 0;
        g_pads[i].pressed = 0;
        g_pads[i].released = 0;
        g_pads[i].repeat = 0;
        g_pads[i].timer = PAD_REPEAT_FIRST;
        g_pads[i].stick_x = 0;
        g_pads[i].stick_y = 0;
        g_pads[i].status = 0xFF;
        g_pad_raw[i].status = 0xFF;
        g_pad_raw[i].buttons = 0xFFFF;
    }
}

s8 pad_stick(u8 raw) {
    s32 v = raw - 128;

    if (v > -16 && v < 16) {
        return 0;
    }
    return v;
}

void pad_read(Pad *p, const PadRaw *raw) {
    u16 now;

    p->status = raw->status;
    p->kind = raw->kind;
    if (raw->status != 0) {
        p->held = 0;
        p->pressed = 0;
        p->released = 0;
        return;
    }
    now = ~raw->buttons;
    if (raw->kind == 0x73) {
        p->stick_x = pad_stick(raw->left_x);
        p->stick_y = pad_stick(raw->left_y);
        if (p->stick_x < -64) {
            now |= PAD_LEFT;
        } else if (p->stick_x > 64) {
            now |= PAD_RIGHT;
        }
        if (p->stick_y < -64) {
            now |= PAD_UP;
        } else if (p->stick_y > 64) {
            now |= PAD_DOWN;
        }
    }
    if ((now & (PAD_LEFT | PAD_RIGHT)) == (PAD_LEFT | PAD_RIGHT)) {
        now &= ~(PAD_LEFT | PAD_RIGHT);
    }
    if ((now & (PAD_UP | PAD_DOWN)) == (PAD_UP | PAD_DOWN)) {
        now &= ~(PAD_UP | PAD_DOWN);
    }
    p->pressed = now & ~p->held;
    p->released = p->held & ~now;
    p->repeat = p->pressed;
    if (now != p->held) {
        p->timer = PAD_REPEAT_FIRST;
    } else if (now != 0 && --p->timer <= 0) {
        p->timer = PAD_REPEAT_NEXT;
        p->repeat = now;
    }
    p->held = now;
}

void pad_update(void) {
    s32 i;

    for (i = 0; i < PAD_PORTS; i++) {
        pad_read(&g_pads[i], &g_pad_raw[i]);
        if (g_pads[i].pressed != 0) {
            pad_remember(&g_pads[i], pad_dir(i));
        }
    }
}

void pad_remember(Pad *p, s32 dir) {
    s32 i;

    for (i = 5; i > 0; i--) {
        p->history[i] = p->history[i - 1];
    }
    p->history[0] = dir;
}

s32 pad_held(s32 port, s32 mask) {
    return g_pads[port].held & mask;
}

s32 pad_pressed(s32 port, s32 mask) {
    return g_pads[port].pressed & mask;
}

s32 pad_dir(s32 port) {
    static const u8 dirs[16] = { 0, 1, 3, 2, 5, 0, 4, 0, 7, 8, 0, 0, 6, 0, 0, 0 };

    return dirs[(g_pads[port].held >> 4) & 15];
}

s32 pad_combo(const Pad *p, const u8 *moves, s32 n) {
    s32 i;

    for (i = 0; i < n; i++) {
        if (p->history[n - 1 - i] != moves[i]) {
            return FALSE;
        }
    }
    return TRUE;
}
