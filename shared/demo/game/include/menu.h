#ifndef MENU_H
#define MENU_H

#include "types.h"

#define MENU_DEPTH 4

#define MENU_MAIN 0
#define MENU_ITEMS 1
#define MENU_SAVE 2
#define MENU_SHOP 3

typedef struct MenuEntry {
    const char *label;
    s16 action;
    s16 arg;
} MenuEntry;

typedef struct Menu {
    const MenuEntry *entries;
    s16 count;
    s16 columns;
    Rect frame;
} Menu;

typedef struct MenuState {
    const Menu *stack[MENU_DEPTH];
    s8 cursor[MENU_DEPTH];
    s8 depth;
    u8 blink;
    u8 repeat;
    u8 result;
} MenuState;

extern MenuState g_menu;
extern const Menu g_menus[4];

void menu_reset(void);
s32 menu_push(s32 id);
s32 menu_pop(void);
void menu_update(void);
void menu_draw(void);
s32 menu_is_open(void);

#endif
