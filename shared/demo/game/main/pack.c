#include "common.h"

s32 lz_match(const u8 *src, s32 pos, s32 n, s32 *dist);

s32 rle_pack(u8 *dst, const u8 *src, s32 n) {
    s32 in = 0;
    s32 out = 0;
    s32 run;
    s32 lit;

    while (in < n) {
        run = 1;
        while (in + run < n && run < 127 && src[in + run] == src[in]) {
            run++;
        }
        if (run >= 3) {
            dst[out++] = 0x80 | run;
            dst[out++] = src[in];
            in += run;
            continue;
        }
        lit = out++;
        dst[lit] = 0;
        while (in < n && dst[lit] < 127) {
            if (in + 2 < n && src[in] == src[in + 1] && src[in] == src[in + 2]) {
                break;
            }
            dst[out++] = src[in++];
            dst[lit]++;
        }
    }
    dst[out++] = 0;
    return out;
}

s32 rle_unpack(u8 *dst, const u8 *src, s32 limit) {
    s32 out = 0;
    s32 n;
    u8 value;

    while ((n = *src++) != 0) {
        if (n & 0x80) {
            n &= 0x7F;
            value = *src++;
            while (n-- > 0 && out < limit) {
                dst[out++] = value;
            }
        } else {
            while (n-- > 0 && out < limit) {
                dst[out++] = *src++;
            }
        }
    }
    return out;
}

s32 lz_match(const u8 *src, s32 pos, s32 n, s32 *dist) {
    s32 start = pos - LZ_WINDOW;
    s32 best = 0;
    s32 at;
    s32 len;

    if (start < 0) {
        start = 0;
    }
    for (at = start; at < pos; at++) {
        len = 0;
        while (len < LZ_MAX && pos + len < n && src[at + len] == src[pos + len]) {
            len++;
        }
        if (len > best) {
            best = len;
            *dist = pos - at;
        }
    }
    return best >= LZ_MIN ? best : 0;
}

s32 lz_pack(u8 *dst, const u8 *src, s32 n) {
    s32 pos = 0;
    s32 out = 0;
    s32 flag_at = 0;
    s32 bit = 8;
    s32 dist;
    s32 len;

    while (pos < n) {
        if (bit == 8) {
            bit = 0;
            flag_at = out++;
            dst[flag_at] = 0;
        }
        dist = 0;
        len = lz_match(src, pos, n, &dist);
        if (len != 0) {
            dst[flag_at] |= 1 << bit;
            dst[out++] = dist - 1;
            dst[out++] = len - LZ_MIN;
            pos += len;
        } else {
            dst[out++] = src[pos++];
        }
        bit++;
    }
    return out;
}

s32 lz_unpack(u8 *dst, const u8 *src, s32 limit) {
    s32 out = 0;
    u32 flags = 1;
    s32 dist;
    s32 len;

    while (out < limit) {
        if (flags == 1) {
            flags = *src++ | 0x100;
        }
        if (flags & 1) {
            dist = *src++ + 1;
            len = *src++ + LZ_MIN;
            while (len-- > 0 && out < limit) {
                dst[out] = dst[out - dist];
                out++;
            }
        } else {
            dst[out++] = *src++;
        }
        flags >>= 1;
    }
    return out;
}

u16 checksum16(const u8 *data, s32 n) {
    u32 sum = 0;
    s32 i;

    for (i = 0; i + 1 < n; i += 2) {
        sum += data[i] | (data[i + 1] << 8);
    }
    if (n & 1) {
        sum += data[n - 1];
    }
    while (sum >> 16) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return ~sum;
}

u16 crc16(const u8 *data, s32 n) {
    u16 crc = 0xFFFF;
    s32 bit;

    while (n-- > 0) {
        crc ^= *data++ << 8;
        for (bit = 0; bit < 8; bit++) {
            if (crc & 0x8000) {
                crc = (crc << 1) ^ 0x1021;
            } else {
                crc <<= 1;
            }
        }
    }
    return crc;
}
