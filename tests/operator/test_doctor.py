"""`campaign doctor`: what it says of a sound project, and that each thing broken is found and told."""

from __future__ import annotations

import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from shared.demo.forge import Forged
from shared.demo.night.count import load_truth
from shared.operator.doctor.command import CHECKS
from shared.state import StateDir, create_state
from shared.target.splice import splice
from tests.drafter.project import git, make_project
from tests.operator.night import make_night
from tests.operator.test_init import campaign as run_campaign


class _Endpoint(http.server.BaseHTTPRequestHandler):
    status = 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        known = self.headers["Authorization"] == "Bearer sk-right"
        body = b'{"choices": [{}]}' if known else b'{"error": {"message": "bad key sk-wrong"}}'
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def ask(root: Path, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code and findings by name."""
    done = run_campaign(root, "doctor", "--json", *words)
    assert "Traceback" not in done.stderr, done.stderr
    value = orjson.loads(done.stdout)
    assert sum(value["counts"].values()) == len(value["checks"])
    assert all(row["do"] for row in value["checks"] if row["status"] in ("failed", "warning"))
    return done.returncode, {row["name"]: row for row in value["checks"]}


@pytest.fixture
def sound(forged_small: Forged, tmp_path: Path, endpoint: str) -> Path:
    """A project with one function in C, a pool whose key is right, and its state directory."""
    root = tmp_path / "project"
    shutil.copytree(forged_small.project, root, symlinks=True)
    truth = next(t for t in load_truth(forged_small.truth.parent) if t.binary == "main")
    source = root / truth.tu
    source.write_bytes(splice(source.read_bytes(), {truth.function: truth.text}).text)
    (tmp_path / "key").write_text("API_KEY=sk-right\n")
    with (root / "campaign.toml").open("a") as stream:
        stream.write(
            f'\n[pool.a]\nurl = "{endpoint}"\nmodel = "m"\nkey_file = "{tmp_path / "key"}"\nkey_name = "API_KEY"\n'
        )
    git(root, "commit", "-qam", "one in C")
    create_state(root, "small", home=tmp_path / "home")
    return root


def test_a_sound_project_passes_and_a_broken_one_is_told(sound: Path, tmp_path: Path) -> None:
    code, found = ask(sound)
    assert code == 0, found
    assert found["null control main"]["what"].startswith("green from clean")
    assert found["known-good main"]["status"] == "ok"
    assert "does not with a store added (other words)" in found["known-good main"]["what"]
    assert found["pool a"]["status"] == "ok"
    assert re.search(r"= [\d,.]+ USD", found["spend"]["what"])
    assert found["units"]["status"] == "untested"
    text = run_campaign(sound, "doctor", "--quick", "--offline").stdout
    assert "untested pool a: a key" in text
    (tmp_path / "key").write_text("API_KEY=sk-wrong\n")
    checks = next(sound.glob("**/*.sha1"), None) or next(sound.glob("config/*"))
    config = (sound / "campaign.toml").read_text()
    (sound / "campaign.toml").write_text(config.replace('build = ["make"', 'build = ["make-of-nobody"', 1))
    code, found = ask(sound)
    assert code == 1
    assert "HTTP 401" in found["pool a"]["what"]
    assert "sk-wrong" not in str(found)
    assert "make-of-nobody" in found["programs"]["what"]
    assert checks
    left = [path.name for path in (sound / ".run" / "workspaces").glob("doctor-*/tree")]
    assert left == []


def test_a_recipe_that_is_not_the_builds_fails_the_instrument(sound: Path) -> None:
    path = sound / "campaign.toml"
    path.write_text(path.read_text() + '\n[filter]\nflags = ["-O0"]\n')
    code, found = ask(sound, "--only", "builds")
    assert (code, found["known-good main"]["status"]) == (1, "failed")
    assert "[filter] flags" in found["known-good main"]["do"]


def test_without_a_toolchain_every_other_check_answers(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=2)
    code, found = ask(root)
    assert code == 1
    assert found["null control main"]["status"] == "failed"
    assert found["known-good main"]["status"] == "untested"
    assert found["branches"]["status"] == "ok"
    assert "cannot be reached" in found["pool a"]["what"]
    for name in ("flock", "rename", "fsync", "inotify", "disk", "memory", "timeouts"):
        assert found[name]["status"] in ("ok", "warning")
    git(root, "checkout", "-q", "-b", "campaign")
    assert ask(root, "--only", "git")[1]["branches"]["status"] == "failed"


def test_an_installed_unit_that_differs_is_told(tmp_path: Path) -> None:
    root, _ = make_project(tmp_path, tus=1, stubs=2)
    place = tmp_path / "units"
    run_campaign(root, "install-units", "--dir", str(place))
    words = ("--only", "units", "--units", str(place), "--quick", "--offline")
    assert ask(root, *words)[1]["units"]["status"] == "ok"
    first = next(place.glob("*-gater.service"))
    first.write_text(first.read_text().replace("KillMode=mixed", "KillMode=none"))
    found = ask(root, *words)[1]
    assert found["units"]["status"] == "warning"
    assert found["sandbox gater"]["status"] in ("untested", "failed")


def test_schemas_reads_every_record_and_tells_a_foreign_field(tmp_path: Path) -> None:
    root, state = make_night(tmp_path)
    code, found = ask(root, "--schemas")
    assert found["schemas"]["status"] == "ok"
    assert found["records Wave"]["status"] == "ok"
    assert code == 1  # the hand-written rows of this night lack fields, and that is told
    assert "lack" in found["records RequestRow"]["what"]
    path = StateDir(state.root).waves / "w000001" / "wave.json"
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {"of_tomorrow": 1}))
    assert "of_tomorrow" in ask(root, "--schemas")[1]["records Wave"]["what"]


def test_help_names_every_check() -> None:
    done = run_campaign(Path(), "doctor", "--help")
    assert all(re.search(rf"^\s+{name}\s", done.stdout, re.MULTILINE) for name in CHECKS)
