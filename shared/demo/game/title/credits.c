#include "common.h"
#include "title.h"

const char *const credit_lines[CREDIT_MAX] = {
    "", "a game of lamps", "code, words and maps", "by the keepers", "", "lamps", "by the night shift", "thank you for the light",
};
char logo_text[] = "EMBER VALE";
const s8 logo_wave[16] = { 0, 2, 4, 5, 6, 5, 4, 2, 0, -2, -4, -5, -6, -5, -4, -2 };

void credits_draw(s32 scroll);
void credits_line(s32 y, const char *s, s32 shade);
void logo_glyph(u8 glyph, s32 x, s32 y);
void logo_draw(s32 x, s32 y, s32 t);

void credits_line(s32 y, const char *s, s32 shade) {
    s32 x = 160 - str_length(s) * 4;

    draw_color(shade, shade, shade * 3 / 4);
    while (*s != '\0') {
        if (*s != ' ') {
            draw_tile(x, y, *s, 2);
        }
        x += 8;
        s++;
    }
}

void credits_draw(s32 scroll) {
    s32 i;
    s32 y;
    s32 shade;

    for (i = 0; i < CREDIT_MAX; i++) {
        y = scroll + i * 18;
        if (y < -16 || y > 240) {
            continue;
        }
        shade = 255;
        if (y < 64) {
            shade = fx_clamp(y * 4, 0, 255);
        } else if (y > 176) {
            shade = fx_clamp((240 - y) * 4, 0, 255);
        }
        credits_line(y, credit_lines[i], shade);
    }
}

void logo_glyph(u8 glyph, s32 x, s32 y) {
    s32 row;
    s32 base = (glyph & 0x1F) * 2;

    for (row = 0; row < 2; row++) {
        draw_tile(x, y + row * 16, 0x100 + base + row * 64, 10);
        draw_tile(x + 16, y + row * 16, 0x101 + base + row * 64, 10);
    }
}

void logo_draw(s32 x, s32 y, s32 t) {
    const char *s = logo_text;
    s32 i;
    s32 lift;
    s32 glow;
    s32 appear;

    for (i = 0; s[i] != '\0'; i++) {
        appear = t - i * 6;
        if (appear < 0) {
            break;
        }
        lift = logo_wave[((t >> 2) + i) & 15];
        if (appear < 32) {
            lift -= (32 - appear) * 2;
            glow = appear * 8;
        } else {
            glow = 200 + (fx_sin(t * 32 + i * 300) >> 7);
            if (rng_percent(2)) {
                spark_gold(FX(x + i * 20 + 8), FX(y + lift + 28));
            }
        }
        glow = fx_clamp(glow, 0, 255);
        if (s[i] == ' ') {
            continue;
        }
        if (glow > 240) {
            draw_color(64, 48, 24);
            draw_tile(x + i * 20 + 2, y + lift + 34, 0x1A, 12);
        }
        draw_color(glow, glow * 3 / 4, glow / 3);
        logo_glyph(s[i], x + i * 20, y + lift);
    }
}
