#include "common.h"

Card g_card;

u16 card_sum(const SaveBlock *b);
void card_set_gold(SaveBlock *b, s32 gold);
u32 card_seconds(const SaveBlock *b);

void card_format(void) {
    s32 slot;

    for (slot = 0; slot < CARD_SLOTS; slot++) {
        memset(g_card.blocks[slot], 0, CARD_BLOCK);
    }
    g_card.present = 1;
    g_card.writes = 0;
    g_card.last_error = CARD_OK;
}

u16 card_sum(const SaveBlock *b) {
    return checksum16((const u8 *)b, sizeof(SaveBlock) - sizeof(u16));
}

s32 card_check(const SaveBlock *b) {
    if (b->magic != CARD_MAGIC) {
        return CARD_EMPTY;
    }
    if (b->version != 2) {
        return CARD_BAD_VERSION;
    }
    if (b->sum != card_sum(b)) {
        return CARD_BAD_SUM;
    }
    return CARD_OK;
}

s32 card_save(s32 slot) {
    static u8 serial;
    SaveBlock *b = (SaveBlock *)g_card.blocks[slot];
    s32 i;

    b->magic = CARD_MAGIC;
    b->version = 2;
    b->seconds = g_game.seconds;
    str_copy_n(b->name, g_player_name, sizeof(b->name));
    b->hp = g_game.hp;
    b->hp_max = g_game.hp_max;
    b->level = g_game.level;
    b->gold = g_game.gold;
    b->map_id = g_game.map_id;
    for (i = 0; i < ITEM_SLOTS; i++) {
        b->items[i * 2] = i < g_inv.used ? g_inv.slots[i].id : 0;
        b->items[i * 2 + 1] = i < g_inv.used ? g_inv.slots[i].count : 0;
    }
    for (i = 0; i < 32; i++) {
        b->flags[i] = g_game.flags[i];
    }
    b->sum = card_sum(b);
    serial++;
    g_card.writes = serial;
    return CARD_OK;
}

s32 card_load(s32 slot) {
    const SaveBlock *b = (const SaveBlock *)g_card.blocks[slot];
    s32 i;

    g_card.last_error = card_check(b);
    if (g_card.last_error != CARD_OK) {
        return g_card.last_error;
    }
    g_game.seconds = b->seconds;
    g_game.hp = b->hp;
    g_game.hp_max = b->hp_max;
    g_game.level = b->level;
    g_game.gold = b->gold;
    g_game.map_id = b->map_id;
    str_copy_n(g_player_name, b->name, sizeof(b->name));
    inv_clear();
    for (i = 0; i < ITEM_SLOTS; i++) {
        if (b->items[i * 2] != ITEM_NONE) {
            inv_add(b->items[i * 2], b->items[i * 2 + 1]);
        }
    }
    for (i = 0; i < 32; i++) {
        g_game.flags[i] = b->flags[i];
    }
    return CARD_OK;
}

u32 card_seconds(const SaveBlock *b) {
    return b->seconds;
}

void card_set_gold(SaveBlock *b, s32 gold) {
    b->gold = gold;
    b->sum = card_sum(b);
}

s32 card_find_free(void) {
    s32 slot;

    for (slot = 0; slot < CARD_SLOTS; slot++) {
        if (card_check((const SaveBlock *)g_card.blocks[slot]) != CARD_OK) {
            return slot;
        }
    }
    return -1;
}

s32 card_summary(s32 slot, char *out) {
    const SaveBlock *b = (const SaveBlock *)g_card.blocks[slot];
    char name[12];
    s32 args[4];

    if (card_check(b) != CARD_OK) {
        str_copy(out, "- empty -");
        return FALSE;
    }
    str_copy_n(name, b->name, sizeof(b->name));
    args[0] = (s32)name;
    args[1] = b->level;
    args[2] = card_seconds(b) / 3600;
    args[3] = card_seconds(b) / 60 % 60;
    str_format(out, "%10s Lv%d %d:%d", args);
    return TRUE;
}

const char *card_error_text(s32 code) {
    switch (code) {
        case CARD_OK:
            return "saved";
        case CARD_EMPTY:
            return "no data";
        case CARD_BAD_SUM:
            return "data is damaged";
        case CARD_BAD_VERSION:
            return "wrong version";
        case CARD_FULL:
            return "card is full";
    }
    return "card error";
}
