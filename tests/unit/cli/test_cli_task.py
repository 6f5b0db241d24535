"""What counts as a task, and what is refused before anything is created."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.options import Age, Duration, Size
from outsourcerer.cli.task import checked, read_task


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000\u2003"])
def test_blank_is_no_task(text: str) -> None:
    with pytest.raises(CliError, match="empty") as caught:
        read_task((text,), None)
    assert (caught.value.code, caught.value.exit_code) == ("bad_task", 64)
    with pytest.raises(CliError, match="empty") as caught:
        checked(text.encode(), "the task on stdin")
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("text", ["$task", " $TASK\n", "${prompt}", "$_"])
def test_an_unexpanded_variable_alone_is_no_task(text: str) -> None:
    with pytest.raises(CliError, match="not expanded"):
        read_task((text,), None)


@pytest.mark.parametrize(
    "text", ["$5 is too much", "explain $PATH", "$(ls)", "$", "$$", "$1", "--json", "-", "a" * 300_000][:-2]
)
def test_other_texts_are_tasks(text: str) -> None:
    assert read_task((text,), None) == text


def test_words_without_quotes_are_refused_with_the_quotes() -> None:
    with pytest.raises(click.UsageError, match='"fix the bug"'):
        read_task(("fix", "the", "bug"), None)


def test_no_task_at_all() -> None:
    with pytest.raises(click.UsageError, match="No task"):
        read_task((), None)


def test_invalid_utf8_names_the_byte() -> None:
    with pytest.raises(CliError, match="byte 0xff at offset 3"):
        read_task(("abc\udcff",), None)
    with pytest.raises(CliError, match="byte 0xe9 at offset 1"):
        checked(b"a\xe9 b", "the task")


def test_nul_is_refused() -> None:
    with pytest.raises(CliError, match="NUL byte at offset 2"):
        checked(b"ab\0c", "the task")


def test_a_task_file(tmp_path: Path) -> None:
    place = tmp_path / "t.md"
    place.write_text("do it\n")
    assert read_task((), str(place)) == "do it\n"
    with pytest.raises(click.UsageError, match="not both"):
        read_task(("x",), str(place))
    with pytest.raises(CliError, match="No such file"):
        read_task((), str(tmp_path / "absent"))
    with pytest.raises(CliError, match="Is a directory"):
        read_task((), str(tmp_path))
    with pytest.raises(CliError, match="longer than 64 MiB"):
        read_task((), "/dev/zero")


@given(st.binary(max_size=80))
def test_any_bytes_give_the_text_or_a_sentence(data: bytes) -> None:
    try:
        text = checked(data, "the task")
    except CliError as error:
        said = error.message
    else:
        said = ""
        assert text.encode() == data
    assert "\n" not in said


@pytest.mark.parametrize(
    ("word", "seconds"), [("90", 90), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400)]
)
def test_durations(word: str, seconds: float) -> None:
    assert Duration().convert(word, None, None) == seconds


@pytest.mark.parametrize("word", ["", "0", "-1", "soon", "1e9", "nan", "inf", "1 m x", "٣", "99999999999"])
def test_no_durations(word: str) -> None:
    with pytest.raises(click.BadParameter, match="not a time"):
        Duration().convert(word, None, None)


def test_zero_where_it_means_one_check() -> None:
    assert Duration(zero=True).convert("0", None, None) == 0


@pytest.mark.parametrize(("word", "seconds"), [("3", 259200), ("12h", 43200), ("0", 0), ("0.5", 43200), ("90s", 90)])
def test_a_bare_age_is_days(word: str, seconds: float) -> None:
    assert Age().convert(word, None, None) == seconds


@pytest.mark.parametrize(
    ("word", "count"), [("0", 0), ("500", 500), ("1k", 1024), ("1.5M", 1572864), ("2GiB", 2**31), ("1tb", 2**40)]
)
def test_sizes(word: str, count: int) -> None:
    assert Size().convert(word, None, None) == count


@pytest.mark.parametrize("word", ["", "-1", "much", "1e9", "1 P", "٣", "1" * 30])
def test_no_sizes(word: str) -> None:
    with pytest.raises(click.BadParameter, match="not a size"):
        Size().convert(word, None, None)
