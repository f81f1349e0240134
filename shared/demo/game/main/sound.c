#include "common.h"

SoundState g_sound;

const u16 g_pitch_table[12] = {
    0x1000, 0x10F4, 0x11F6, 0x1307, 0x1429, 0x155C, 0x16A1, 0x17F9, 0x1966, 0x1AE9, 0x1C82, 0x1E34,
};

u32 snd_read_len(Track *t);
s32 snd_track_step(Track *t, s32 index);
void snd_envelope(Voice *v);
s32 snd_voice_alloc(s32 owner);
u16 snd_pitch(s32 note);

void snd_reset(void) {
    s32 i;

    for (i = 0; i < VOICE_MAX; i++) {
        g_sound.voices[i].state = 0;
        g_sound.voices[i].volume = 0;
        g_sound.voices[i].owner = 0xFF;
    }
    for (i = 0; i < TRACK_MAX; i++) {
        g_sound.tracks[i].active = 0;
    }
    g_sound.tempo = 120;
    g_sound.clock = 0;
    g_sound.master = 127;
    g_sound.fade = 0;
}

u16 snd_pitch(s32 note) {
    s32 octave = note / 12;
    s32 step = note - octave * 12;
    s32 pitch = g_pitch_table[step];

    if (octave >= 5) {
        return pitch << (octave - 5);
    }
    return pitch >> (5 - octave);
}

s32 snd_voice_alloc(s32 owner) {
    s32 i;
    s32 oldest = 0;
    s32 age = -1;

    for (i = 0; i < VOICE_MAX; i++) {
        if (g_sound.voices[i].state == 0) {
            return i;
        }
        if (g_sound.voices[i].owner == owner || g_sound.voices[i].age > age) {
            age = g_sound.voices[i].age;
            oldest = i;
        }
    }
    return oldest;
}

void snd_note_on(s32 owner, s32 note, s32 volume) {
    Voice *v = &g_sound.voices[snd_voice_alloc(owner)];

    v->note = note;
    v->owner = owner;
    v->state = 1;
    v->age = 0;
    v->pitch = snd_pitch(note);
    v->target = (volume * g_sound.master) >> 7;
    v->volume = 0;
}

void snd_note_off(s32 owner, s32 note) {
    s32 i;

    for (i = 0; i < VOICE_MAX; i++) {
        Voice *v = &g_sound.voices[i];

        if (v->state != 0 && v->owner == owner && v->note == note) {
            v->state = 3;
            v->target = 0;
        }
    }
}

void snd_play(s32 track, const u8 *data) {
    Track *t = &g_sound.tracks[track];

    t->data = data;
    t->pos = 0;
    t->wait = 0;
    t->program = 0;
    t->volume = 100;
    t->loop_count = 0;
    t->loop_pos = 0;
    t->notes = 0;
    t->active = 1;
}

u32 snd_read_len(Track *t) {
    u32 value = 0;
    u8 byte;

    do {
        byte = t->data[t->pos++];
        value = (value << 7) | (byte & 0x7F);
    } while (byte & 0x80);
    return value;
}

s32 snd_track_step(Track *t, s32 index) {
    u8 op = t->data[t->pos++];
    u8 arg;

    switch (op >> 4) {
        case 0x8:
            snd_note_off(index, t->data[t->pos++]);
            break;
        case 0x9:
            arg = t->data[t->pos++];
            snd_note_on(index, arg, (t->data[t->pos++] * t->volume) >> 7);
            t->notes++;
            break;
        case 0xB:
            arg = t->data[t->pos++];
            if ((op & 15) == 7) {
                t->volume = arg;
            } else if ((op & 15) == 9) {
                g_sound.tempo = arg + 20;
            }
            break;
        case 0xA:
            arg = t->data[t->pos++];
            g_sound.voices[arg & (VOICE_MAX - 1)].pitch += (s8)t->data[t->pos++] * 4;
            break;
        case 0xC:
            t->program = t->data[t->pos++];
            break;
        case 0xE:
            if ((op & 15) == 0) {
                t->loop_pos = t->pos;
            } else if (++t->loop_count < (op & 15)) {
                t->pos = t->loop_pos;
            } else {
                t->loop_count = 0;
            }
            break;
        case 0xF:
            t->active = 0;
            return FALSE;
        default:
            g_boot.errors++;
            t->active = 0;
            return FALSE;
    }
    t->wait = snd_read_len(t);
    return t->wait == 0;
}

void snd_tick(void) {
    s32 i;

    g_sound.clock += g_sound.tempo;
    while (g_sound.clock >= 60) {
        g_sound.clock -= 60;
        for (i = 0; i < TRACK_MAX; i++) {
            Track *t = &g_sound.tracks[i];

            if (!t->active) {
                continue;
            }
            if (t->wait > 0) {
                t->wait--;
                continue;
            }
            while (snd_track_step(t, i)) {
            }
        }
    }
    for (i = 0; i < VOICE_MAX; i++) {
        snd_envelope(&g_sound.voices[i]);
    }
    if (g_sound.fade != 0) {
        g_sound.master = fx_approach(g_sound.master, 0, g_sound.fade);
    }
}

void snd_envelope(Voice *v) {
    switch (v->state) {
        case 1:
            v->volume += 12;
            if (v->volume >= v->target) {
                v->volume = v->target;
                v->state = 2;
            }
            break;
        case 2:
            if (v->volume > v->target / 2) {
                v->volume--;
            }
            break;
        case 3:
            v->volume -= 6;
            if (v->volume <= 0) {
                v->volume = 0;
                v->state = 0;
            }
            break;
    }
    if (v->state != 0 && v->age < 255) {
        v->age++;
    }
}

void snd_effect(s32 id) {
    s32 note = 48 + ((id * 7) % 24);
    s32 i;

    for (i = 0; i <= (id & 1); i++) {
        snd_note_on(0x80 + id, note + i * 4, 110 - i * 20);
    }
}
