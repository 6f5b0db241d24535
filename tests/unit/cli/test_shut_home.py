"""Looking at a state home that can't be looked into."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from outsourcerer.cli import looking
from outsourcerer.cli.main import run
from outsourcerer.cli.place import full_home, home_root, readable_root
from outsourcerer.cli.table import COMMANDS
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home

LOOKING = (
    "status",
    "status x",
    "watch x",
    "wait x",
    "events",
    "bearings",
    "rundown",
    "dash",
    "heartbeat status",
    "result x",
    "logs x",
    "explain x",
    "classify x",
    "fleet",
    "fleet show x",
    "session list",
    "session read x",
    "supervisor status",
    "fanout list",
    "fanout status x",
    "loop list",
    "loop status x",
    "crew status x",
    "best-of --resume x",
    "advise hello",
    "mode",
    "models",
    "lanes",
    "consent status",
    "posture status",
    "limits",
    "limits budget",
    "tab",
    "suggest",
    "estimate hello",
    "brief",
    "canary codex",
    "tap status",
    "cancel x",
    "retry x",
    "outcome x passed",
    "cleanup x",
    "gc --dry-run",
    "pause x",
    "resume x",
)
ACTING = {"run", "explore", "research", "edit", "yolo", "bg", "continue", "second-opinion", "image", "import", "parity"}
"""What begins with something else than a look at the state home, and meets the same refusal."""

WITHOUT = {"sanitize", "config", "doctor", "completion", "mcp", "skill", "hook", "help"}
"""What needs no state home, says itself what is wrong with it, or must not fail by it."""


def made(kind: str, root: Path) -> Path:
    home = root / "home"
    if kind == "file":
        home.write_text("x")
    elif kind == "link":
        home.symlink_to(root / "nowhere")
    elif kind == "loop":
        home.symlink_to(home)
    else:
        home.write_text("x")
        home /= "below"
    return home


def test_every_command_is_known_here() -> None:
    assert {words.split()[0] for words in LOOKING} | ACTING | WITHOUT == set(COMMANDS)


@pytest.mark.parametrize("kind", ["file", "link", "loop", "below"])
def test_what_is_no_folder_is_not_an_empty_home(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(made(kind, tmp_path)))
    for words in LOOKING if kind == "file" else LOOKING[:1]:
        code = run([*words.split(), "--json"])
        told = json.loads(capsys.readouterr().out)
        assert (words, code, told["error"]["code"]) == (words, 1, "state_unwritable")
        assert "OSRC_HOME=" in told["error"]["hint"]


def test_a_home_that_is_not_there_yet_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "not" / "yet"))
    assert (run(["status"]), capsys.readouterr().err) == (0, "no jobs\n")
    assert not (tmp_path / "not").exists()


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    assert readable_root({"OSRC_HOME": str(tmp_path)}) == str(tmp_path)
    monkeypatch.setattr("os.access", lambda _path, mode: not mode & os.R_OK)
    monkeypatch.setattr("os.listdir", refuse)
    for look in (readable_root, full_home):
        with pytest.raises(StateError, match="Permission denied") as caught:
            look({"OSRC_HOME": str(tmp_path)})
        assert f"chmod u+rwx {tmp_path}" in str(caught.value.hint)
    assert home_root({"OSRC_HOME": str(tmp_path)}) == str(tmp_path)


def test_the_doctor_says_what_is_in_the_way(tmp_path: Path) -> None:
    assert not Home(tmp_path / "new").look()
    with pytest.raises(StateError, match="Not a directory"):
        Home(made("below", tmp_path)).look()


def test_a_home_that_may_not_be_searched_is_not_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.lstat", refuse)
    files = looking._Files("/home/you/.outsourcerer")
    with pytest.raises(StateError) as caught:
        files.newest(None, 40)
    assert caught.value.code == "state_unwritable"
    with pytest.raises(StateError):
        files.one("x")
