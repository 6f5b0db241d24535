"""Lines come out the same however the bytes are cut, and no more than the cap is held."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.framing import TAIL, LineFramer, LongLine, clean_line, strip_controls

CAP = 64


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def lines_of(pieces: list[bytes], cap: int = CAP) -> list[bytes | LongLine]:
    framer = LineFramer(cap)
    found = [line for piece in pieces for line in framer.split(piece)]
    return found + framer.rest()


pieces_of_lines = st.lists(
    st.one_of(st.binary(max_size=20), st.just(b"\n"), st.integers(60, 70).map(lambda n: b"x" * n)), max_size=20
)


@given(pieces_of_lines.map(b"".join), st.lists(st.integers(0, 10_000), max_size=12))
def test_any_cut_gives_the_same_lines(data: bytes, places: list[int]) -> None:
    whole = lines_of([data])
    assert lines_of(cut(data, places)) == whole
    assert lines_of([data[i : i + 1] for i in range(len(data))]) == whole


@given(pieces_of_lines.map(b"".join), st.lists(st.integers(0, 10_000), max_size=12))
def test_a_block_holds_the_same_bytes(data: bytes, places: list[int]) -> None:
    framer = LineFramer(CAP)
    block, lost = b"", 0
    for piece in cut(data, places):
        part, gone = framer.block(piece)
        block, lost = block + part, lost + gone
    heads = [line.head if isinstance(line, LongLine) else line for line in lines_of([data])]
    rest = framer.rest()
    tail = b"".join(line.head if isinstance(line, LongLine) else line for line in rest)
    lost += sum(line.length - len(line.head) for line in rest if isinstance(line, LongLine))
    assert block + tail == b"\n".join(heads) + (b"\n" if data.endswith(b"\n") and data else b"")
    assert len(block) + len(tail) + lost == len(data)


def test_a_line_of_exactly_the_cap_is_whole_and_one_more_byte_is_not() -> None:
    assert lines_of([b"a" * CAP + b"\n"]) == [b"a" * CAP]
    long = lines_of([b"a" * CAP + b"b\n"])
    assert long == [LongLine(b"a" * CAP, b"a" * CAP + b"b", CAP + 1)]


def test_of_a_huge_line_only_the_ends_are_held() -> None:
    framer = LineFramer(CAP)
    for _ in range(100):
        framer.split(b"m" * TAIL)
        assert len(framer._buffer) + len(framer._tail) <= CAP + 3 * TAIL
    [line] = framer.split(b"end\n")
    assert isinstance(line, LongLine)
    assert line.length == 100 * TAIL + 3
    assert line.head == b"m" * CAP
    assert line.tail == b"m" * (TAIL - 3) + b"end"


def test_lines_are_cleaned_of_what_a_terminal_would_not_show() -> None:
    noise = "\x1b]0;title\x07\x1b[31mred\x1b[0m \x9b1mbold\x1b(B \x1bP1$q\x1b\\tail\x07"
    assert strip_controls(noise) == "red bold tail"
    assert clean_line(b"10%\r55%\r100% done\r") == "100% done"
    assert clean_line(b"\xff\xc3") == "\ufffd\ufffd"
    assert strip_controls("a\tb\nc") == "a\tb\nc"
    assert strip_controls("\x1b]0;never closed\nnext line") == "\nnext line"


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    cleaned = strip_controls(text)
    assert not [char for char in cleaned if ord(char) < 32 and char not in "\t\n"]
    assert not [char for char in cleaned if 127 <= ord(char) < 160]
    assert strip_controls(cleaned) == cleaned
