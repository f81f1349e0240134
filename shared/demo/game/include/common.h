#ifndef COMMON_H
#define COMMON_H

#include "types.h"
#include "fixed.h"
#include "rng.h"
#include "matrix.h"
#include "mem.h"
#include "str.h"
#include "draw.h"
#include "text.h"
#include "entity.h"
#include "ai.h"
#include "item.h"
#include "tile.h"
#include "particle.h"
#include "menu.h"
#include "sound.h"
#include "pack.h"
#include "pad.h"
#include "collide.h"
#include "card.h"
#include "game.h"
#include "overlay.h"

#endif
