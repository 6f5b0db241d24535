"""The emulated terminal: the same picture however the bytes are cut, honest answers, nothing that makes it fall over."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.transports.repaint import repaint
from outsourcerer.actors.transports.terminal import PENDING_CAP, Terminal


def shown(data, *, cut=None, **terms):
    terminal = Terminal(**terms)
    if cut is None:
        terminal.feed(data)
    else:
        for start in range(0, len(data), cut):
            terminal.feed(data[start : start + cut])
    return terminal


SAMPLE = (
    "\x1b[?2026h\x1b]0;✳ A title\x07\x1b[2J\x1b[Hplain \x1b[1;31mred\x1b[0m 漢字 e\u0301 ●\ufe0f Auto\r\n"
    "\x1b[2mfaint\x1b[22m bright \x1b[7mreversed\x1b[27m\x1b[48;2;1;2;3mpainted\x1b[49m\r\n"
    "\x1bP+q544e\x1b\\\x1b_Gi=31;AAAA\x1b\\\x1b[>4;2m\x1b[<u\x1b[?2026$p\x1b[4:3mcurly\x1b[38:2::9:9:9m!\x1b[m\x1b[?2026l"
).encode()


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 16])
def test_the_picture_does_not_depend_on_how_the_bytes_are_cut(cut):
    assert shown(SAMPLE, cut=cut).screen() == shown(SAMPLE).screen()


def test_what_is_drawn():
    screen = shown(SAMPLE).screen()
    assert screen.lines[:3] == ("plain red 漢字 é ● Auto", "faint bright reversedpainted", "curly!")
    assert screen.bright[1] == "      bright reversedpainted"
    assert [(span.start, span.end) for span in screen.marked] == [(13, 21), (21, 28)]
    assert screen.title == "✳ A title"


def test_the_other_screen_is_put_aside_and_comes_back():
    terminal = shown(b"first\x1b[?1049h\x1b[Hsecond")
    assert terminal.screen().alternate
    assert terminal.screen().lines[0] == "second"
    terminal.feed(b"\x1b[?1049l")
    assert not terminal.screen().alternate
    assert terminal.screen().lines[0] == "first"


def test_rows_that_leave_at_the_top_are_kept():
    terminal = shown(b"".join(b"row %d\r\n" % n for n in range(30)), rows=10)
    assert terminal.grid.scrolled_total == 21
    assert list(terminal.grid.scrolled)[:2] == ["row 0", "row 1"]
    assert terminal.screen().lines[0] == "row 21"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (b"\x1b[c", [b"\x1b[?1;2c"]),
        (b"\x1b[6n", [b"\x1b[1;1R"]),
        (b"\x1b[5n", [b"\x1b[0n"]),
        (b"\x1b[18t", [b"\x1b[8;50;200t"]),
        (b"\x1b[?u", []),  # no kitty keyboard: silence
        (b"\x1b[>0q\x1bP+q544e\x1b\\\x1b]11;?\x07", []),
    ],
)
def test_it_answers_as_a_plain_xterm(question, answer):
    told = []
    Terminal(reply=told.append).feed(question)
    assert told == answer


@given(
    st.lists(
        st.binary(max_size=200)
        | st.sampled_from([b"\x1b[", b"\x1b]", b"\x1bP", b"\x9b", b"\x1b[?1049h", b"\x1b[999999;9H"])
    )
)
@settings(max_examples=100, deadline=None)
def test_no_bytes_make_it_raise(chunks):
    terminal = Terminal(columns=40, rows=8)
    for chunk in chunks:
        terminal.feed(chunk)
        screen = terminal.screen()
    assert len(terminal.screen().lines) == 8
    if chunks:
        assert screen == terminal.screen()


def test_a_string_without_an_end_is_not_kept():
    terminal = Terminal()
    terminal.feed(b"\x1b]52;c;")
    for _ in range(100):
        terminal.feed(b"A" * 1000)
        assert len(terminal._pending) <= PENDING_CAP


def test_after_a_string_without_an_end_the_next_end_is_the_end():
    terminal = Terminal()
    terminal.feed(b"\x1bP" + b"x" * 20_000)
    terminal.feed(b"still\x1b\\seen")
    assert terminal.screen().lines[0] == "seen"


def test_a_repainted_picture_is_the_same_picture():
    terminal = shown(SAMPLE)
    other = shown(repaint(terminal))
    assert other.screen().lines == terminal.screen().lines
    assert other.screen().marked == terminal.screen().marked
    assert other.screen().cursor == terminal.screen().cursor


def test_a_new_size_is_taken():
    terminal = shown(b"hello\r\nworld")
    terminal.resize(80, 24)
    assert len(terminal.screen().lines) == 24
    assert terminal.screen().lines[:2] == ("hello", "world")
