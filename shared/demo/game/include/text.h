#ifndef TEXT_H
#define TEXT_H

#include "types.h"

#define TEXT_ROWS 4
#define TEXT_COLS 28

#define TC_END 0x00
#define TC_LINE 0x0A
#define TC_COLOR 0x80
#define TC_WAIT 0x81
#define TC_SPEED 0x82
#define TC_NAME 0x84
#define TC_NUMBER 0x85
#define TC_PAGE 0x87
#define TC_ITEM 0x88
#define TC_SOUND 0x8B
#define TC_CHOICE 0x8C
#define TC_JUMP 0x8E

typedef struct TextBox {
    const u8 *script;
    s16 cursor;
    s16 wait;
    u8 row;
    u8 col;
    u8 color;
    u8 speed;
    u8 active;
    u8 paused;
    u8 shown;
    u8 tick;
    u8 cells[TEXT_ROWS][TEXT_COLS];
} TextBox;

extern TextBox g_text;
extern char g_player_name[12];
extern s32 g_text_vars[8];
extern const char *const g_text_prompts[4];

void text_clear(void);
void text_open(const u8 *script);
void text_close(void);
void put_ch(u8 c);
void put_str(const char *s);
s32 text_step(void);
void text_update(void);
void text_draw(s32 x, s32 y);
void text_set_var(s32 index, s32 value);
void text_ok(void);
void text_failed(void);

#endif
