import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages import codec
from outsourcerer.messages.codec import FrameError, FrameReader, decode, encode
from outsourcerer.messages.vocabulary import FRAME_LIMIT

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
FRAMES = st.dictionaries(st.text(max_size=5), JSON, max_size=4)


def cut(data, places):
    """``data`` in pieces, cut at ``places``."""
    edges = sorted({place % (len(data) + 1) for place in places})
    return [data[start:end] for start, end in zip([0, *edges], [*edges, len(data)], strict=True)]


@given(st.lists(FRAMES, max_size=5), st.lists(st.integers(0), max_size=20))
def test_the_same_frames_however_they_are_cut(frames, places):
    reader = FrameReader()
    found = [decode(line) for piece in cut(b"".join(map(encode, frames)), places) for line in reader.feed(piece)]
    assert found == frames


@given(FRAMES)
def test_byte_by_byte(frame):
    reader = FrameReader()
    data = encode(frame)
    assert data.count(b"\n") == 1
    lines = [line for index in range(len(data)) for line in reader.feed(data[index : index + 1])]
    assert [decode(line) for line in lines] == [frame]


@given(st.binary(max_size=300), st.lists(st.integers(0), max_size=10))
def test_garbage_is_a_frame_error_and_nothing_else(data, places):
    reader = FrameReader()
    for piece in cut(data, places):
        for line in reader.feed(piece):
            with contextlib.suppress(FrameError):
                assert isinstance(decode(line), dict)


@pytest.mark.parametrize(
    "line", [b"", b"{", b"null", b"[]", b"3", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"{}x"]
)
def test_what_is_no_frame(line):
    with pytest.raises(FrameError):
        decode(line)


def test_empty_lines_are_skipped():
    assert list(FrameReader().feed(b"\n\n{}\n\n")) == [b"{}"]


def test_the_largest_frame_passes_and_one_byte_more_does_not():
    overhead = len(encode({"t": ""}))
    largest = encode({"t": "x" * (FRAME_LIMIT - overhead)})
    assert len(largest) == FRAME_LIMIT
    assert len(list(FrameReader().feed(largest))) == 1
    with pytest.raises(FrameError):
        encode({"t": "x" * (FRAME_LIMIT - overhead + 1)})


def test_an_endless_line_is_refused_before_it_is_held(monkeypatch):
    monkeypatch.setattr(codec, "FRAME_LIMIT", 1000)
    reader = FrameReader()
    for _ in range(10):
        assert list(reader.feed(b"x" * 100)) == []
    with pytest.raises(FrameError, match="without an end"):
        list(reader.feed(b"x"))
    with pytest.raises(FrameError, match="over the limit"):
        list(FrameReader().feed(b"x" * 1001 + b"\n"))


def test_a_frame_in_pieces_up_to_the_limit_passes(monkeypatch):
    monkeypatch.setattr(codec, "FRAME_LIMIT", 1000)
    reader = FrameReader()
    lines = [line for _ in range(3) for piece in (b"y" * 600, b"y" * 399, b"\n") for line in reader.feed(piece)]
    assert [len(line) for line in lines] == [999, 999, 999]


def test_text_that_is_not_utf8_on_disk_comes_through():
    frame = {"path": b"/x/\xff".decode("utf-8", "surrogateescape"), "u": "ünï ☃ \U0001f600"}
    assert decode(encode(frame).rstrip(b"\n")) == frame
    assert json.loads(encode({"u": "ü"})) == {"u": "ü"}
