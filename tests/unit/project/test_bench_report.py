"""The report of the benchmarks: what it says of a figure, and where it puts the table."""

import json
from pathlib import Path

import pytest
from bench.figures import KEPT_IN, Figure, number, show, table
from bench.report import PAGE, put_into


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (-0.001, "0"),
        (0.0123, "0.01"),
        (1.046, "1.05"),
        (2.0, "2"),
        (31.26, "31.3"),
        (157.4, "157"),
        (16251, "16,251"),
    ],
)
def test_a_figure_has_the_digits_that_say_something(value, words):
    assert number(value) == words


def test_a_bound_is_kept_or_broken_on_its_own_side():
    assert Figure("a", 1.5, "x", most=1.5).holds
    assert not Figure("a", 1.51, "x", most=1.5).holds
    assert Figure("a", 20, "MB/s", least=20).holds
    assert not Figure("a", 19.9, "MB/s", least=20).holds
    assert Figure("a", 1e9, "ms").holds


def test_a_figure_that_is_short_is_marked_in_the_table():
    rows = table([Figure("fast", 1, "ms", most=2), Figure("slow", 3, "ms", most=2, beside="`find` 1 ms")]).splitlines()
    assert rows[2:] == [
        "| fast | 1 ms | at most 2 ms |  |",
        "| slow | 3 ms | **at most 2 ms: short** | `find` 1 ms |",
    ]


def test_what_is_shown_is_kept_for_the_report(tmp_path, monkeypatch, capsys):
    kept = tmp_path / "figures.jsonl"
    monkeypatch.setenv(KEPT_IN, str(kept))
    assert not show("a thing", 3, "s", most=2)
    assert "a thing" in capsys.readouterr().out
    assert Figure(**json.loads(kept.read_text())) == Figure("a thing", 3, "s", most=2)


def test_the_page_has_a_place_for_the_table_and_nothing_else_of_it_changes():
    page = Path(PAGE).read_text(encoding="utf-8")
    changed = put_into(page, "a new table")
    assert put_into(changed, "a new table") == changed
    assert changed.partition("<!--")[0] == page.partition("<!--")[0]
    assert changed.rpartition("-->")[2] == page.rpartition("-->")[2]
    with pytest.raises(ValueError, match="no place"):
        put_into("a page without marks", "a table")
