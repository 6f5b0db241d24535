"""What somebody who gave a session something is told, by the session's events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from outsourcerer.cli import session_parts, sessions
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.session_events import Events
from outsourcerer.cli.session_giving import Receipt, see, see_end

ASK = {"type": "ask", "request": "r1"}
ANSWERED = {"type": "answered", "request": "r1"}
EXITED = {"type": "exited", "reason": "its holder died"}


def delivery(state: str, number: int = 2) -> dict[str, Any]:
    return {"type": "delivery", "number": number, "state": state}


def events(tmp_path: Path, *rows: dict[str, Any]) -> Events:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps({"seq": seq, **row}) + "\n" for seq, row in enumerate(rows, 1)))
    return Events(str(path))


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([delivery("accepted"), ASK], 3),  # of the turn that it waits for: nothing goes on without an answer
        ([delivery("accepted"), ASK, ANSWERED, delivery("turn-started"), {"type": "end", "ok": True}], 0),
        ([ASK, {"type": "end", "ok": False}, delivery("turn-started"), {"type": "end", "ok": True}], 0),
        ([delivery("turn-started"), EXITED], 1),
        ([delivery("turn-started"), {"type": "end", "ok": True}, {"type": "end", "ok": False}, EXITED], 0),
        ([delivery("accepted"), delivery("failed"), EXITED], 1),
        ([delivery("written"), delivery("unverified")], 2),
        # What proves its turn may be seen late; the end of another's turn is not its own.
        ([delivery("written"), delivery("unverified"), {"type": "end", "ok": True, "text": "here it is"}], 0),
        ([delivery("unverified"), delivery("written", 3), {"type": "end", "ok": True}], 2),
        ([delivery("unverified"), EXITED], 2),
        ([delivery("accepted")], 124),
    ],
)
def test_a_wait_ends_with_the_turn_a_question_or_the_session(
    tmp_path: Path, rows: list[dict[str, Any]], code: int
) -> None:
    assert see_end(Receipt(2, "c:2"), events(tmp_path, *rows), 0.1).exit_code == code


def test_nobody_waits_for_a_session_that_is_over_though_its_log_does_not_say_so(tmp_path: Path) -> None:
    log = events(tmp_path, delivery("accepted"))
    seen = see_end(Receipt(2, "c:2"), log, None, lambda: True)
    assert (seen.exit_code, seen.end) == (1, {"ok": False, "message": "the session ended"})
    assert see(Receipt(2, "c:2"), log, 60.0, lambda: True).exit_code == 1
    # What it had by then counts, however it was told.
    assert see(Receipt(2, "c:2"), events(tmp_path, delivery("seen")), 60.0, lambda: True).exit_code == 0


@pytest.mark.parametrize(
    ("word", "means"),
    [
        ("2", (None, "2")),  # an option's number, though the only id begins so
        ("20261130", (None, "20261130")),
        ("20261130-124501", ("20261130-124501", None)),
        ("fix", ("fix", None)),
        ("yes", (None, "yes")),
    ],
)
def test_one_word_alone_is_a_name_only_where_that_is_meant(
    monkeypatch: pytest.MonkeyPatch, word: str, means: tuple[str | None, str | None]
) -> None:
    row = {"session_id": "20261130-124501-000000000001", "name": "fix"}

    def named(_reach: object, token: str) -> dict[str, Any]:
        if token == "fix" or row["session_id"].startswith(token):
            return row
        raise CliError("no_such_session", "there is none")

    monkeypatch.setattr(sessions, "named", named)
    assert session_parts.split(None, (word,)) == means  # type: ignore[arg-type] - never asked
