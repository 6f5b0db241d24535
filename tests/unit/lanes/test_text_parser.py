"""The text parser: stdout is the answer."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes import text as text_module
from outsourcerer.lanes.contract import Stream
from outsourcerer.lanes.framing import LINE_CAP
from outsourcerer.lanes.jsonl import coalesce
from outsourcerer.lanes.text import TextParser
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, Spoke, TurnEnded

OK = ExitStatus(code=0)


def parse(*chunks: bytes, exit_status: ExitStatus = OK) -> list:
    parser = TextParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return coalesce(events + parser.finish(exit_status))


def test_what_is_printed_is_the_answer() -> None:
    assert parse(b"one\ntw", b"o\n\nthree") == [
        Spoke(text="one\ntwo\n\nthree", partial=True),
        TurnEnded(ok=True, text="one\ntwo\n\nthree", synthetic=True),
    ]


def test_nothing_printed_is_no_answer() -> None:
    assert parse(b" \n")[-1] == TurnEnded(ok=True, text=None, synthetic=True)


def test_the_exit_says_how_it_went_and_stderr_why() -> None:
    parser = TextParser()
    parser.feed(b"half\n")
    parser.feed(b"boom\n", Stream.ERR)
    assert parser.finish(ExitStatus(code=2)) == [
        TurnEnded(ok=False, text="half", failure=FailureKind.TASK, message="boom", synthetic=True)
    ]
    assert parser.finish(OK) == []


def test_progress_bars_and_colours_are_what_a_terminal_shows() -> None:
    assert parse(b"10%\r100%\r\n\x1b[1mdone\x1b[0m\xff\n")[-1].text == "100%\ndone\ufffd"


def test_of_a_flood_the_end_is_kept_and_said_so(monkeypatch) -> None:
    monkeypatch.setattr(text_module, "ANSWER_CAP", 1000)
    parser = TextParser()
    for number in range(1000):
        parser.feed(b"%06d\n" % number)
    [end] = parser.finish(OK)
    assert end.text.endswith("000999")
    assert len(end.text) <= 1010
    assert end.message == "5999 characters of its output are only in the log"


def test_a_line_over_the_cap_is_cut_and_said_so() -> None:
    [spoke, end] = parse(b"x" * (LINE_CAP + 500))
    assert len(spoke.text) == LINE_CAP
    assert end.message == "500 characters of its output are only in the log"


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=8))
def test_any_cut_gives_the_same_events(data: bytes, places: list[int]) -> None:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    assert parse(*[data[a:b] for a, b in pairwise(edges)]) == parse(data)
