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
    ("moved", "rows", "kept"),
    [
        (b"\x1b[2S", ["c", "d", "e", "", ""], ["a", "b"]),
        (b"\x1b[S", ["b", "c", "d", "e", ""], ["a"]),
        (b"\x1b[99S", ["", "", "", "", ""], ["a", "b", "c", "d", "e"]),
        (b"\x1b[2T", ["", "", "a", "b", "c"], []),
        (b"\x1b[2;4r\x1b[S", ["a", "c", "d", "", "e"], []),
        (b"\x1b[2;4r\x1b[99T", ["a", "", "", "", "e"], []),
        (b"\x1b[1;3r\x1b[2S", ["c", "", "", "d", "e"], ["a", "b"]),
        (b"\x1b[?1049hx\x1b[S\x1b[?1049l", ["a", "b", "c", "d", "e"], []),
    ],
)
def test_rows_are_scrolled_and_the_cursor_stays(moved, rows, kept):
    """As tmux, whose client is told of a pane's scrolling so: else rows are shown that are not there, or not those."""
    terminal = shown(b"a\r\nb\r\nc\r\nd\r\ne" + moved, rows=5)
    assert [line.strip() for line in terminal.screen().lines] == rows
    assert list(terminal.grid.scrolled) == kept
    before = shown(b"\x1b[3;4H", rows=5).screen().cursor
    assert shown(b"\x1b[3;4H\x1b[2S\x1b[1T", rows=5).screen().cursor == before


def test_a_character_is_repeated():
    assert shown("x▄\x1b[4by\x1b[b".encode()).screen().lines[0] == "x▄▄▄▄▄yy"
    assert shown(b"\x1b[9b-\x1b[9999b", columns=10, rows=3).screen().lines == ("-" * 10, "-", "")


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


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "?", ">"]), st.lists(st.integers(0, 9999), max_size=3), st.integers(64, 126))
    )
)
@settings(max_examples=100, deadline=None)
def test_no_sequence_makes_it_raise(sequences):
    said = "".join(f"\x1b[{sign}{';'.join(map(str, numbers))}{chr(final)}" for sign, numbers, final in sequences)
    shown(b"x" + said.encode(), columns=20, rows=5).screen()


@pytest.mark.parametrize("numbers", ["5", "1;80", "97;5"])
def test_margins_at_the_sides_and_keys_of_kitty_move_no_cursor(numbers):
    drawn = f"\x1b[2;2H\x1b[s\x1b[3;3H\x1b[{numbers}s\x1b[{numbers}u"
    assert shown(drawn.encode()).screen().cursor == (2, 2)


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


def test_rows_leave_at_the_top_for_a_smaller_size_only_if_they_must():
    terminal = shown(b"a\r\nb\r\nc\r\nd\x1b7", rows=6, columns=20)
    terminal.resize(20, 2)
    assert terminal.screen().lines == ("c", "d")
    assert list(terminal.grid.scrolled) == ["a", "b"]
    terminal.feed(b"\x1b8!")
    assert terminal.screen().lines == ("c", "d!")


@pytest.mark.parametrize(
    ("drawn", "rows", "cursor"),
    [
        (b"a\x1b[4;1Hb\x1b[1;1H\x1b[M", ["", "", "b", ""], (0, 0)),  # a row that nothing was drawn in moves too
        (b"a\r\nb\x1b[1;2H\x1b[L", ["", "a", "b", ""], (0, 1)),
        (b".\x1b7\x1b[3;3Hx\x1b8y\x1b8z", [".z", "", "  x", ""], (0, 2)),
        (b"\x1b[sab\x1b[u.", [".b", "", "", ""], (0, 1)),
        (b"ab\x1b[2;3r\x1b[4;2H\x1b[r", ["ab", "", "", ""], (0, 0)),
        (b"\x1b[3;4r\x1b[1;1H\x1b[Ax\x1bMy", ["xy", "", "", ""], (0, 2)),
        (b"\x1b[1;2r\x1b[3;1H\x1b[9Bx", ["", "", "", "x"], (3, 1)),
        (b"ab\x1bEc", ["ab", "c", "", ""], (1, 1)),
        (b"12345678\x1b[Bx", ["12345678", "       x", "", ""], (1, 8)),
        ("1234567漢".encode(), ["1234567", "漢", "", ""], (1, 2)),
        ("漢字\x1b[1;1Hxy\x1b[1;4Hz".encode(), ["xy z", "", "", ""], (0, 4)),
        ("漢字\x1b[1;1H─".encode(), ["─ 字", "", "", ""], (0, 1)),
    ],
)
def test_it_moves_and_draws_as_tmux_does(drawn, rows, cursor):
    """Compared with tmux 3.3a; pyte 0.8.2 does otherwise in each of these."""
    screen = shown(drawn, rows=4, columns=8).screen()
    assert ([*screen.lines], screen.cursor) == (rows, cursor)


def test_cursors_that_are_saved_again_and_again_take_no_memory():
    assert len(shown(b"\x1b7" * 5000).grid.savepoints) == 1
