"""A program that another start of it keeps from starting is started again, as long as nothing was given to it."""

from __future__ import annotations

import errno
import json
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from outsourcerer.actors import holder as holding
from outsourcerer.actors.holder import STARTS, Holder
from outsourcerer.actors.holder_log import EventLog
from outsourcerer.actors.session_holding import Holding
from outsourcerer.actors.transports import piped
from outsourcerer.lanes.opencode.events import CONTENDED
from outsourcerer.state.session_folder import SessionFolder

LOCKED = "\x1b[91mError: \x1b[0mUnexpected error\n\nDatabase is locked\n"
"""As OpenCode 1.18.33 says it, with code 1."""


class Short:
    """An engine whose program says something and ends."""

    plays: list[tuple[str, int | None, str | None]]
    """What each start says on stderr, its code, and the state it is in by then."""
    started = 0

    def __init__(self, stage: Holder) -> None:
        self.stage = stage
        self.pid = None

    def start(self) -> None:
        said, code, state = self.plays[min(Short.started, len(self.plays) - 1)]
        Short.started += 1
        with (Path(self.stage.folder) / "err.log").open("a") as file:
            file.write(said)
        if state is not None:
            self.stage.loop.later(0.0, lambda: self.stage.emit({"type": "state", "state": state, "evidence": "e"}))
        self.stage.loop.later(0.01, lambda: self.stage.gone(code, None))

    def leave(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holder:
    monkeypatch.setattr(holding, "PAUSE_S", 0.01)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    (tmp_path / "inbox").mkdir()
    launch: dict[str, Any] = {"attempt": 1, "socket": str(tmp_path / "s"), "token": "t", "engine": "acp"}
    launch |= {"contended": list(CONTENDED), "cwd": str(tmp_path), "env": {}}
    made = Holder(str(tmp_path), launch, {"pid": 1, "started": 1, "boot_id": "b"})
    made._end_left = lambda _pid: []  # or it would end what pytest has started
    made._door.open = lambda: "s"
    return made


def over(held: Holder) -> tuple[int | None, int]:
    """Let it live; return the code in its exit record, and how often it said that it starts again."""
    held.run()
    folder = Path(held.folder)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    again = [one for one in events if one["type"] == "notice" and "another start of its program" in one["text"]]
    return json.loads((folder / "exit.json").read_text())["code"], len(again)


@pytest.mark.parametrize(
    ("plays", "starts", "code"),
    [
        ([(LOCKED, 1, None), (LOCKED, 1, None), ("", 0, "idle")], 3, 0),
        ([(LOCKED, 1, None)], STARTS, 1),
        ([("Error: no such option", 1, None)], 1, 1),
        ([(LOCKED, 0, None)], 1, 0),
        ([(LOCKED, None, None)], 1, None),
        ([(LOCKED, 1, "idle")], 1, 1),
        ([(LOCKED, 1, None), ("", 1, None)], 2, 1),
        ([("Failed query:" + "x" * 20_000, 1, None), ("", 0, None)], 2, 0),
    ],
    ids=["twice", "always", "other words", "no failure", "by a signal", "it was up", "then by itself", "at length"],
)
def test_it_is_started_again_only_where_nothing_was_begun(held, monkeypatch, plays, starts, code) -> None:
    Short.plays, Short.started = plays, 0
    monkeypatch.setattr(piped, "AcpEngine", Short)
    assert over(held) == (code, starts - 1)
    assert Short.started == starts


def test_a_lane_that_names_no_words_is_not_started_again(held, monkeypatch) -> None:
    held.launch["contended"] = []
    Short.plays, Short.started = [(LOCKED, 1, None)], 0
    monkeypatch.setattr(piped, "AcpEngine", Short)
    assert over(held) == (1, 0)


def test_one_that_is_to_end_is_not_started_again(held, monkeypatch) -> None:
    monkeypatch.setattr(holding, "PAUSE_S", 0.2)
    Short.plays, Short.started = [(LOCKED, 1, None)], 0
    monkeypatch.setattr(piped, "AcpEngine", Short)
    held.loop.later(0.1, lambda: held.close("stopped on request"))
    assert over(held) == (None, 0)
    assert Short.started == 1
    assert json.loads((Path(held.folder) / "exit.json").read_text())["reason"] == "stopped on request"


def test_a_real_program_is_signed_for_anew_and_what_waits_is_not_lost(held) -> None:
    script = (
        "import os, sys\n"
        "n = len(os.listdir('starts')); open(f'starts/{n}', 'x').close()\n"
        f"n < 2 and (sys.stderr.write({LOCKED!r}), sys.exit(1))\n"
        "sys.stdin.readline()\n"
    )
    folder = Path(held.folder)
    (folder / "starts").mkdir()
    (folder / "inbox" / "00000001.json").write_text(json.dumps({"number": 1, "id": "a", "op": "send", "text": "x"}))
    held.launch["argv"] = [sys.executable, "-I", "-S", "-c", script]
    assert over(held) == (0, 2)
    assert len(list((folder / "starts").iterdir())) == 3
    told = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    became = [one["state"] for one in told if one["type"] == "delivery"]
    assert became == ["accepted", "failed"], "it was given to a program that was not up"


def test_whoever_supervises_it_sees_the_other_program(tmp_path: Path) -> None:
    def sign(delegate: int) -> None:
        known = {"started": 1, "boot_id": "b"}
        record = {"attempt": 1, "holder": {"pid": 7, **known}, "delegate": {"pid": delegate, **known}}
        holding.write_json(str(tmp_path).encode(), "holder.json", record)

    clock = SimpleNamespace(now=lambda: SimpleNamespace(mono=1.0))
    services: Any = SimpleNamespace(clock=clock, lane=lambda _name: None)
    record: Any = SimpleNamespace(attempt=1, lane="opencode")
    handle: Any = None
    seen = Holding("s", services, SessionFolder(tmp_path), handle)
    assert seen.find(record, fresh=True) is None
    for delegate in (11, 12):
        sign(delegate)
        found = seen.find(record, fresh=True)
        assert found is not None
        assert found.delegate is not None
        assert found.delegate.pid == delegate
        assert seen.known is found
        assert seen.find(record, fresh=True) is None, "it is told once"


def test_nothing_is_given_while_its_events_can_t_be_written(held: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it killed then, nobody could say what had been given."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    sent: list[int] = []
    held._engine = SimpleNamespace(pid=None, send=lambda number, _text: sent.append(number))  # type: ignore[assignment]
    held.state = "idle"
    held._queue.append({"number": 1, "op": "send", "text": "x"})
    with monkeypatch.context() as disk:
        disk.setattr(EventLog, "_write", full)
        held.emit({"type": "notice", "text": "x"})
        held._give()
        assert sent == []
    held._give()
    assert sent == [1]
