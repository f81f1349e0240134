#include "common.h"

MenuState g_menu;

const MenuEntry g_main_entries[5] = {
    { "Items", 1, MENU_ITEMS }, { "Save", 1, MENU_SAVE }, { "Light", 4, 0 }, { "Sort", 5, 0 }, { "Close", 0, 0 },
};
const MenuEntry g_item_entries[3] = { { "Use", 2, 0 }, { "Sell", 6, 0 }, { "Back", 0, 0 } };
const MenuEntry g_save_entries[4] = { { "Slot 1", 3, 0 }, { "Slot 2", 3, 1 }, { "Slot 3", 3, 2 }, { "Back", 0, 0 } };
const MenuEntry g_shop_entries[5] = {
    { "Oil", 7, ITEM_OIL }, { "Bread", 7, ITEM_BREAD }, { "Tonic", 7, ITEM_TONIC }, { "Map", 7, ITEM_MAP }, { "Bye", 0, 0 },
};

const Menu g_menus[4] = {
    { g_main_entries, 5, 1, { 16, 16, 88, 76 } },
    { g_item_entries, 3, 3, { 112, 16, 160, 120 } },
    { g_save_entries, 4, 1, { 112, 32, 96, 64 } },
    { g_shop_entries, 5, 2, { 40, 40, 240, 60 } },
};

s32 menu_select(void);
void menu_draw_frame(const Rect *r);
s32 menu_action(s32 action, s32 arg);
void menu_move(s32 dx, s32 dy);
const Menu *menu_top(void);

void menu_reset(void) {
    g_menu.depth = 0;
    g_menu.blink = 0;
    g_menu.repeat = 0;
    g_menu.result = 0;
}

const Menu *menu_top(void) {
    return g_menu.stack[g_menu.depth - 1];
}

s32 menu_push(s32 id) {
    if (g_menu.depth >= MENU_DEPTH) {
        return FALSE;
    }
    g_menu.stack[g_menu.depth] = &g_menus[id];
    g_menu.cursor[g_menu.depth] = 0;
    g_menu.depth++;
    snd_effect(1);
    return TRUE;
}

s32 menu_pop(void) {
    if (g_menu.depth <= 0) {
        return FALSE;
    }
    g_menu.depth--;
    snd_effect(0);
    return g_menu.depth > 0;
}

void menu_move(s32 dx, s32 dy) {
    const Menu *m = menu_top();
    s32 at = g_menu.cursor[g_menu.depth - 1];

    at += dx + dy * m->columns;
    if (at < 0) {
        at += m->count;
    }
    if (at >= m->count) {
        at -= m->count;
    }
    if (at < 0 || at >= m->count) {
        at = 0;
    }
    if (at != g_menu.cursor[g_menu.depth - 1]) {
        g_menu.cursor[g_menu.depth - 1] = at;
        snd_effect(8);
    }
}

s32 menu_select(void) {
    const MenuEntry *e = &menu_top()->entries[g_menu.cursor[g_menu.depth - 1]];

    return menu_action(e->action, e->arg);
}

s32 menu_action(s32 action, s32 arg) {
    switch (action) {
        case 0:
            return menu_pop();
        case 1:
            return menu_push(arg);
        case 2:
            return inv_use(g_inv.cursor);
        case 3:
            g_menu.result = card_save(arg);
            put_str(card_error_text(g_menu.result));
            return g_menu.result == CARD_OK;
        case 4:
            map_light(FX_INT(g_pool.player->pos.x) >> 4, FX_INT(g_pool.player->pos.y) >> 4, 5);
            game_burn_oil(20);
            return TRUE;
        case 5:
            inv_sort();
            return TRUE;
        case 6:
            return shop_sell(g_inv.cursor) > 0;
        case 7:
            return shop_buy(arg, 1) > 0;
    }
    return FALSE;
}

void menu_update(void) {
    s32 dir;

    g_menu.blink++;
    if (g_menu.depth == 0) {
        return;
    }
    if (pad_pressed(0, PAD_CROSS)) {
        menu_select();
        return;
    }
    if (pad_pressed(0, PAD_CIRCLE)) {
        menu_pop();
        return;
    }
    dir = pad_dir(0);
    if (dir == 0) {
        g_menu.repeat = 0;
        return;
    }
    if (g_menu.repeat++ != 0 && g_menu.repeat < PAD_REPEAT_FIRST) {
        return;
    }
    if (g_menu.repeat >= PAD_REPEAT_FIRST) {
        g_menu.repeat -= PAD_REPEAT_NEXT;
    }
    if (dir == 1 || dir == 5) {
        menu_move(0, dir == 5 ? 1 : -1);
    } else if (dir == 3 || dir == 7) {
        menu_move(dir == 3 ? 1 : -1, 0);
    }
}

void menu_draw_frame(const Rect *r) {
    Rect inner;

    draw_color(180, 170, 120);
    draw_box(r, 3);
    inner.x = r->x + 2;
    inner.y = r->y + 2;
    inner.w = r->w - 4;
    inner.h = r->h - 4;
    draw_color(24, 20, 40);
    draw_box(&inner, 3);
}

void menu_draw(void) {
    s32 level;
    s32 i;
    s32 x;
    s32 y;
    s32 step;
    const char *s;
    const Menu *m;

    for (level = 0; level < g_menu.depth; level++) {
        m = g_menu.stack[level];
        menu_draw_frame(&m->frame);
        step = m->frame.w / m->columns;
        for (i = 0; i < m->count; i++) {
            x = m->frame.x + 12 + (i % m->columns) * step;
            y = m->frame.y + 8 + (i / m->columns) * 13;
            if (i == g_menu.cursor[level]) {
                draw_color(255, 240, 160);
                if (level == g_menu.depth - 1 && (g_menu.blink & 8)) {
                    draw_tile(x - 10, y, 0x3E, 2);
                }
            } else {
                draw_color(140, 140, 150);
            }
            for (s = m->entries[i].label; *s != '\0'; s++) {
                draw_tile(x, y, *s, 2);
                x += 8;
            }
        }
    }
}

s32 menu_is_open(void) {
    return g_menu.depth > 0;
}
