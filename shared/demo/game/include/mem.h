#ifndef MEM_H
#define MEM_H

#include "types.h"

#define ARENA_SIZE 0x1000
#define ARENA_MAGIC 0x4B4C

typedef struct ArenaBlock {
    u16 magic;
    u16 used;
    u32 size;
    struct ArenaBlock *next;
} ArenaBlock;

typedef struct Arena {
    u8 *base;
    u32 size;
    ArenaBlock *first;
    s32 live;
    s32 peak;
} Arena;

extern Arena g_arena;
extern u32 g_arena_pool[ARENA_SIZE / 4];

void *memcpy(void *dst, const void *src, u32 n);
void *memset(void *dst, s32 value, u32 n);
void arena_init(void);
void *arena_alloc(u32 size);
void arena_free(void *ptr);

#endif
