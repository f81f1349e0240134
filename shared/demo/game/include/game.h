#ifndef GAME_H
#define GAME_H

#include "types.h"

#define MODE_BOOT 0
#define MODE_TITLE 1
#define MODE_FIELD 2
#define MODE_TALK 3
#define MODE_MENU 4
#define MODE_OVER 5
#define MODE_COUNT 6

typedef struct GameState {
    s32 mode;
    s32 next_mode;
    s32 frame;
    s32 overlay_id;
    s32 map_id;
    s16 hp;
    s16 hp_max;
    s16 level;
    s16 keys;
    s32 gold;
    s32 exp;
    s32 seconds;
    s16 oil;
    s16 oil_max;
    u8 flags[32];
} GameState;

typedef struct BootInfo {
    volatile u32 vblanks;
    u32 last_vblank;
    u32 lag;
    u32 errors;
    s32 halted;
} BootInfo;

extern GameState g_game;
extern BootInfo g_boot;
extern void (*const g_mode_table[MODE_COUNT])(void);
extern const s16 g_level_exp[10];

void halt_forever(void);
void boot_start(void);
void boot_hook(void);
void vblank_irq(void);
void frame_wait(void);
void mode_set(s32 mode);
void mode_boot(void);
void mode_title(void);
void mode_field(void);
void mode_talk(void);
void mode_menu(void);
void mode_over(void);
void game_reset(void);
void game_tick(void);
void game_loop(void);
s32 flag_get(s32 index);
void flag_set(s32 index);
void game_add_gold(s32 amount);
s32 game_add_exp(s32 amount);
void game_burn_oil(s32 rate);

#endif
