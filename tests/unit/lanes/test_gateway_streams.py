"""What the real Claude Code and Codex printed over a gateway, and Cursor's public stream, read back."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import pytest
from fakes.cursor_stream import CURSOR, CURSOR_OUT, SESSION
from fakes.lane_driver import MARKER
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Ending, Stream, Task
from outsourcerer.lanes.evidence import Evidence, fold
from outsourcerer.lanes.jsonl import coalesce
from outsourcerer.lanes.markers import MarkerScanner
from outsourcerer.lanes.outcome import Verdict, judge
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import GenerationNamed, ToolFinished, TurnEnded
from outsourcerer.messages.vocabulary import Verb

STREAMS = Path(__file__).parents[2] / "golden" / "streams"
FOLDERS = {"cc": "cc/2.1.332-2026-11-30", "codexor": "codexor/0.171.0-2026-11-30"}
TASK = Task(verb=Verb.RUN, prompt="x", cwd="/")

# case: state, outcome, (writes, commands), refusals
CASES = {
    ("cc", "answer"): ("done", "completed", (0, 0), 0),
    ("cc", "tools"): ("done", "completed", (0, 1), 0),
    ("cc", "refused"): ("done?", "unverified", (0, 0), 1),
    ("cc", "drop"): ("done", "completed", (0, 0), 0),
    ("cc", "c401"): ("interrupted", "interrupted", (0, 0), 0),
    ("cc", "c402"): ("failed", "plan-limit", (0, 0), 0),
    ("cc", "c404"): ("failed", "model-gone", (0, 0), 0),
    ("codexor", "answer"): ("done", "completed", (0, 0), 0),
    ("codexor", "tools"): ("done", "completed", (0, 1), 0),
    ("codexor", "refused"): ("done?", "unverified", (0, 0), 0),
    ("codexor", "drop"): ("done", "completed", (0, 0), 0),
    ("codexor", "c401"): ("failed", "auth", (0, 0), 0),
    ("codexor", "c402"): ("failed", "plan-limit", (0, 0), 0),
    ("codexor", "c404"): ("failed", "model-gone", (0, 0), 0),
}


def read(lane_name: str, out: bytes, err: bytes, code: int) -> tuple[Evidence, Verdict]:
    lane = builtin(lane_name)
    status = ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)
    parser = lane.parser(TASK)
    events = [*parser.feed(out), *parser.feed(err, Stream.ERR), *parser.finish(status)]
    seen = reduce(fold, MarkerScanner(MARKER).scan(events), Evidence())
    failure = lane.classify(Ending(exit=status, turn=seen.turn, retries=seen.retry_statuses))
    return seen, judge(seen, status, failure=failure)


def recorded(lane: str, case: str) -> tuple[bytes, bytes, int]:
    place = STREAMS / FOLDERS[lane]
    return (
        (place / f"{case}.out").read_bytes(),
        (place / f"{case}.err").read_bytes(),
        int((place / f"{case}.rc").read_text()),
    )


def test_every_recorded_case_is_told_here() -> None:
    found = {(lane, path.stem) for lane, folder in FOLDERS.items() for path in (STREAMS / folder).glob("*.rc")}
    assert found == set(CASES)


@pytest.mark.parametrize(("lane", "case"), CASES)
def test_a_recorded_case(lane: str, case: str) -> None:
    seen, verdict = read(lane, *recorded(lane, case))
    state, outcome, tally, refusals = CASES[lane, case]
    assert (verdict.state.value, verdict.outcome) == (state, outcome)
    assert ((seen.writes, seen.bash), seen.denials) == (tally, refusals)
    assert seen.unrecognised == 0
    assert seen.conversation


def test_generations_are_named_once_each_and_a_price_that_is_a_guess_is_not_told() -> None:
    seen, _verdict = read("cc", *recorded("cc", "tools"))
    assert len(seen.generations) == 2
    assert all(name.startswith("gen-") for name in seen.generations)
    assert not seen.generations_lost
    assert seen.cash_usd is None
    assert read("cc", *recorded("cc", "drop"))[0].generations_lost
    assert read("codexor", *recorded("codexor", "tools"))[0].generations == ()


def test_anthropics_own_message_ids_name_no_generation() -> None:
    line = {"type": "assistant", "message": {"id": "msg_1", "content": [{"type": "text", "text": "x"}]}}
    events = builtin("claude").parser(TASK).feed(json.dumps(line).encode() + b"\n")
    assert not any(isinstance(event, GenerationNamed) for event in events)


def test_cursors_stream() -> None:
    seen, verdict = read("cursor", CURSOR_OUT, b"", 0)
    assert (verdict.state.value, seen.answer) == ("done?", "I will.Done.")
    assert (seen.reads, seen.writes, seen.bash, seen.other_tools) == (1, 0, 1, 1)
    assert seen.denied == ("write",)
    assert (seen.conversation, seen.model, seen.usage) == ("c6b62c6f", "Auto", None)
    assert seen.unrecognised == 0


def test_cursors_failures_of_a_tool() -> None:
    events = builtin("cursor").parser(TASK).feed(CURSOR_OUT)
    ends = [event for event in events if isinstance(event, ToolFinished)]
    assert [(end.name, end.ok, end.denied, end.excerpt) for end in ends] == [
        ("read", True, False, None),
        ("shell", False, False, "no"),
        ("write", False, True, "not allowed"),
        ("mcp_x", True, False, None),
    ]


def test_cursors_tokens_where_it_tells_them() -> None:
    usage = {"inputTokens": 10, "cacheReadTokens": 3, "cacheWriteTokens": 2, "outputTokens": 1}
    last = CURSOR[-1] | SESSION | {"usage": usage}
    seen, _verdict = read("cursor", json.dumps(last).encode() + b"\n", b"", 0)
    assert seen.usage == TokenUsage(input=10, cached_input=3, cache_write=2, output=1)


@pytest.mark.parametrize(
    ("err", "code", "outcome"),
    [
        (b"Error: You've hit your usage limit\n", 1, "plan-limit"),
        (b"Error: Authentication required. Please run 'agent login'\n", 1, "auth"),
        (b"Error: something else\n", 1, "exit-nonzero"),
    ],
)
def test_cursor_without_its_result_line(err: bytes, code: int, outcome: str) -> None:
    out = CURSOR_OUT.rpartition(b'{"type":"result"')[0]
    _seen, verdict = read("cursor", out, err, code)
    assert (verdict.state.value, verdict.outcome) == ("failed", outcome)
    _seen, killed = read("cursor", out, b"", -9)
    assert killed.state.value == "interrupted"


@pytest.mark.parametrize("lane", ["cc", "codexor", "cursor"])
@given(data=st.data())
def test_the_same_events_however_the_bytes_are_cut_and_never_two_ends(lane: str, data: st.DataObject) -> None:
    out = CURSOR_OUT if lane == "cursor" else recorded(lane, "tools")[0]
    places = sorted(data.draw(st.lists(st.integers(0, len(out)), max_size=6)))
    whole, cut = builtin(lane).parser(TASK), builtin(lane).parser(TASK)
    one = [*whole.feed(out), *whole.finish(ExitStatus(code=0))]
    other = []
    for start, end in zip([0, *places], [*places, len(out)], strict=True):
        other += cut.feed(out[start:end])
    other += cut.finish(ExitStatus(code=0))
    assert coalesce(other) == coalesce(one)
    assert sum(isinstance(event, TurnEnded) for event in one) == 1


@given(st.lists(st.sampled_from(CURSOR_OUT.splitlines(keepends=True)), max_size=12), st.binary(max_size=20))
def test_cursors_lines_in_any_order_never_raise_and_never_end_done(lines: list[bytes], noise: bytes) -> None:
    _seen, verdict = read("cursor", noise.join(lines), noise, 0)
    assert verdict.state.value != "done"
