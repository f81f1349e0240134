#ifndef TOWN_H
#define TOWN_H

#include "types.h"

#define FOLK_MAX 6
#define STOCK_MAX 8
#define LAMP_MAX 12

typedef struct Folk {
    u8 id;
    u8 mood;
    u8 place;
    u8 goal;
    s16 x;
    s16 y;
    s16 talk_count;
    s16 wait;
    const u8 *line;
} Folk;

typedef struct Stock {
    u8 id;
    u8 count;
    u16 price;
    s16 demand;
} Stock;

/* Small variables: this overlay is built with -G8. */
extern s32 town_hour;
extern s16 town_rain;
extern s32 town_debt;

extern Folk g_folk[FOLK_MAX];
extern Stock g_stock[STOCK_MAX];

void folk_reset(void);
void folk_step(void);
s32 folk_talk(s32 id);
void stock_reset(void);
s32 stock_buy(s32 slot, s32 count);

#endif
