from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.actors.delegates.sse import SseReader


def read(chunks: list[bytes], cap: int = 1000) -> tuple[list[str], int]:
    reader = SseReader(cap)
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.finish(), reader.dropped


def test_data_lines_make_events_and_comments_do_not() -> None:
    stream = b": ping\n\ndata: one\n\nevent: x\ndata: two\ndata:three\nid: 4\n\n"
    assert read([stream]) == (["one", "two\nthree"], 0)


def test_the_last_event_needs_no_blank_line() -> None:
    assert read([b"data: a\n\ndata: b"])[0] == ["a", "b"]


def test_every_line_ending_counts_once() -> None:
    assert read([b"data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n"])[0] == ["a\nb", "c", "d"]


def test_bad_utf8_is_replaced() -> None:
    assert read([b"data: \xff\xfe\n\n"])[0] == ["\ufffd\ufffd"]


def test_an_event_over_the_cap_is_dropped_and_counted_and_the_next_one_is_read() -> None:
    long = b"data: " + b"x" * 2000 + b"\ndata: rest of it\n\n"
    assert read([long, b"data: next\n\n"]) == (["next"], 1)


def test_memory_is_bounded_by_the_cap() -> None:
    reader = SseReader(1000)
    for _ in range(2000):
        reader.feed(b"x" * 500)
    assert len(reader._line) <= 1000


LINES = st.lists(
    st.sampled_from(
        [b"data: a", b"data:b", b": c", b"", b"", b"event: e", b"data: \xf0\x9f\x98\x80", b"data: " + b"z" * 60]
    ),
    max_size=12,
)


@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 400), max_size=12))
def test_the_cut_does_not_matter(lines: list[bytes], end: bytes, cuts: list[int]) -> None:
    stream = end.join(lines) + end
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]
    whole = read([stream], cap=50)
    assert read(chunks, cap=50) == whole
    assert read([bytes([byte]) for byte in stream], cap=50) == whole


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    read([data])
