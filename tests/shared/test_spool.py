"""The spool: publish, claim, settle, poison; every order of deaths leaves each marker in exactly one place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import orjson
import pytest

from shared import durable
from shared.records import Marker, encode
from shared.spool import Spool, draft_ref, file_name
from shared.state import StateDir, create_state


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    project = tmp_path / "project"
    project.mkdir()
    return create_state(project, "t", home=tmp_path / "home")


def marker(state: StateDir, number: int, priority: int = 2) -> Marker:
    path = state.waves / f"d{number}.c"
    durable.write(path, b"int f(void) { return %d; }\n" % number)
    ref = draft_ref(state, path, id=f"d{number}", binary="main", function=f"f{number}", attempt=1)
    return Marker(id=f"w000001-{number}", wave="w000001", sequence=number, drafts=(ref,), priority=priority)


def test_a_marker_goes_through_and_is_published_once(state: StateDir) -> None:
    spool = Spool(state)
    for _ in range(2):
        spool.publish(marker(state, 1))
    (claimed,) = spool.claim()
    spool.publish(marker(state, 1))
    assert spool.counts() == {"ready": 0, "claimed": 1, "done": 0, "poison": 0}
    assert [c.marker.id for c in spool.take_up()] == [claimed.marker.id]
    spool.settle(claimed)
    spool.settle(claimed)
    spool.publish(marker(state, 1))
    assert spool.counts() == {"ready": 0, "claimed": 0, "done": 1, "poison": 0}


def test_order_is_priority_then_sequence_whatever_the_times_say(state: StateDir) -> None:
    spool = Spool(state)
    for number, priority in ((3, 2), (1, 2), (2, 0), (4, 3)):
        path = spool.publish(marker(state, number, priority))
        os.utime(path, (1e9 - number, 1e9 - number))
    assert [c.marker.sequence for c in spool.claim()] == [2, 1, 3, 4]


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b'{"id": "x"', b"[]", b'{"id": 3}'])
def test_an_undecodable_marker_goes_to_poison_and_blocks_nobody(state: StateDir, content: bytes) -> None:
    spool = Spool(state)
    bad = spool.ready / "2-0000000001-w000001-1.json"
    bad.write_bytes(content)
    spool.publish(marker(state, 2))
    assert [c.marker.sequence for c in spool.claim()] == [2]
    assert (spool.poison / bad.name).exists()
    assert orjson.loads((spool.poison / f"{bad.name}.reason").read_bytes())["reason"]


def test_a_draft_that_is_not_what_the_marker_says_is_poison(state: StateDir) -> None:
    spool = Spool(state)
    published = marker(state, 1)
    spool.publish(published)
    (state.root / published.drafts[0].path).write_bytes(b"changed")
    assert spool.claim() == []
    assert spool.counts()["poison"] == 1


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "a\0b", "waves/none.c", "waves", "waves/link.c", "waves/pipe"]
)
def test_a_draft_path_that_is_no_file_of_ours_is_poison_and_blocks_nobody(state: StateDir, path: str) -> None:
    (state.waves / "link.c").symlink_to("/dev/zero")
    os.mkfifo(state.waves / "pipe")
    spool = Spool(state)
    good = marker(state, 2)
    bad = marker(state, 1)
    spool.publish(msgspec.structs.replace(bad, drafts=(msgspec.structs.replace(bad.drafts[0], path=path),)))
    spool.publish(good)
    assert [c.marker.sequence for c in spool.claim()] == [2]
    assert spool.counts()["poison"] == 1


@pytest.mark.parametrize("change", [{"id": "../evil"}, {"wave": "w1\n\nDraft: x"}, {"id": "x" * 65}])
def test_ids_are_checked_before_they_reach_a_path_or_a_commit(state: StateDir, change: dict[str, str]) -> None:
    spool = Spool(state)
    path = spool.ready / "2-0000000001-m.json"
    path.write_bytes(orjson.dumps(encode(marker(state, 1)) | change))
    assert spool.claim() == []
    assert (spool.poison / path.name).exists()


def test_two_drafts_of_one_id_are_refused(state: StateDir) -> None:
    spool = Spool(state)
    double = marker(state, 1)
    spool.publish(msgspec.structs.replace(double, drafts=double.drafts * 2))
    assert spool.claim() == []
    assert spool.counts()["poison"] == 1


def test_a_marker_of_a_newer_release_is_left_alone(state: StateDir) -> None:
    spool = Spool(state)
    newer = encode(marker(state, 1)) | {"schema": 999}
    path = spool.ready / file_name(marker(state, 1))
    path.write_bytes(orjson.dumps(newer))
    assert spool.claim() == []
    assert path.exists()


@pytest.mark.parametrize(
    ("point", "where"),
    [("publish.drafts", "none"), ("publish.tmp", "none"), ("publish.ready", "ready"), ("claim.renamed", "claimed")],
)
def test_death_between_two_steps_leaves_the_marker_in_one_place(state: StateDir, point: str, where: str) -> None:
    program = (
        "import sys; from pathlib import Path; from shared.state import StateDir; from shared.spool import Spool;"
        "from tests.shared.test_spool import marker\n"
        "state = StateDir(Path(sys.argv[1])); spool = Spool(state); spool.publish(marker(state, 1)); spool.claim()"
    )
    environment = os.environ | {"CAMPAIGN_FAILPOINT": point}
    done = subprocess.run([sys.executable, "-c", program, str(state.root)], env=environment, check=False, timeout=30)
    assert done.returncode == -9
    counts = Spool(state).counts()
    assert sum(counts.values()) == (where != "none")
    if where != "none":
        assert counts[where] == 1
    Spool(state).publish(marker(state, 1))
    assert sum(Spool(state).counts().values()) == 1
