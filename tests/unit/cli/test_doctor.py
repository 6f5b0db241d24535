"""``osrc doctor``: what the CLIs keep on disk for themselves, and which lanes are none without a program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed
from fakes.state import scratch_home
from outsourcerer.cli.commands import doctor as module


def a_folder(home: Path, name: str) -> None:
    (home / name).mkdir(parents=True)
    (home / name / "log").write_bytes(os.urandom(3 * 2**20 + 2**19))


def test_the_sum_of_what_is_there(tmp_path: Path) -> None:
    a_folder(tmp_path / "person", ".claude")
    done = osrc(tmp_path / "osrc", "doctor", "--json", HOME=str(tmp_path / "person"), PATH="/nowhere")
    found = [(row["level"], row["text"]) for row in parsed(done)["findings"] if row["section"] == "disk"]
    assert found == [("ok", "the CLIs of the lanes keep 3 MiB of their own state")]


def test_a_large_one_is_named_with_its_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setattr(module, "_MUCH_STATE", 3 * 2**20)
    a_folder(tmp_path / "person", ".codex")
    (tmp_path / "person" / ".pi").mkdir()
    found = [(one.level, one.text) for one in module._disk(scratch_home(tmp_path))]
    assert found == [
        ("note", "~/.codex (codex, codexor) takes 3 MiB"),
        ("ok", "the CLIs of the lanes keep 3 MiB of their own state"),
    ]


def test_no_cli_makes_no_lane(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "person"), "PATH": "/nowhere", "OSRC_LOCAL_URL": "http://127.0.0.1:9/v1"}
    done = osrc(tmp_path / "osrc", "doctor", "--json", **environ)
    lanes = {row["text"].partition(": ")[0]: row for row in parsed(done)["findings"] if row["section"] == "lanes"}
    here = {name for name, row in lanes.items() if row["level"] == "ok"}
    assert here <= {"embedded", "local"}, "what needs a program is not here without one"
    assert lanes["acp"]["level"] == "note"
    assert lanes["acp"]["fix"]
