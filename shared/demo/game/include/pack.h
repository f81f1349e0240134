#ifndef PACK_H
#define PACK_H

#include "types.h"

#define LZ_WINDOW 256
#define LZ_MIN 3
#define LZ_MAX 18

s32 rle_pack(u8 *dst, const u8 *src, s32 n);
s32 rle_unpack(u8 *dst, const u8 *src, s32 limit);
s32 lz_pack(u8 *dst, const u8 *src, s32 n);
s32 lz_unpack(u8 *dst, const u8 *src, s32 limit);
u16 checksum16(const u8 *data, s32 n);
u16 crc16(const u8 *data, s32 n);

#endif
