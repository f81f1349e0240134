#ifndef ITEM_H
#define ITEM_H

#include "types.h"

#define ITEM_SLOTS 24
#define ITEM_STACK_MAX 99

#define ITEM_NONE 0
#define ITEM_OIL 1
#define ITEM_BREAD 2
#define ITEM_TONIC 3
#define ITEM_KEY 4
#define ITEM_MIRROR 5
#define ITEM_CLOAK 6
#define ITEM_BLADE 7
#define ITEM_BELL 8
#define ITEM_MAP 9
#define ITEM_KINDS 10

typedef struct ItemSlot {
    u8 id;
    u8 count;
} ItemSlot;

typedef struct ItemInfo {
    const char *name;
    u16 price;
    u8 stack;
    u8 power;
} ItemInfo;

typedef struct Inventory {
    ItemSlot slots[ITEM_SLOTS];
    u8 used;
    u8 equipped;
    u8 cursor;
    u8 dirty;
    s32 spent;
} Inventory;

extern Inventory g_inv;
extern const ItemInfo g_items[ITEM_KINDS];

void inv_clear(void);
s32 inv_count(s32 id);
s32 inv_add(s32 id, s32 count);
s32 inv_remove(s32 id, s32 count);
void inv_sort(void);
s32 inv_use(s32 slot);
s32 item_price(s32 id, s32 count);
const char *item_name(s32 id);
s32 heal_small(s32 extra);
s32 heal_big(s32 extra);
s32 shop_buy(s32 id, s32 count);
s32 shop_sell(s32 slot);

#endif
