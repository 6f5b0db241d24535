"""Every recorded stream of every lane, bent: nothing raises, the turn ends once, and no DONE comes from nowhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, reduce
from pathlib import Path

import pytest
from fakes.recorded import STREAMS, TASK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Ending, Stream
from outsourcerer.lanes.evidence import Evidence, fold
from outsourcerer.lanes.markers import MarkerScanner
from outsourcerer.lanes.outcome import Verdict, judge
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import LANE_EVENT, TurnEnded
from outsourcerer.messages.vocabulary import JobState

KEY = "0123456789abcdef"
SIGNED = f"OSRC::DONE #{KEY} all of it"
FOREIGN = "OSRC::DONE #fedcba9876543210 all of it"
FOLDERS = {place.parent.name: place for place in sorted(STREAMS.glob("*/*"))}
ENDS = (ExitStatus(code=0), ExitStatus(code=1), ExitStatus(signal=15), ExitStatus(lost=True), ExitStatus(code=143))
GARBAGE = (
    b"",
    b"\xff\xfe\x00",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b'{"type":null}',
    b'{"type":["result"]}',
    b'{"type":"result"',
    b'{"type":"result","result":{},"usage":[],"is_error":"no"}',
    b'{"type":"error","error":[[]],"message":7}',
    b"\x1b]0;title\x07\x1b[2J",
    b"x" * 5000,
    FOREIGN.encode(),
    SIGNED.encode(),
    json.dumps({"type": "user", "message": {"content": [{"type": "tool_result", "content": SIGNED}]}}).encode(),
    json.dumps({"type": "tool_result", "value": SIGNED, "output": SIGNED, "content": SIGNED}).encode(),
    json.dumps({"text": SIGNED}).encode(),
)
BUDGET = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@cache
def runs(name: str) -> tuple[Path, ...]:
    return tuple(sorted(FOLDERS[name].glob("*.out")))


@cache
def unsigned(name: str) -> tuple[tuple[bytes, bytes], ...]:
    """stdout and stderr of every recorded run, and good ones whose last line is signed by somebody else."""
    recorded = [(path.read_bytes(), path.with_suffix(".err").read_bytes()) for path in runs(name)]
    return (*recorded, *((out.replace(SIGNED.encode(), FOREIGN.encode()), b"") for out in signed(name)))


def judged(name: str, out: bytes, err: bytes, status: ExitStatus) -> tuple[Evidence, Verdict]:
    """Read bytes as a job does: parser, scanner, fold, classify, judge."""
    lane = builtin(name)
    parser, scanner = lane.parser(TASK), MarkerScanner(KEY)
    events = [*parser.feed(out), *parser.feed(err, Stream.ERR), *parser.finish(status)]
    assert sum(isinstance(event, TurnEnded) for event in events) >= 1
    assert parser.finish(status) == []
    for event in events:
        LANE_EVENT.validate_python(event.model_dump())
    seen = reduce(fold, scanner.scan(events), Evidence())
    failure = lane.classify(Ending(exit=status, turn=seen.turn, retries=seen.retry_statuses))
    return seen, judge(seen, status, failure=failure)


@st.composite
def bent(draw: st.DrawFn, lines: Sequence[bytes]) -> bytes:
    """Lines cut, doubled, dropped, swapped, mixed with garbage; bytes flipped; the end torn off."""
    bending = list(lines)
    for _ in range(draw(st.integers(1, 5))):
        place = draw(st.integers(0, max(0, len(bending) - 1)))
        match draw(st.sampled_from(("double", "drop", "swap", "garbage", "cut", "flip", "shuffle"))):
            case "double" if bending:
                bending.insert(draw(st.integers(0, len(bending))), bending[place])
            case "drop" if bending:
                del bending[place]
            case "swap" if bending:
                other = draw(st.integers(0, len(bending) - 1))
                bending[place], bending[other] = bending[other], bending[place]
            case "garbage":
                bending.insert(place, draw(st.sampled_from(GARBAGE)))
            case "cut" if bending:
                bending[place] = bending[place][: draw(st.integers(0, len(bending[place])))]
            case "flip" if bending and bending[place]:
                at = draw(st.integers(0, len(bending[place]) - 1))
                flipped = bytes([draw(st.integers(0, 255))])
                bending[place] = bending[place][:at] + flipped + bending[place][at + 1 :]
            case "shuffle":
                bending = draw(st.permutations(bending)) if len(bending) <= 60 else bending[::-1]
            case _:
                pass
    whole = b"\n".join(bending) + b"\n"
    return whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole


@pytest.mark.parametrize("name", FOLDERS)
@BUDGET
@given(data=st.data())
def test_a_bent_stream_never_raises_and_is_never_done(name: str, data: st.DataObject) -> None:
    source, complaint = data.draw(st.sampled_from(unsigned(name)))
    out, err = data.draw(bent(source.splitlines())), data.draw(bent(complaint.splitlines()))
    seen, verdict = judged(name, out, err, data.draw(st.sampled_from(ENDS)))
    assert verdict.state is not JobState.DONE, (verdict, seen.last_terminal)


def signed_runs(name: str) -> list[bytes]:
    """The lane's recorded good runs, as if their answers had ended with the signed line."""
    found = []
    for path in runs(name):
        out = path.read_bytes()
        seen, verdict = judged(name, out, b"", ExitStatus(code=0))
        answer = (seen.answer or "").strip()
        if verdict.state is not JobState.DONE_UNVERIFIED or len(answer) < 4:
            continue
        for escape in (lambda text: json.dumps(text)[1:-1], lambda text: json.dumps(text, ensure_ascii=False)[1:-1]):
            told = out.replace(escape(answer).encode(), escape(f"{answer}\n{SIGNED}").encode())
            if judged(name, told, b"", ExitStatus(code=0))[1].state is JobState.DONE:
                found.append(told)
                break
    return found


@pytest.mark.parametrize("name", FOLDERS)
def test_a_signed_answer_is_done_and_a_torn_one_is_not(name: str) -> None:
    told = signed_runs(name)
    assert told, "no recorded run can be signed: the other test would prove nothing"
    for out in told[:3]:
        lines = out.splitlines(keepends=True)
        for kept in range(len(lines)):
            for status in (ExitStatus(code=1), ExitStatus(signal=9), ExitStatus(lost=True)):
                seen, verdict = judged(name, b"".join(lines[:kept]), b"", status)
                ended = seen.turn is not None and not seen.turn.synthetic and seen.turn.ok
                assert verdict.state is not JobState.DONE or ended, (kept, status)
        if len(lines) > 1:
            assert judged(name, lines[0], b"", ExitStatus(code=0))[1].state is not JobState.DONE


@pytest.mark.parametrize("name", FOLDERS)
@BUDGET
@given(data=st.data())
def test_a_bent_signed_stream_is_done_only_with_both_words(name: str, data: st.DataObject) -> None:
    out = data.draw(bent(data.draw(st.sampled_from(signed(name))).splitlines()))
    seen, verdict = judged(name, out, b"", data.draw(st.sampled_from(ENDS)))
    if verdict.state is JobState.DONE:
        assert f"OSRC::DONE #{KEY}".encode() in out
        assert seen.turn is not None
        assert seen.turn.ok


@cache
def signed(name: str) -> tuple[bytes, ...]:
    return tuple(signed_runs(name))
