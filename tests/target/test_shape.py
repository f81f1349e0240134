"""The distance of two runs of words against its definition, and the alignment that shows it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.target.shape import WHOLE, align, closeness

WORDS = st.lists(st.sampled_from([1, 2, 3, 0x10001, 0x20002]), max_size=14)
FIELDS = st.lists(st.sampled_from([0, 0xFFFF, 0xFFFF0000]), min_size=14, max_size=14)


def by_definition(mine: list[int], fields: list[int], target: list[int]) -> int:
    row = list(range(len(target) + 1))
    for i, word in enumerate(mine):
        keep = WHOLE ^ fields[i]
        last, row[0] = row[0], i + 1
        for j, other in enumerate(target):
            best = min(row[j + 1] + 1, row[j] + 1, last + (word & keep != other & keep))
            last, row[j + 1] = row[j + 1], best
    return row[-1]


@given(WORDS, FIELDS, WORDS)
def test_distance_and_alignment(mine: list[int], fields: list[int], target: list[int]) -> None:
    fields = fields[: len(mine)]
    expected = by_definition(mine, fields, target)
    assert closeness(mine, fields, target) == expected
    steps = align(mine, fields, target)
    assert sum(step.op != "same" for step in steps) == expected
    assert [s.mine for s in steps if s.mine is not None] == list(range(len(mine)))
    assert [s.target for s in steps if s.target is not None] == list(range(len(target)))


def test_a_monstrous_draft_is_not_aligned() -> None:
    mine = [7] * 200_000
    assert closeness(mine, [0] * len(mine), [1, 2, 3]) == len(mine)
    assert len(align(mine, [0] * len(mine), [1, 2, 3])) == len(mine) + 3
