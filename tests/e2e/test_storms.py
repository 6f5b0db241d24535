"""Ten launches of one real CLI at once, in one folder and one home: each job gets its own answer, and what the CLI
keeps in its home is whole afterwards."""

from __future__ import annotations

import fcntl
import json
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakes.files import files_under
from fakes.real_clis import World
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

STORM = 10
NAMELESS = {"cline"}
"""Lanes whose stream names no conversation."""
TRUSTED = {"/elsewhere": {"hasTrustDialogAccepted": True}}
OWN = {"claude": {".claude.json": {"projects": TRUSTED, "mcpServers": {"mine": {"command": "false"}}}}}
"""Lane → files that a person has already (in the others' homes the set-up itself is one)."""
NOTES = {"updatedAt"}
"""Settings that a CLI writes anew at each start."""
LINES = {"telemetry", "node_modules", "cache", ".cache", "locks"}
"""Folders whose ``.json`` files are no settings: lines that wait to be sent, packages, who holds what just now."""


def settings(world: World) -> dict[Path, object]:
    """Every configuration in the home, read. One that can't be read fails the test."""
    read: dict[Path, object] = {}
    for path, content in files_under(world.root / "home"):
        if path.suffix == ".toml":
            read[path] = tomllib.loads(content.decode())
        elif path.suffix == ".json" and not LINES & set(path.parts):
            lines = content.decode().splitlines()
            read[path] = json.loads("\n".join(line for line in lines if not line.startswith("//")) or "{}")
    return read


def kept(before: object, after: object) -> bool:
    """Whether everything that was said before is still said."""
    if isinstance(before, dict):
        told = isinstance(after, dict) and before.keys() <= after.keys()
        return told and all(kept(value, after[key]) for key, value in before.items() if key not in NOTES)
    return before == after


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Wait until no other worker has a storm: twenty CLIs at once may take all memory of a small machine."""
    with (tmp_path_factory.getbasetemp().parent / "storm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("lane", MODELS)
def test_ten_at_once(make_world, lane: str) -> None:
    world = make_world([{"text": "This answers {found}.", "find": r"errand-\d+", "mark": "DONE", "repeat": 0}])
    environ = sign_in(world, lane)
    for name, content in OWN.get(lane, {}).items():
        (world.root / "home" / name).write_text(json.dumps(content))
    before = settings(world)
    assert before or lane in ("qwen", "copilot"), "set up by the environment alone"

    def start(number: int) -> str:
        done = world.osrc("bg", "--lane", lane, "-m", MODELS[lane], f"Do errand-{number}.", **environ)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[0]

    with ThreadPoolExecutor(STORM) as pool:
        ids = list(pool.map(start, range(STORM)))
    waited = world.osrc("wait", *ids, timeout_s=400)
    jobs = {job["job_id"]: job for job in json.loads(world.osrc("status", "--all", "--json").stdout)["jobs"]}
    assert [f"{job}: {jobs[job]}" for job in ids if jobs[job]["state"] != "done"] == [], waited.stderr
    answers = [(world.osrc_home / "jobs" / job / "last.txt").read_text().strip() for job in ids]
    assert answers == [f"This answers errand-{number}." for number in range(STORM)]
    if lane not in NAMELESS:
        assert len({jobs[job]["conversation"] for job in ids}) == STORM
    after = settings(world)
    assert [path for path, content in before.items() if not kept(content, after.get(path))] == []
