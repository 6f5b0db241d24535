"""What a CLI writes down of its own conversation, as the proof of a turn in a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from outsourcerer.actors.transports.recorded import record_for
from outsourcerer.actors.transports.records import Record

ONE = "9f369b2b-161c-46a4-986b-600d218c2bb0"


def asked(cli: str, text: str) -> dict[str, Any]:
    if cli == "claude":
        return {"type": "user", "message": {"content": text}}
    return {"type": "user.message", "data": {"content": text, "transformedContent": f"<now>today</now>\n\n{text}"}}


def said(cli: str, text: str, *, calls: bool = False, beside: bool = False) -> dict[str, Any]:
    if cli == "claude":
        message = {"content": [{"type": "text", "text": text}], "model": "model-1"}
        return {"type": "assistant", "message": message, "isSidechain": beside}
    data = {"content": text, "model": "model-1", "toolRequests": [{"name": "bash"}] if calls else []}
    return {"type": "assistant.message", "data": data | ({"parentToolCallId": "call_1"} if beside else {})}


def stopped(cli: str) -> dict[str, Any]:
    return asked(cli, "[Request interrupted by user]") if cli == "claude" else {"type": "abort", "data": {}}


class Written:
    """One conversation of a CLI on the disk, and its record."""

    def __init__(self, cli: str, home: Path) -> None:
        self.cli = cli
        if cli == "claude":
            presence = home / ".claude" / "sessions" / "77.json"
            presence.parent.mkdir(parents=True)
            presence.write_text(json.dumps({"sessionId": ONE, "status": "busy"}))
            self.path = home / ".claude" / "projects" / "-a" / f"{ONE}.jsonl"
        else:
            self.path = home / ".copilot" / "session-state" / ONE / "events.jsonl"
        found = record_for(cli, {"HOME": str(home)}, 77, ONE)
        assert found is not None
        self.record: Record = found

    def write(self, *rows: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(params=["claude", "copilot"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    return Written(request.param, tmp_path)


def test_a_text_is_recorded_once_it_is_written_down_and_its_turn_ends_with_its_last_words(written: Written) -> None:
    cli, record = written.cli, written.record
    record.expect("And again?\nIn full.")
    assert (record.answer(), record.behind()) == (None, False)
    written.write(asked(cli, "And again?  In full."))
    record.poll(0.0)
    assert (record.has_expected, record.behind()) == (True, True)
    written.write(said(cli, "Of a helper.", beside=True))
    assert record.behind()
    written.write(said(cli, "The answer."))
    assert (record.behind(), record.answer()) == (False, "The answer.")


def test_what_was_written_before_the_text_was_given_proves_nothing(written: Written) -> None:
    cli, record = written.cli, written.record
    earlier = [asked(cli, "again"), said(cli, "x" * 4000)] * 600
    written.write(*earlier)
    record.expect("again")
    record.poll(1.0)
    assert (record.has_expected, record.behind(), record.answer()) == (False, False, None)


def test_a_turn_that_was_stopped_is_not_waited_for(written: Written) -> None:
    cli, record = written.cli, written.record
    record.expect("again")
    written.write(asked(cli, "again"), stopped(cli))
    assert (record.behind(), record.answer()) == (False, "")


def test_copilot_s_turn_goes_on_while_it_calls_tools(tmp_path: Path) -> None:
    written = Written("copilot", tmp_path)
    written.record.expect("go")
    written.write(asked("copilot", "go"), said("copilot", "First this.", calls=True))
    assert written.record.behind()
    written.write(said("copilot", "Done."))
    told: list[dict[str, Any]] = []
    written.record.tell(told.append)
    assert (written.record.behind(), written.record.answer()) == (False, "First this.\n\nDone.")
    written.record.tell(told.append)
    assert told == [{"type": "start", "model": "model-1", "conversation": ONE}]


def test_lines_that_are_none_are_passed_over(written: Written) -> None:
    cli, record = written.cli, written.record
    record.expect("go")
    written.write(asked(cli, "never"))
    with written.path.open("ab") as out:
        out.write(b'\xff\n[]\n{"type": 3, "data": []}\n{"type": "assistant", "message": 1}\n' + b"[" * 9000 + b"\n")
    written.write(asked(cli, "go"))
    with written.path.open("ab") as out:
        out.write(b'{"half": ')
    assert (record.answer(), record.behind()) == ("", True)


@pytest.mark.parametrize("conversation", [None, "", "../../etc", "a/b"])
def test_only_a_conversation_that_was_named_has_a_record(conversation: str | None) -> None:
    assert record_for("copilot", {"HOME": "/nowhere"}, 1, conversation) is None
    assert record_for("codex", {"HOME": "/nowhere"}, 1, ONE) is None
