#include "common.h"

void ovl_request(s32 id) {
    if (g_overlay.loaded != id) {
        g_overlay.wanted = id;
        g_overlay.sector = 0;
    }
}

u32 ovl_sum(const u32 *words, s32 count) {
    u32 sum = 0x9E3779B9;

    while (count-- > 0) {
        sum = ((sum << 5) | (sum >> 27)) ^ *words++;
    }
    return sum;
}

s32 ovl_load(void) {
    const OverlayInfo *info;

    if (g_overlay.wanted == g_overlay.loaded) {
        return 1;
    }
    info = &g_overlays[g_overlay.wanted];
    if (g_overlay.sector < info->sectors) {
        g_overlay.sector++;
        return 0;
    }
    g_overlay.sum = ovl_sum((const u32 *)OVERLAY_BASE, info->sectors * 512);
    if (info->has_header && OVERLAY_HEADER->magic != OVL_MAGIC) {
        g_boot.errors++;
        return 0;
    }
    g_overlay.loaded = g_overlay.wanted;
    g_game.overlay_id = g_overlay.loaded;
    return 1;
}

void ovl_init(void) {
    if (g_overlays[g_overlay.loaded].has_header) {
        OVERLAY_HEADER->init();
    } else {
        OVERLAY_ENTRY(OVL_CMD_INIT, 0);
    }
}

void ovl_update(void) {
    if (g_overlays[g_overlay.loaded].has_header) {
        OVERLAY_HEADER->update();
    } else {
        OVERLAY_ENTRY(OVL_CMD_UPDATE, 0);
    }
}

void ovl_draw(void) {
    if (g_overlays[g_overlay.loaded].has_header) {
        OVERLAY_HEADER->draw();
    } else {
        OVERLAY_ENTRY(OVL_CMD_DRAW, 0);
    }
}

s32 ovl_event(s32 id, s32 arg) {
    if (g_overlays[g_overlay.loaded].has_header) {
        return OVERLAY_HEADER->event(id, arg);
    }
    return OVERLAY_ENTRY(id + OVL_CMD_EXIT, arg);
}
