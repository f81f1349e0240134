#ifndef CARD_H
#define CARD_H

#include "types.h"

#define CARD_SLOTS 3
#define CARD_BLOCK 128
#define CARD_MAGIC 0x4C4B

#define CARD_OK 0
#define CARD_EMPTY 1
#define CARD_BAD_SUM 2
#define CARD_BAD_VERSION 3
#define CARD_FULL 4

/* The save block as it lies on the card: no padding, odd offsets. */
typedef struct PACKED SaveBlock {
    u16 magic;
    u8 version;
    u32 seconds;
    char name[11];
    s16 hp;
    s16 hp_max;
    u8 level;
    s32 gold;
    u8 map_id;
    u8 items[48];
    u8 flags[32];
    u16 sum;
} SaveBlock;

typedef struct Card {
    u8 blocks[CARD_SLOTS][CARD_BLOCK];
    s32 present;
    s32 writes;
    s32 last_error;
} Card;

extern Card g_card;

void card_format(void);
s32 card_check(const SaveBlock *b);
s32 card_save(s32 slot);
s32 card_load(s32 slot);
s32 card_find_free(void);
s32 card_summary(s32 slot, char *out);
const char *card_error_text(s32 code);

#endif
