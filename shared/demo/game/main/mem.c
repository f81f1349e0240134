#include "common.h"

Arena g_arena;
u32 g_arena_pool[ARENA_SIZE / 4];

void arena_merge(void);
void mem_fill32(u32 *dst, u32 value, u32 words);

void *memcpy(void *dst, const void *src, u32 n) {
    u8 *d = dst;
    const u8 *s = src;

    while (n != 0) {
        *d++ = *s++;
        n--;
    }
    return dst;
}

void *memset(void *dst, s32 value, u32 n) {
    u8 *d = dst;

    while (n-- != 0) {
        *d++ = value;
    }
    return dst;
}

void mem_fill32(u32 *dst, u32 value, u32 words) {
    while (words >= 4) {
        dst[0] = value;
        dst[1] = value;
        dst[2] = value;
        dst[3] = value;
        dst += 4;
        words -= 4;
    }
    while (words > 0) {
        *dst++ = value;
        words--;
    }
}

void arena_init(void) {
    ArenaBlock *first = (ArenaBlock *)g_arena_pool;

    mem_fill32(g_arena_pool, 0, ARENA_SIZE / 4);
    first->magic = ARENA_MAGIC;
    first->used = 0;
    first->size = ARENA_SIZE - sizeof(ArenaBlock);
    first->next = NULL;
    g_arena.base = (u8 *)g_arena_pool;
    g_arena.size = ARENA_SIZE;
    g_arena.first = first;
    g_arena.live = 0;
    g_arena.peak = 0;
}

void *arena_alloc(u32 size) {
    ArenaBlock *b;
    ArenaBlock *rest;

    size = (size + 7) & ~7;
    for (b = g_arena.first; b != NULL; b = b->next) {
        if (b->used || b->size < size) {
            continue;
        }
        if (b->size >= size + sizeof(ArenaBlock) + 16) {
            rest = (ArenaBlock *)((u8 *)(b + 1) + size);
            rest->magic = ARENA_MAGIC;
            rest->used = 0;
            rest->size = b->size - size - sizeof(ArenaBlock);
            rest->next = b->next;
            b->next = rest;
            b->size = size;
        }
        b->used = 1;
        g_arena.live++;
        if (g_arena.live > g_arena.peak) {
            g_arena.peak = g_arena.live;
        }
        return b + 1;
    }
    g_boot.errors++;
    return NULL;
}

void arena_free(void *ptr) {
    ArenaBlock *b;

    if (ptr == NULL) {
        return;
    }
    b = (ArenaBlock *)ptr - 1;
    if (b->magic != ARENA_MAGIC || !b->used) {
        g_boot.errors++;
        return;
    }
    b->used = 0;
    g_arena.live--;
    arena_merge();
}

void arena_merge(void) {
    ArenaBlock *b = g_arena.first;
    ArenaBlock *next;

    while (b != NULL) {
        next = b->next;
        if (next != NULL && !b->used && !next->used) {
            b->size += next->size + sizeof(ArenaBlock);
            b->next = next->next;
            next->magic = 0;
        } else {
            b = next;
        }
    }
}
