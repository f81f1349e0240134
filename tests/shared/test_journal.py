"""Journals: one line a record; a torn tail is repaired by the writer and counted by readers, a bad line numbered."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shared.journal import Journal, Reading, read_journal

RECORDS = st.lists(st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers(0, 2**40), max_size=3))


@given(RECORDS, st.integers(0, 400))
def test_a_cut_anywhere_loses_at_most_the_cut_record(
    tmp_path_factory: object, records: list[dict[str, object]], cut: int
) -> None:
    path = tmp_path_factory.mktemp("j") / "a.jsonl"  # type: ignore[attr-defined]
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    data = path.read_bytes()
    path.write_bytes(data[: max(0, len(data) - cut)])
    whole = path.read_bytes().count(b"\n")
    with Journal(path) as journal:
        journal.append({"after": 1})
    reading = Reading()
    read = list(read_journal(path, reading))
    assert read[:whole] == records[:whole]
    assert read[-1] == {"after": 1}
    assert len(reading.bad_lines) <= 1


def test_readers_count_what_they_skip(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n":1}\nnot json\n[2]\n{"n":3}\n{"n":')
    reading = Reading()
    assert [row["n"] for row in read_journal(path, reading)] == [1, 3]
    assert reading.bad_lines == [2, 3]
    assert reading.torn_tail


def test_a_missing_journal_is_empty(tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "none.jsonl")) == []
