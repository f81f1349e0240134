#ifndef TILE_H
#define TILE_H

#include "types.h"

#define MAP_W 32
#define MAP_H 24
#define TILE_SIZE 16

#define TILE_SOLID 0x01
#define TILE_WATER 0x02
#define TILE_HURT 0x04
#define TILE_DOOR 0x08
#define TILE_LIGHT 0x10

typedef struct TileMap {
    u8 cells[MAP_H][MAP_W];
    u8 light[MAP_H][MAP_W];
    s32 width;
    s32 height;
    s16 scroll_x;
    s16 scroll_y;
} TileMap;

extern TileMap g_map;
extern const u8 g_tile_flags[64];

void map_clear(s32 width, s32 height);
s32 map_get(s32 x, s32 y);
void map_set(s32 x, s32 y, u8 tile);
s32 map_flags_at(s32 px, s32 py);
s32 map_solid_box(const Rect *r);
void map_fill(const Rect *r, u8 tile);
void map_scroll_to(s32 px, s32 py);
void map_draw(void);
void map_light(s32 cx, s32 cy, s32 radius);
void map_darken(void);
s32 map_line_clear(s32 x0, s32 y0, s32 x1, s32 y1);
void map_load(const u8 *packed);

#endif
