"""The file in which a CLI tells at its end what its stream does not: read once, by name, never trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from outsourcerer.actors.job_output import REPORT_LIMIT, JobOutput
from outsourcerer.lanes.contract import Task
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.vocabulary import Verb

REPORT = json.dumps({"modelMetrics": {"m": {"usage": {"inputTokens": 7, "outputTokens": 2, "cacheReadTokens": 3}}}})
END = b'{"type":"result","sessionId":"s","exitCode":0}\n'


def usage(folder: Path, lane: str = "copilot") -> TokenUsage | None:
    output = JobOutput(builtin(lane), Task(verb=Verb.RUN, prompt="x", cwd="/"), None, folder / "events.jsonl")
    output.feed(END, "out")
    output.finish(ExitStatus(code=0))
    return output.evidence.usage


def test_a_report_is_read_when_the_output_has_ended(tmp_path: Path) -> None:
    (tmp_path / "usage.json").write_text(REPORT)
    assert usage(tmp_path) == TokenUsage(input=4, cached_input=3, output=2)
    assert "usage_reported" in (tmp_path / "events.jsonl").read_text()


def test_a_lane_without_one_reads_none(tmp_path: Path) -> None:
    (tmp_path / "usage.json").write_text(REPORT)
    assert usage(tmp_path, "claude") is None


@pytest.mark.parametrize("there", ["nothing", "empty", "link", "folder", "huge", "garbage"])
def test_what_is_no_report_is_no_usage(tmp_path: Path, there: str) -> None:
    place, elsewhere = tmp_path / "usage.json", tmp_path / "elsewhere"
    elsewhere.write_text(REPORT)
    match there:
        case "empty":
            place.write_bytes(b"")
        case "link":
            place.symlink_to(elsewhere)
        case "folder":
            place.mkdir()
        case "huge":
            place.write_bytes(REPORT.encode() + b" " * REPORT_LIMIT)
        case "garbage":
            place.write_bytes(b"\xff\x00{")
    assert usage(tmp_path) is None
