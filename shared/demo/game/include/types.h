#ifndef TYPES_H
#define TYPES_H

typedef signed char s8;
typedef unsigned char u8;
typedef signed short s16;
typedef unsigned short u16;
typedef signed int s32;
typedef unsigned int u32;
typedef signed long long s64;
typedef unsigned long long u64;

#define NULL ((void *)0)
#define FALSE 0
#define TRUE 1

#define ARRAY_COUNT(a) ((s32)(sizeof(a) / sizeof((a)[0])))
#define PACKED __attribute__((packed))

/* A point or size on the screen, in pixels. */
typedef struct Point {
    s16 x;
    s16 y;
} Point;

/* A rectangle on the screen or on the map, in pixels. */
typedef struct Rect {
    s16 x;
    s16 y;
    s16 w;
    s16 h;
} Rect;

/* A world position or velocity, 20.12 fixed point. */
typedef struct Vec3 {
    s32 x;
    s32 y;
    s32 z;
} Vec3;

/* A model vertex or an Euler angle set. */
typedef struct SVec3 {
    s16 x;
    s16 y;
    s16 z;
    s16 pad;
} SVec3;

#endif
