#ifndef STR_H
#define STR_H

#include "types.h"

extern const u8 g_char_class[128];

#define CHAR_DIGIT 1
#define CHAR_LOWER 2
#define CHAR_UPPER 4
#define CHAR_SPACE 8
#define CHAR_PUNCT 16

s32 str_length(const char *s);
char *str_copy(char *dst, const char *src);
char *str_copy_n(char *dst, const char *src, s32 n);
s32 str_compare(const char *a, const char *b);
s32 str_to_int(const char *s);
s32 str_from_int(char *dst, s32 value);
s32 str_from_hex(char *dst, u32 value, s32 digits);
s32 str_format(char *dst, const char *fmt, const s32 *args);
s32 char_is(s32 c, s32 mask);
u32 str_hash(const char *s);

#endif
