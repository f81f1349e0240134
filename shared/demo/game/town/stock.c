#include "common.h"
#include "town.h"

Stock g_stock[STOCK_MAX];
s32 town_debt;
s32 stock_sold;
s8 stock_temper = 3;
u8 stock_kinds[STOCK_MAX] = { 1, 2, 3, 5, 6, 7, 8, 9 };

s32 stock_price(const Stock *s, s32 count);
void stock_drift(void);
s32 stock_sell(s32 id, s32 count);
s32 stock_haggle(s32 slot, s32 offer);
void sign_glyph(u8 glyph, s32 x, s32 y);
void sign_write(s32 x, s32 y, const char *s);

void stock_reset(void) {
    s32 i;

    for (i = 0; i < STOCK_MAX; i++) {
        g_stock[i].id = stock_kinds[i];
        g_stock[i].count = rng_range(1, 6);
        g_stock[i].price = g_items[stock_kinds[i]].price;
        g_stock[i].demand = 0;
    }
    stock_sold = 0;
}

s32 stock_price(const Stock *s, s32 count) {
    s32 price = s->price * count;

    price += price * s->demand / 64;
    if (town_rain > 0 && s->id == ITEM_OIL) {
        price += price / 4;
    }
    if (count > 4) {
        price -= price / 16;
    }
    return price < 1 ? 1 : price;
}

s32 stock_buy(s32 slot, s32 count) {
    Stock *s = &g_stock[slot];
    s32 price;
    s32 got;

    if (count > s->count) {
        count = s->count;
    }
    if (count == 0) {
        put_str("Sold out.\n");
        return 0;
    }
    price = stock_price(s, count);
    if (price > g_game.gold) {
        if (price - g_game.gold > 40 || town_debt > 60) {
            put_str("No more credit.\n");
            return 0;
        }
        town_debt += price - g_game.gold;
        price = g_game.gold;
        put_str("I will write it down.\n");
    }
    got = inv_add(s->id, count);
    s->count -= got;
    s->demand += got * 2;
    stock_sold += got;
    game_add_gold(-price);
    return got;
}

s32 stock_sell(s32 id, s32 count) {
    s32 i;
    s32 pay;

    for (i = 0; i < STOCK_MAX; i++) {
        if (g_stock[i].id == id) {
            break;
        }
    }
    if (i == STOCK_MAX || !inv_remove(id, count)) {
        return 0;
    }
    pay = stock_price(&g_stock[i], count) / 2;
    g_stock[i].count += count;
    g_stock[i].demand -= count;
    if (town_debt > 0) {
        if (town_debt >= pay) {
            town_debt -= pay;
            return 0;
        }
        pay -= town_debt;
        town_debt = 0;
    }
    game_add_gold(pay);
    return pay;
}

s32 stock_haggle(s32 slot, s32 offer) {
    Stock *s = &g_stock[slot];
    s32 ask = stock_price(s, 1);
    s32 gap = ask - offer;

    if (gap <= 0) {
        return ask;
    }
    if (gap * 4 > ask || stock_temper <= 0) {
        stock_temper--;
        if (stock_temper < -3) {
            s->price += s->price / 8;
            stock_temper = 3;
        }
        return -1;
    }
    if (rng_percent(50 + stock_temper * 5 - gap)) {
        s->price = (ask + offer) / 2;
        stock_temper++;
        return s->price;
    }
    return 0;
}

void stock_drift(void) {
    s32 i;
    s32 base;

    for (i = 0; i < STOCK_MAX; i++) {
        Stock *s = &g_stock[i];

        base = g_items[s->id].price;
        if (s->price > base) {
            s->price -= (s->price - base + 3) / 4;
        } else if (s->price < base) {
            s->price += (base - s->price + 3) / 4;
        }
        s->demand = s->demand * 3 / 4;
        if (s->count < 6 && rng_percent(40)) {
            s->count++;
        }
    }
    stock_sold = 0;
    if (town_debt > 0) {
        town_debt += 1 + town_debt / 32;
    }
}

void sign_glyph(u8 glyph, s32 x, s32 y) {
    if (glyph >= 'a' && glyph <= 'z') {
        glyph -= 32;
    }
    draw_tile(x, y, glyph, 2);
    draw_tile(x + 1, y + 1, glyph, 3);
}

void sign_write(s32 x, s32 y, const char *s) {
    s32 start = x;

    for (; *s != '\0'; s++) {
        if (*s == '/') {
            x = start;
            y += 10;
            continue;
        }
        sign_glyph(*s + town_rain, x, y);
        x += *s == 'I' ? 5 : 8;
    }
}
