"""What a log is told once nobody is left who would write it."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from outsourcerer.actors.holder_log import EventLog
from outsourcerer.actors.session_closing import close_log, closed
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
