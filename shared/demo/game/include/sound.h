#ifndef SOUND_H
#define SOUND_H

#include "types.h"

#define VOICE_MAX 8
#define TRACK_MAX 4

typedef struct Voice {
    u16 pitch;
    s16 volume;
    s16 target;
    u8 note;
    u8 owner;
    u8 state;
    u8 age;
} Voice;

typedef struct Track {
    const u8 *data;
    u16 pos;
    u16 wait;
    u8 program;
    u8 volume;
    u8 loop_count;
    u8 active;
    u16 loop_pos;
    u16 notes;
} Track;

typedef struct SoundState {
    Voice voices[VOICE_MAX];
    Track tracks[TRACK_MAX];
    s32 tempo;
    s32 clock;
    s16 master;
    s16 fade;
} SoundState;

extern SoundState g_sound;
extern const u16 g_pitch_table[12];

void snd_reset(void);
void snd_note_on(s32 owner, s32 note, s32 volume);
void snd_note_off(s32 owner, s32 note);
void snd_play(s32 track, const u8 *data);
void snd_tick(void);
void snd_effect(s32 id);

#endif
