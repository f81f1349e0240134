"""`campaign export`: the folders really compile, and give the draft's and the original's code."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import orjson

from shared.target.objfile import load_object
from tests.gater.conftest import Yard
from tests.operator.night import append, verdict
from tests.operator.test_init import campaign as run_campaign


def words(path: Path, function: str) -> bytes:
    found = load_object(path)
    symbol = found.defined[function]
    section = next(s for s in found.sections if s.index == symbol.section)
    return section.data[symbol.value : symbol.value + symbol.size]


def test_base_and_target_compile_to_what_they_stand_for(yard: Callable[[], Yard], tmp_path: Path) -> None:
    place = yard()
    row = next(t for t in place.truth if t.binary == "main")
    place.publish([("main", row.function, row.text)])
    path = "waves/w000001/drafts/d1.c"
    append(
        place.state.journal / "drafts.jsonl",
        verdict(1, "MISMATCH?", binary="main", function=row.function, path=path, closeness=3, words=9),
    )
    out = tmp_path / "near"
    early = run_campaign(place.root, "export", row.function, "-o", str(out))
    assert (early.returncode, "no green build" in early.stdout) == (1, True)
    build = ["progress", "--build", "--binary", "main", "-o", str(tmp_path / "r.json")]
    assert run_campaign(place.root, *build).returncode == 0
    done = run_campaign(place.root, "export", row.function, "-o", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    folder = out / f"main-{row.function}"
    assert "without" not in done.stdout
    permuter = folder / "permuter"
    made = tmp_path / "base.o"
    made.touch()
    subprocess.run([permuter / "compile.sh", permuter / "base.c", "-o", made], check=True, capture_output=True)
    # A right draft and the original are the same words before relocation, in one object each.
    assert words(made, row.function) == words(permuter / "target.o", row.function)
    assert b"INCLUDE_ASM" not in (permuter / "base.c").read_bytes()
    assert (permuter / "settings.toml").read_text().startswith(f'func_name = "{row.function}"\ncompiler_type = "gcc"\n')
    metadata = orjson.loads((folder / "decompme" / "metadata.json").read_bytes())
    assert (metadata["platform"], metadata["diff_label"]) == ("ps1", row.function)
    assert "-O2" in metadata["compiler_flags"]
    assert row.text.strip() in (folder / "decompme" / "draft.c").read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "keep").touch()
    no = run_campaign(place.root, "export", "--top", "1", "-o", str(tmp_path / "mine"))
    assert (no.returncode, "not an earlier export" in no.stderr) == (2, True)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["keep"]
