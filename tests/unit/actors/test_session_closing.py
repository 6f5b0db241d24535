"""What a log is told once nobody is left who would write it."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.clock import FakeClock
from outsourcerer.actors import sessions as module
from outsourcerer.actors.base import Directory
from outsourcerer.actors.holder_log import EventLog
from outsourcerer.actors.session_closing import CLOSE_AGAIN_S, MOST_CLOSINGS, close_log, closed
from outsourcerer.messages.session import SessionRecord
from outsourcerer.state.session_folder import SessionFolder


@pytest.fixture
def folder(tmp_path: Path) -> SessionFolder:
    (tmp_path / "inbox").mkdir()
    return SessionFolder(tmp_path)


def give(folder: SessionFolder, *numbers: int) -> None:
    for number in numbers:
        folder.prepare(number, {"id": f"c:{number}", "op": "send", "text": "x"})
        assert folder.promise(number)


def tell(folder: SessionFolder, *events: dict[str, Any]) -> None:
    log = EventLog(str(folder.path))
    for event in events:
        log.append(event)


def delivery(number: int, state: str) -> dict[str, Any]:
    return {"type": "delivery", "number": number, "state": state}


def news(folder: SessionFolder, since: int) -> list[tuple[Any, ...]]:
    lines = (folder.path / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    return [
        (row["type"], row.get("number"), row.get("state"), row.get("id"), row["reason"])
        for row in events
        if row["seq"] > since
    ]


STARTED = {"type": "state", "state": "starting"}


def test_everything_that_was_given_has_an_end_once_the_holder_was_killed(folder: SessionFolder) -> None:
    give(folder, 1, 2, 3, 4)
    tell(folder, STARTED, delivery(1, "turn-started"), delivery(2, "written"), delivery(3, "accepted"))
    close_log(folder, 1, "its holder died")
    told = [
        ("delivery", 2, "unverified", "c:2", "its holder died"),  # it may have got that: nobody says that it did not
        ("delivery", 3, "failed", "c:3", "its holder died"),
        ("delivery", 4, "failed", "c:4", "its holder died"),
        ("exited", None, None, None, "its holder died"),
    ]
    assert news(folder, 4) == told
    close_log(folder, 1, "its holder died")
    assert news(folder, 4) == told


def test_a_holder_that_said_how_it_ended_is_only_completed(folder: SessionFolder) -> None:
    give(folder, 1, 2)
    tell(folder, STARTED, delivery(1, "done"), {"type": "exited"})
    folder.write_json("exit.json", {"attempt": 1, "code": 0})
    close_log(folder, 1, None)
    assert news(folder, 3) == [("delivery", 2, "failed", "c:2", "the session ended first")]
    # Started anew and killed: that is another end.
    tell(folder, STARTED)
    close_log(folder, 2, "its holder died")
    assert news(folder, 5) == [("exited", None, None, None, "its holder died")]


def test_what_a_damaged_log_lost_is_not_called_undelivered(folder: SessionFolder) -> None:
    give(folder, 1, 2)
    tell(folder, STARTED, delivery(2, "turn-started"))
    close_log(folder, 1, "its holder died")
    assert [row[0] for row in news(folder, 2)] == ["exited"]


def test_a_log_that_somebody_may_still_write_is_left_alone(folder: SessionFolder) -> None:
    give(folder, 1)
    assert closed(folder, 1, "stopped on request", (7,)) is True
    assert not (folder.path / "events.jsonl").exists()
    assert closed(folder, 1, "stopped on request", ()) is True
    assert len(news(folder, 0)) == 2


@pytest.mark.parametrize(
    ("state", "op", "became"),
    [
        ("idle", "send", ["unverified", "failed"]),  # killed between giving it and writing that down
        ("working", "send", ["failed", "failed"]),  # nothing of the queue is given then
        ("working", "interrupt", ["unverified", "unverified"]),  # this is given at once
    ],
)
def test_what_a_killed_holder_may_have_been_giving_is_not_called_undelivered(
    folder: SessionFolder, state: str, op: str, became: list[str]
) -> None:
    for number in (1, 2):
        folder.prepare(number, {"id": f"c:{number}", "op": op})
        assert folder.promise(number)
    tell(folder, STARTED, {"type": "state", "state": state}, delivery(1, "accepted"), delivery(2, "accepted"))
    assert close_log(folder, 1, "its holder died")
    assert [row[2] for row in news(folder, 4) if row[0] == "delivery"] == became


def test_a_log_that_takes_nothing_is_to_be_closed_again(folder: SessionFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    give(folder, 1)
    with monkeypatch.context() as disk:
        disk.setattr(EventLog, "_write", full)
        assert closed(folder, 1, "its holder died", ()) is False
    assert closed(folder, 1, "its holder died", ()) is True
    assert [row[0] for row in news(folder, 0)] == ["delivery", "exited"]


@pytest.mark.parametrize("heard", [3, 10_000])
def test_a_log_of_one_that_was_given_up_is_closed_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: int
) -> None:
    tries: list[str] = []
    terms: dict[str, Any] = {"lane": "claude", "vehicle": "claude", "verb": "run", "provider": "claude"}
    record = SessionRecord(
        session_id="20270115-080000-0123456789ab", name="a", transport="native", cwd="/", accepted_at=0.0, **terms
    )

    def close(_folder: SessionFolder, _attempt: int, reason: str, _survivors: tuple[int, ...]) -> bool:
        tries.append(reason)
        return len(tries) == heard

    clock, home = FakeClock(), SimpleNamespace(session_dir=lambda _: tmp_path)
    monkeypatch.setattr(module, "end_session", lambda *_: ())
    monkeypatch.setattr(module, "closed", close)
    monkeypatch.setattr(module, "in_background", lambda _name, _to, work, otherwise: actor.receive_own(work()))
    services = SimpleNamespace(clock=clock, home=home, epochs=iter([1]))
    actor = module.Sessions(services=services, name="sessions", directory=Directory())
    monkeypatch.setattr(actor, "_record", lambda _: record)
    told: list[tuple[str, int]] = []
    monkeypatch.setattr(actor, "_append", lambda facts: told.extend((fact.state.value, len(tries)) for fact in facts))
    actor._names["a"] = record.session_id
    actor.gave_up(f"session:{record.session_id}", "KeyError: 'x'")
    while due := clock.waiting():
        assert "a" in actor._names, "it can't be started anew meanwhile: that would be ended with it"
        clock.advance(CLOSE_AGAIN_S)
        actor.receive_own(due[0])
    assert tries == ["supervisor gave up: KeyError: 'x'"] * min(heard, MOST_CLOSINGS + 1)
    assert not actor._names
    assert told == [("lost", len(tries))], "the next supervisor closes no log of one that has ended"
