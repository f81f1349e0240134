#ifndef TYPES_H
#define TYPES_H

typedef signed char s8;
typedef unsigned char u8;
typedef signed short s16;
typedef unsigned short u16;
typedef signed int s32;
typedef unsigned int u32;
typedef signed long long s64;

#define NULL ((void *)0)
#define FALSE 0
#define TRUE 1
#define PACKED __attribute__((packed))

#endif
