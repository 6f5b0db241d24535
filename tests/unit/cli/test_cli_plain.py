"""What a delegate wrote can be shown: no control sequence survives, and it takes linear time."""

from __future__ import annotations

import doctest
import time
import unicodedata
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.cli import reach
from outsourcerer.cli.render import lines, plain
from outsourcerer.cli.render.plain import one_line, strip_controls

NOISE = st.text(alphabet=st.sampled_from("\x1b\x9b\x9d\x90[]();?0123mKHJ\x07\x9c\\Pab \n\t\r\x00\x7f"), max_size=60)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0~\x1b\\x", "x"),
        ("a\tb\r\nc\x08d\x00", "a\tb\ncd"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("naïve 日本語 🎉", "naïve 日本語 🎉"),
        ("\x1b]52;c;c3RlYWw=\x07", ""),
    ],
)
def test_controls_go_text_stays(text: str, left: str) -> None:
    assert strip_controls(text) == left


@given(NOISE | st.text(max_size=60))
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    left = strip_controls(text)
    assert not [c for c in left if unicodedata.category(c) == "Cc" and c not in "\t\n"]


@given(NOISE | st.text(max_size=200), st.integers(1, 80))
def test_one_line_is_one_line_and_fits(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert not [c for c in line if unicodedata.category(c) == "Cc"]


@pytest.mark.parametrize("piece", ["\x1b[", "\x1b]", "\x1b[0;", "\x1b]0;a", "\x9b", "\x1b", "\x1b \x1b/"])
def test_linear_time(piece: str) -> None:
    def cost(count: int) -> float:
        text = piece * count
        began = time.process_time()
        strip_controls(text)
        return time.process_time() - began

    small = min(cost(20_000) for _ in range(3))
    large = min(cost(80_000) for _ in range(3))
    assert large < 12 * small + 0.05  # four times the input; sixteen times would be quadratic


@pytest.mark.parametrize("module", [plain, lines, reach], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_hold(module: ModuleType) -> None:
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0
