#include "common.h"
#include "cave.h"

u8 g_crystals[CRYSTAL_H][CRYSTAL_W];
u8 g_crystal_goal[4] = { 3, 5, 2, 6 };
s8 g_crystal_dx[4] = { 1, 0, -1, 0 };
s8 g_crystal_dy[4] = { 0, 1, 0, -1 };

void crystal_seed(u32 seed);
s32 crystal_neighbours(s32 x, s32 y);
s32 crystal_step(void);
s32 crystal_row_sum(s32 y);
s32 crystal_solved(void);
void crystal_touch(s32 x, s32 y);
void crystal_draw(s32 x, s32 y);

void crystal_seed(u32 seed) {
    s32 x;
    s32 y;

    for (y = 0; y < CRYSTAL_H; y++) {
        for (x = 0; x < CRYSTAL_W; x++) {
            g_crystals[y][x] = (rng_xorshift(&seed) & 7) == 0;
        }
    }
}

s32 crystal_neighbours(s32 x, s32 y) {
    s32 n = 0;
    s32 dx;
    s32 dy;

    for (dy = -1; dy <= 1; dy++) {
        for (dx = -1; dx <= 1; dx++) {
            if (dx == 0 && dy == 0) {
                continue;
            }
            n += g_crystals[(y + dy + CRYSTAL_H) % CRYSTAL_H][(x + dx) & (CRYSTAL_W - 1)] != 0;
        }
    }
    return n;
}

s32 crystal_step(void) {
    u8 next[CRYSTAL_H][CRYSTAL_W];
    s32 x;
    s32 y;
    s32 n;
    s32 changed = 0;

    for (y = 0; y < CRYSTAL_H; y++) {
        for (x = 0; x < CRYSTAL_W; x++) {
            n = crystal_neighbours(x, y);
            next[y][x] = g_crystals[y][x];
            if (g_crystals[y][x] != 0) {
                if (n < 2 || n > 4) {
                    next[y][x] = 0;
                } else if (g_crystals[y][x] < 7) {
                    next[y][x]++;
                }
            } else if (n == 3) {
                next[y][x] = 1;
            }
        }
    }
    for (y = 0; y < CRYSTAL_H; y++) {
        for (x = 0; x < CRYSTAL_W; x++) {
            if (g_crystals[y][x] != next[y][x]) {
                g_crystals[y][x] = next[y][x];
                changed++;
            }
        }
    }
    return changed;
}

s32 crystal_row_sum(s32 y) {
    s32 sum = 0;
    s32 x;

    for (x = 0; x < CRYSTAL_W; x++) {
        sum += g_crystals[y][x];
    }
    return sum & 7;
}

s32 crystal_solved(void) {
    s32 i;

    for (i = 0; i < 4; i++) {
        if (crystal_row_sum(i * 3) != g_crystal_goal[i]) {
            return FALSE;
        }
    }
    return TRUE;
}

void crystal_touch(s32 x, s32 y) {
    s32 dir;
    s32 tx;
    s32 ty;
    s32 reach;
    s32 power = g_crystals[y][x];

    if (power == 0) {
        g_crystals[y][x] = 1;
        return;
    }
    g_crystals[y][x] ^= 1;
    g_cave.steps += power;
    for (dir = 0; dir < 4; dir++) {
        tx = x;
        ty = y;
        for (reach = power; reach > 0; reach--) {
            tx += g_crystal_dx[dir];
            ty += g_crystal_dy[dir];
            if (tx < 0 || ty < 0 || tx >= CRYSTAL_W || ty >= CRYSTAL_H) {
                break;
            }
            if (g_crystals[ty][tx] > 0) {
                g_crystals[ty][tx]--;
                spark_gold(FX(tx * 8), FX(ty * 8));
            } else {
                g_crystals[ty][tx] = reach;
                break;
            }
        }
    }
}

void crystal_draw(s32 x, s32 y) {
    Rect r;
    s32 i;
    s32 j;
    s32 c;

    r.w = 6;
    r.h = 6;
    for (j = 0; j < CRYSTAL_H; j++) {
        for (i = 0; i < CRYSTAL_W; i++) {
            c = g_crystals[j][i];
            if (c == 0) {
                continue;
            }
            r.x = x + i * 7;
            r.y = y + j * 7;
            draw_color(40 + c * 20, 60 + c * 10, 200);
            draw_box(&r, 1);
        }
    }
    for (j = 0; j < 4; j++) {
        draw_number(x + CRYSTAL_W * 7 + 4, y + j * 21, g_crystal_goal[j]);
    }
}
