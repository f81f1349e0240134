#include "common.h"

TileMap g_map;

const u8 g_tile_flags[64] = {
    0, 1, 1, 1, 0, 0, 2, 2, 4, 4, 8, 8, 16, 16, 17, 1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 6, 6, 0, 0, 0, 0,
    1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 16, 16, 0, 0, 8, 8, 4, 4, 4, 5, 0, 0, 0, 0, 1, 1, 17, 17, 0, 0, 0, 0,
};

s32 map_flood(s32 x, s32 y, u8 tile);

void map_clear(s32 width, s32 height) {
    s32 x;
    s32 y;

    for (y = 0; y < MAP_H; y++) {
        for (x = 0; x < MAP_W; x++) {
            g_map.cells[y][x] = 0;
            g_map.light[y][x] = 4;
        }
    }
    g_map.width = width;
    g_map.height = height;
    g_map.scroll_x = 0;
    g_map.scroll_y = 0;
}

s32 map_get(s32 x, s32 y) {
    if (x < 0 || y < 0 || x >= g_map.width || y >= g_map.height) {
        return 1;
    }
    return g_map.cells[y][x];
}

void map_set(s32 x, s32 y, u8 tile) {
    if (x >= 0 && y >= 0 && x < g_map.width && y < g_map.height) {
        g_map.cells[y][x] = tile;
    }
}

s32 map_flags_at(s32 px, s32 py) {
    return g_tile_flags[map_get(px >> 4, py >> 4) & 63];
}

s32 map_solid_box(const Rect *r) {
    s32 x;
    s32 y;
    s32 x1 = (r->x + r->w - 1) >> 4;
    s32 y1 = (r->y + r->h - 1) >> 4;

    for (y = r->y >> 4; y <= y1; y++) {
        for (x = r->x >> 4; x <= x1; x++) {
            if (g_tile_flags[map_get(x, y) & 63] & TILE_SOLID) {
                return TRUE;
            }
        }
    }
    return FALSE;
}

void map_fill(const Rect *r, u8 tile) {
    s32 x;
    s32 y;

    for (y = r->y; y < r->y + r->h; y++) {
        for (x = r->x; x < r->x + r->w; x++) {
            map_set(x, y, tile);
        }
    }
}

s32 map_flood(s32 x, s32 y, u8 tile) {
    u8 stack[128];
    s32 top = 0;
    s32 changed = 0;
    s32 from = map_get(x, y);

    if (x < 0 || y < 0 || x >= g_map.width || y >= g_map.height) {
        return -1;
    }
    if (from == tile) {
        return 0;
    }
    stack[top++] = x;
    stack[top++] = y;
    while (top > 0) {
        y = stack[--top];
        x = stack[--top];
        if (map_get(x, y) != from) {
            continue;
        }
        map_set(x, y, tile);
        changed++;
        if (top + 8 > ARRAY_COUNT(stack)) {
            g_boot.errors++;
            break;
        }
        if (x > 0) {
            stack[top++] = x - 1;
            stack[top++] = y;
        }
        if (x + 1 < g_map.width) {
            stack[top++] = x + 1;
            stack[top++] = y;
        }
        if (y > 0) {
            stack[top++] = x;
            stack[top++] = y - 1;
        }
        if (y + 1 < g_map.height) {
            stack[top++] = x;
            stack[top++] = y + 1;
        }
    }
    return changed;
}

void map_scroll_to(s32 px, s32 py) {
    s32 max_x = g_map.width * TILE_SIZE - 320;
    s32 max_y = g_map.height * TILE_SIZE - 240;

    g_map.scroll_x = fx_clamp(px - 160, 0, max_x);
    g_map.scroll_y = fx_clamp(py - 120, 0, max_y);
}

void map_draw(void) {
    s32 x;
    s32 y;
    s32 shade;
    s32 tx = g_map.scroll_x >> 4;
    s32 ty = g_map.scroll_y >> 4;

    for (y = 0; y < 16; y++) {
        for (x = 0; x < 21; x++) {
            s32 tile = map_get(tx + x, ty + y);

            if (tile == 0) {
                continue;
            }
            shade = 16;
            if (tx + x < MAP_W && ty + y < MAP_H) {
                shade = g_map.light[ty + y][tx + x] * 12;
            }
            draw_color(shade, shade, shade + 16);
            draw_tile(x * TILE_SIZE - (g_map.scroll_x & 15), y * TILE_SIZE - (g_map.scroll_y & 15), tile, OT_SIZE - 1);
        }
    }
}

void map_light(s32 cx, s32 cy, s32 radius) {
    s32 x;
    s32 y;
    s32 dist;
    s32 level;

    for (y = cy - radius; y <= cy + radius; y++) {
        for (x = cx - radius; x <= cx + radius; x++) {
            if (x < 0 || y < 0 || x >= MAP_W || y >= MAP_H) {
                continue;
            }
            dist = (x - cx) * (x - cx) + (y - cy) * (y - cy);
            if (dist > radius * radius) {
                continue;
            }
            level = 16 - (dist * 12) / (radius * radius + 1);
            if (level > g_map.light[y][x]) {
                g_map.light[y][x] = level;
            }
        }
    }
}

void map_darken(void) {
    s32 i;
    u8 *p = &g_map.light[0][0];

    for (i = 0; i < MAP_W * MAP_H; i++) {
        if (p[i] > 1) {
            p[i]--;
        }
    }
}

s32 map_line_clear(s32 x0, s32 y0, s32 x1, s32 y1) {
    s32 dx = x1 - x0;
    s32 dy = y1 - y0;
    s32 steps = fx_abs(dx) > fx_abs(dy) ? fx_abs(dx) : fx_abs(dy);
    s32 i;
    s32 tile;

    for (i = 1; i < steps; i++) {
        tile = map_get(x0 + dx * i / steps, y0 + dy * i / steps);
        if (g_tile_flags[tile & 63] & TILE_SOLID) {
            return FALSE;
        }
    }
    return TRUE;
}

void map_load(const u8 *packed) {
    s32 width = packed[0];
    s32 height = packed[1];
    s32 y;
    u8 *tmp;

    map_clear(width, height);
    tmp = arena_alloc(width * height);
    if (tmp == NULL) {
        return;
    }
    lz_unpack(tmp, packed + 2, width * height);
    for (y = 0; y < height; y++) {
        memcpy(g_map.cells[y], tmp + y * width, width);
    }
    arena_free(tmp);
}
