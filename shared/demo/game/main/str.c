#include "common.h"

const u8 g_char_class[128] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  8,  8,  0,  0,  8,  0,  0,  0,  0,  0,  0,  0,  0,
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  8,  16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  16, 16, 16, 16, 16, 16, 16, 4,
    4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,
    4,  4,  4,  16, 16, 16, 16, 16, 16, 2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
    2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  16, 16, 16, 16, 0,
};

void str_reverse(char *s, s32 n);

s32 str_length(const char *s) {
    s32 n = 0;

    while (s[n] != '\0') {
        n++;
    }
    return n;
}

char *str_copy(char *dst, const char *src) {
    char *d = dst;

    while ((*d++ = *src++) != '\0') {
    }
    return dst;
}

char *str_copy_n(char *dst, const char *src, s32 n) {
    s32 i;

    for (i = 0; i < n - 1 && src[i] != '\0'; i++) {
        dst[i] = src[i];
    }
    for (; i < n; i++) {
        dst[i] = '\0';
    }
    return dst;
}

s32 str_compare(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (u8)*a - (u8)*b;
}

s32 char_is(s32 c, s32 mask) {
    if (c < 0 || c > 127) {
        return 0;
    }
    return (g_char_class[c] & mask) != 0;
}

void str_reverse(char *s, s32 n) {
    char *end = s + n - 1;
    char keep;

    while (s < end) {
        keep = *s;
        *s++ = *end;
        *end-- = keep;
    }
}

s32 str_to_int(const char *s) {
    s32 value = 0;
    s32 negative = 0;

    while (char_is(*s, CHAR_SPACE)) {
        s++;
    }
    if (*s == '-') {
        negative = 1;
        s++;
    } else if (*s == '+') {
        s++;
    }
    while (*s >= '0' && *s <= '9') {
        value = value * 10 + (*s - '0');
        s++;
    }
    return negative ? -value : value;
}

s32 str_from_int(char *dst, s32 value) {
    u32 rest = value < 0 ? -(u32)value : (u32)value;
    s32 n = 0;

    do {
        dst[n++] = '0' + rest % 10;
        rest /= 10;
    } while (rest != 0);
    if (value < 0) {
        dst[n++] = '-';
    }
    str_reverse(dst, n);
    dst[n] = '\0';
    return n;
}

s32 str_from_hex(char *dst, u32 value, s32 digits) {
    s32 i;
    u32 nibble;

    for (i = digits - 1; i >= 0; i--) {
        nibble = value & 15;
        dst[i] = nibble < 10 ? '0' + nibble : 'A' + nibble - 10;
        value >>= 4;
    }
    dst[digits] = '\0';
    return digits;
}

s32 str_format(char *dst, const char *fmt, const s32 *args) {
    char *d = dst;
    const char *s;
    s32 width;

    for (; *fmt != '\0'; fmt++) {
        if (*fmt != '%') {
            *d++ = *fmt;
            continue;
        }
        fmt++;
        width = 0;
        while (*fmt >= '0' && *fmt <= '9') {
            width = width * 10 + (*fmt++ - '0');
        }
        switch (*fmt) {
            case 'd':
                d += str_from_int(d, *args++);
                break;
            case 'x':
                d += str_from_hex(d, *args++, width ? width : 8);
                break;
            case 'c':
                *d++ = *args++;
                break;
            case 's':
                s = (const char *)*args++;
                while (*s != '\0') {
                    *d++ = *s++;
                    width--;
                }
                while (width-- > 0) {
                    *d++ = ' ';
                }
                break;
            case '\0':
                fmt--;
                break;
            default:
                *d++ = *fmt;
                break;
        }
    }
    *d = '\0';
    return d - dst;
}

u32 str_hash(const char *s) {
    u32 h = 0x811C9DC5;

    while (*s != '\0') {
        h ^= (u8)*s++;
        h *= 0x01000193;
    }
    return h;
}
