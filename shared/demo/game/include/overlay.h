#ifndef OVERLAY_H
#define OVERLAY_H

#include "types.h"

#define OVERLAY_BASE 0x80100000

#define OVL_NONE 0
#define OVL_TITLE 1
#define OVL_TOWN 2
#define OVL_CAVE 3
#define OVL_SKY 4
#define OVL_BOSS 5

#define OVL_MAGIC 0x4C4B4F56

#define OVL_CMD_INIT 0
#define OVL_CMD_UPDATE 1
#define OVL_CMD_DRAW 2
#define OVL_CMD_EXIT 3

/* The first words of an overlay that starts with its data. */
typedef struct OverlayHeader {
    u32 magic;
    s32 id;
    void (*init)(void);
    void (*update)(void);
    void (*draw)(void);
    s32 (*event)(s32 id, s32 arg);
} OverlayHeader;

/* The first function of an overlay that starts with its code. */
typedef s32 (*OverlayEntry)(s32 cmd, s32 arg);

#define OVERLAY_HEADER ((const OverlayHeader *)OVERLAY_BASE)
#define OVERLAY_ENTRY ((OverlayEntry)OVERLAY_BASE)

typedef struct OverlayInfo {
    const char *name;
    u16 sectors;
    u8 has_header;
    u8 music;
} OverlayInfo;

typedef struct OverlaySlot {
    s32 loaded;
    s32 wanted;
    s32 sector;
    u32 sum;
} OverlaySlot;

extern OverlaySlot g_overlay;
extern const OverlayInfo g_overlays[6];

void ovl_request(s32 id);
s32 ovl_load(void);
void ovl_init(void);
void ovl_update(void);
void ovl_draw(void);
s32 ovl_event(s32 id, s32 arg);
u32 ovl_sum(const u32 *words, s32 count);

#endif
