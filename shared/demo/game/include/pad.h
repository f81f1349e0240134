#ifndef PAD_H
#define PAD_H

#include "types.h"

#define PAD_UP 0x0010
#define PAD_RIGHT 0x0020
#define PAD_DOWN 0x0040
#define PAD_LEFT 0x0080
#define PAD_START 0x0008
#define PAD_SELECT 0x0001
#define PAD_CROSS 0x4000
#define PAD_CIRCLE 0x2000
#define PAD_SQUARE 0x8000
#define PAD_TRIANGLE 0x1000

#define PAD_PORTS 2
#define PAD_REPEAT_FIRST 20
#define PAD_REPEAT_NEXT 6

typedef struct Pad {
    u16 held;
    u16 pressed;
    u16 released;
    u16 repeat;
    s32 timer;
    s8 stick_x;
    s8 stick_y;
    u8 status;
    u8 kind;
    u8 history[6];
} Pad;

/* The raw reply of the port, bytes as they come. */
typedef struct PadRaw {
    u8 status;
    u8 kind;
    u16 buttons;
    u8 right_x;
    u8 right_y;
    u8 left_x;
    u8 left_y;
} PadRaw;

extern Pad g_pads[PAD_PORTS];
extern PadRaw g_pad_raw[PAD_PORTS];

void pad_init(void);
void pad_update(void);
s32 pad_held(s32 port, s32 mask);
s32 pad_pressed(s32 port, s32 mask);
s32 pad_dir(s32 port);
s32 pad_combo(const Pad *p, const u8 *moves, s32 n);

#endif
