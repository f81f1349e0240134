#include "common.h"

Inventory g_inv;

const ItemInfo g_items[ITEM_KINDS] = {
    { "-", 0, 0, 0 },
    { "Lamp oil", 12, 30, 0 },
    { "Bread", 5, 20, 8 },
    { "Tonic", 25, 10, 30 },
    { "Iron key", 0, 5, 0 },
    { "Mirror", 140, 1, 0 },
    { "Grey cloak", 90, 1, 3 },
    { "Short blade", 110, 1, 5 },
    { "Hand bell", 60, 1, 0 },
    { "Old map", 30, 1, 0 },
};

void inv_compact(void);
s32 inv_find(s32 id);

void inv_clear(void) {
    s32 i;

    for (i = 0; i < ITEM_SLOTS; i++) {
        g_inv.slots[i].id = ITEM_NONE;
        g_inv.slots[i].count = 0;
    }
    g_inv.used = 0;
    g_inv.equipped = ITEM_NONE;
    g_inv.cursor = 0;
    g_inv.dirty = 1;
    g_inv.spent = 0;
}

s32 inv_find(s32 id) {
    s32 i;

    for (i = 0; i < g_inv.used; i++) {
        if (g_inv.slots[i].id == id) {
            return i;
        }
    }
    return -1;
}

s32 inv_count(s32 id) {
    s32 slot = inv_find(id);

    return slot < 0 ? 0 : g_inv.slots[slot].count;
}

s32 inv_add(s32 id, s32 count) {
    s32 slot = inv_find(id);
    s32 room;

    if (slot < 0) {
        if (g_inv.used >= ITEM_SLOTS) {
            return 0;
        }
        slot = g_inv.used++;
        g_inv.slots[slot].id = id;
        g_inv.slots[slot].count = 0;
    }
    room = g_items[id].stack - g_inv.slots[slot].count;
    if (count > room) {
        count = room;
    }
    g_inv.slots[slot].count += count;
    g_inv.dirty = 1;
    return count;
}

s32 inv_remove(s32 id, s32 count) {
    s32 slot = inv_find(id);

    if (slot < 0 || g_inv.slots[slot].count < count) {
        return FALSE;
    }
    g_inv.slots[slot].count -= count;
    if (g_inv.slots[slot].count == 0) {
        if (g_inv.equipped == id) {
            g_inv.equipped = ITEM_NONE;
        }
        inv_compact();
    }
    g_inv.dirty = 1;
    return TRUE;
}

void inv_compact(void) {
    s32 from;
    s32 to = 0;

    for (from = 0; from < g_inv.used; from++) {
        if (g_inv.slots[from].count != 0) {
            g_inv.slots[to++] = g_inv.slots[from];
        }
    }
    g_inv.used = to;
    if (g_inv.cursor >= to) {
        g_inv.cursor = to > 0 ? to - 1 : 0;
    }
}

void inv_sort(void) {
    s32 i;
    s32 j;
    u8 keep;

    for (i = 0; i < g_inv.used; i++) {
        for (j = 0; j < g_inv.used - 1 - i; j++) {
            if (g_inv.slots[j].id > g_inv.slots[j + 1].id) {
                keep = g_inv.slots[j].id;
                g_inv.slots[j].id = g_inv.slots[j + 1].id;
                g_inv.slots[j + 1].id = keep;
                keep = g_inv.slots[j].count;
                g_inv.slots[j].count = g_inv.slots[j + 1].count;
                g_inv.slots[j + 1].count = keep;
            }
        }
    }
    g_inv.dirty = 1;
}

s32 heal_small(s32 extra) {
    s32 hp = g_game.hp + 8 + extra;

    if (hp > g_game.hp_max) {
        hp = g_game.hp_max;
    }
    g_game.hp = hp;
    return hp;
}

s32 heal_big(s32 extra) {
    s32 hp = g_game.hp + 30 + extra;

    if (hp > g_game.hp_max) {
        hp = g_game.hp_max;
    }
    g_game.hp = hp;
    return hp;
}

s32 inv_use(s32 slot) {
    s32 id;

    if (slot < 0 || slot >= g_inv.used) {
        return FALSE;
    }
    id = g_inv.slots[slot].id;
    switch (id) {
        case ITEM_OIL:
            if (g_game.oil == g_game.oil_max) {
                return FALSE;
            }
            g_game.oil = g_game.oil_max;
            break;
        case ITEM_BREAD:
            heal_small(g_game.level);
            break;
        case ITEM_TONIC:
            heal_big(g_game.level * 2);
            break;
        case ITEM_CLOAK:
        case ITEM_BLADE:
            g_inv.equipped = id;
            return TRUE;
        case ITEM_BELL:
            snd_effect(11);
            part_ring(g_pool.player->pos.x, g_pool.player->pos.y, 2);
            return TRUE;
        case ITEM_MAP:
            text_set_var(0, g_game.map_id);
            return TRUE;
        default:
            return FALSE;
    }
    return inv_remove(id, 1);
}

s32 item_price(s32 id, s32 count) {
    s32 price = g_items[id].price * count;

    if (count >= 10) {
        price -= price / 10;
    }
    return price;
}

const char *item_name(s32 id) {
    if (id <= ITEM_NONE || id >= ITEM_KINDS) {
        return "???";
    }
    return g_items[id].name;
}

s32 shop_buy(s32 id, s32 count) {
    s32 price = item_price(id, count);
    s32 got;

    if (price > g_game.gold) {
        text_failed();
        return 0;
    }
    got = inv_add(id, count);
    if (got > 0) {
        game_add_gold(-item_price(id, got));
        g_inv.spent += item_price(id, got);
        snd_effect(2);
        text_ok();
    }
    return got;
}

s32 shop_sell(s32 slot) {
    s32 id = g_inv.slots[slot].id;
    s32 price = g_items[id].price / 2;

    if (price == 0 || !inv_remove(id, 1)) {
        text_failed();
        return 0;
    }
    game_add_gold(price);
    text_ok();
    return price;
}
