#include "common.h"

TextBox g_text;
s32 g_text_vars[8];
char g_player_name[12] = "ASH";

const char *const g_text_prompts[4] = { "Press X", "Yes / No", "...", "Done" };

void text_scroll(void);

void text_clear(void) {
    s32 row;
    s32 col;

    for (row = 0; row < TEXT_ROWS; row++) {
        for (col = 0; col < TEXT_COLS; col++) {
            g_text.cells[row][col] = ' ';
        }
    }
    g_text.row = 0;
    g_text.col = 0;
    g_text.shown = 0;
}

void text_open(const u8 *script) {
    text_clear();
    g_text.script = script;
    g_text.cursor = 0;
    g_text.wait = 0;
    g_text.color = 7;
    g_text.speed = 2;
    g_text.tick = 0;
    g_text.paused = 0;
    g_text.active = 1;
}

void text_close(void) {
    g_text.active = 0;
    g_text.script = NULL;
}

void put_ch(u8 c) {
    if (c == '\n' || g_text.col >= TEXT_COLS) {
        g_text.col = 0;
        g_text.row++;
        if (g_text.row >= TEXT_ROWS) {
            text_scroll();
        }
    }
    if (c >= ' ') {
        g_text.cells[g_text.row][g_text.col++] = c;
        g_text.shown++;
    }
}

void put_str(const char *s) {
    while (*s != '\0') {
        put_ch(*s++);
    }
}

void text_scroll(void) {
    s32 col;
    s32 row;

    for (row = 1; row < TEXT_ROWS; row++) {
        for (col = 0; col < TEXT_COLS; col++) {
            g_text.cells[row - 1][col] = g_text.cells[row][col];
        }
    }
    for (col = 0; col < TEXT_COLS; col++) {
        g_text.cells[TEXT_ROWS - 1][col] = ' ';
    }
    g_text.row = TEXT_ROWS - 1;
}

s32 text_step(void) {
    char buf[12];
    u8 c = g_text.script[g_text.cursor++];

    switch (c) {
        case TC_END:
            text_close();
            return 0;
        case TC_COLOR:
            g_text.color = g_text.script[g_text.cursor++] & 7;
            return 1;
        case TC_WAIT:
            g_text.wait = g_text.script[g_text.cursor++] * 4;
            return 0;
        case TC_SPEED:
            g_text.speed = g_text.script[g_text.cursor++];
            return 1;
        case TC_NAME:
            put_str(g_player_name);
            return 1;
        case TC_NUMBER:
            str_from_int(buf, g_text_vars[g_text.script[g_text.cursor++] & 7]);
            put_str(buf);
            return 1;
        case TC_PAGE:
            g_text.paused = 1;
            return 0;
        case TC_ITEM:
            put_str(item_name(g_text.script[g_text.cursor++]));
            return 1;
        case TC_CHOICE:
            put_str(g_text_prompts[g_text.script[g_text.cursor++] & 3]);
            g_text.wait = 8;
            return 0;
        case TC_JUMP:
            if (flag_get(g_text.script[g_text.cursor])) {
                g_text.cursor += g_text.script[g_text.cursor + 1];
            } else {
                g_text.cursor += 2;
            }
            return 1;
        case TC_SOUND:
            snd_effect(g_text.script[g_text.cursor++]);
            return 1;
        default:
            put_ch(c);
            return 0;
    }
}

void text_update(void) {
    if (!g_text.active) {
        return;
    }
    if (g_text.paused) {
        if (pad_pressed(0, PAD_CROSS) != 0) {
            g_text.paused = 0;
            text_clear();
        }
        return;
    }
    if (g_text.wait > 0) {
        g_text.wait--;
        return;
    }
    if (++g_text.tick >= g_text.speed || pad_held(0, PAD_CROSS) != 0) {
        g_text.tick = 0;
        while (text_step() != 0) {
        }
    }
}

void text_draw(s32 x, s32 y) {
    s32 row;
    s32 col;
    u8 c;

    draw_color(g_text.color << 5, 200, 160);
    for (row = 0; row < TEXT_ROWS; row++) {
        for (col = 0; col < TEXT_COLS; col++) {
            c = g_text.cells[row][col];
            if (c != ' ') {
                draw_tile(x + col * 8, y + row * 12, c, 2);
            }
        }
    }
    if (g_text.paused && (g_game.frame & 16)) {
        draw_tile(x + TEXT_COLS * 8, y + TEXT_ROWS * 12, 0x1F, 2);
    }
}

void text_set_var(s32 index, s32 value) {
    g_text_vars[index & 7] = value;
}

void text_ok(void) {
    put_str("ok\n");
    put_ch('>');
}

void text_failed(void) {
    put_str("not ");
    put_str("ok\n");
    put_ch('!');
}
