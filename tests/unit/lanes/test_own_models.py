"""``models.local``: its rows, and what is said of rows that can't be used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.catalog.aliases import Alias
from outsourcerer.lanes.catalog.own_rows import parse
from outsourcerer.messages.vocabulary import Tier

LANES = ("claude", "codex", "cc", "codexor", "devin", "gemini", "local")


@pytest.mark.parametrize(
    ("row", "word", "alias"),
    [
        ("fast|z-ai/glm-air|cc|budget", "fast", Alias("z-ai/glm-air", "cc", Tier.BUDGET)),
        ("  fast | z-ai/glm-air | or | BUDGET  # mine", "fast", Alias("z-ai/glm-air", "cc", Tier.BUDGET)),
        ("mine|claude-opus-9|cc|frontier", "mine", Alias("claude-opus-9", "claude", Tier.FRONTIER)),
        ("mine|gpt-9|cx|mid", "mine", Alias("gpt-9", "codex", Tier.MID)),
        ("mine|glm-6|dv|capable", "mine", Alias("glm-6", "devin", Tier.CAPABLE)),
        ("pic|gpt-image-3|ci|budget", "pic", Alias("gpt-image-3", "codex", Tier.BUDGET, "image")),
    ],
)
def test_a_row(row: str, word: str, alias: Alias) -> None:
    own = parse(row, LANES)
    assert own.rows == {word: alias}
    assert own.problems == ()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("fast|z-ai/glm-air|cc", "3 fields"),
        ("fast|z-ai/glm-air|cc|budget|more", "5 fields"),
        ("fast|z-ai/glm-air|nowhere|budget", "no lane 'nowhere'"),
        ("fast|z-ai/glm-air|cc|huge", "'huge' is no tier"),
        ("-rf|z-ai/glm-air|cc|mid", "no model name"),
        ("fast|$(rm)|cc|mid", "no model name"),
        ("|x|cc|mid", "no model name"),
    ],
)
def test_a_bad_row_is_reported_with_its_place_and_hides_no_other(row: str, words: str) -> None:
    own = parse(f"# my models\n\n{row}\ngood|a/b|cc|mid\n", LANES, "models.local")
    assert list(own.rows) == ["good"]
    [problem] = own.problems
    assert problem.startswith("models.local:3:")
    assert words in problem


def test_the_first_row_of_a_word_counts() -> None:
    own = parse("a|x/one|cc|mid\na|x/two|cc|mid\n", LANES)
    assert own.rows["a"].model == "x/one"
    assert "first row counts" in own.problems[0]


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    own = parse(text, LANES)
    assert all(row.lane in LANES for row in own.rows.values())


def test_a_flood_of_rows_is_bounded() -> None:
    own = parse("x\n" * 100_000, LANES)
    assert len(own.problems) == 2001
    assert "not read" in own.problems[-1]
