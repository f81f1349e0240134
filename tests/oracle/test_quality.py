"""The order among agreeing drafts of one function."""

from __future__ import annotations

from shared.oracle.quality import added_declarations, rank, ugliness

DRAFT = b"""#include "a.h"
extern s32 a, b;
struct X { int q; };
typedef struct X Y;
enum { A };
/* \xa4\xa2 */
s32 g(void);
void f(void) {
    extern u8 D[];
    s32 h(s32), x;
    s32 (*pointer)(void);
    s32 *k(void);
    register int y asm("$4");
    volatile int z;
    asm volatile("" ::: "memory");
    *(s32 *)((u8 *)p + 0x10) = 1;
    ((Foo *)(p + 4))->x = (s32)(a + b);
    goto end;
end:;
}
"""


def test_every_name_declared_beside_the_function_counts() -> None:
    assert added_declarations(b"void f(void) { s32 x; }\n") == 0
    assert added_declarations(DRAFT) == 7 + 3


def test_ugly_things_count_once_each() -> None:
    assert ugliness(b"void f(s32 a) { a = (s32)(a + 1); g((u8 *)a, *(s32 *)a); }\n") == 0
    assert ugliness(DRAFT) == 6  # pin, volatile, barrier, two offset casts, goto


def test_declarations_weigh_more_than_ugliness() -> None:
    ugly = b"void f(s32 *p) { goto e; e: *(s32 *)((u8 *)p + 4) = 0; }\n"
    declares = b"extern s32 D;\nvoid f(s32 *p) { p[1] = 0; }\n"
    assert sorted([declares, ugly], key=rank)[0] == ugly
