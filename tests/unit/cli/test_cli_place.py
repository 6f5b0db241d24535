"""The front end finds the same home, settings and log ends as the rest of the product."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.place import home_root, read_supervisor_file
from outsourcerer.cli.preferences import flag, number
from outsourcerer.cli.tailing import added, tail
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home

WORDS = st.sampled_from(
    ["", "/", "/a/b", "~", "~/x", "rel", "./rel/../up", "/a/../b//c/", "~user", "/a b/ü", "../../..", "a\0b", " "]
)


@given(environ=st.dictionaries(st.sampled_from(["HOME", "OSRC_HOME"]), WORDS), override=st.none() | WORDS)
def test_the_home_is_the_state_layers(environ: dict[str, str], override: str | None) -> None:
    try:
        expected: object = str(Home.resolve(environ, override).root)
    except StateError as error:
        expected = error.message
    try:
        found: object = home_root(environ, override)
    except StateError as error:
        found = error.message
    assert found == expected


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"socket": 5}', b"\xff\xfe", b"{}" * 3, b"null"])
def test_a_supervisor_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "supervisor.json").write_bytes(content)
    assert read_supervisor_file(str(tmp_path)) is None


def test_a_supervisor_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text('{"socket": "/s"}')
    (tmp_path / "supervisor.json").symlink_to(real)
    assert read_supervisor_file(str(tmp_path)) is None
    (tmp_path / "supervisor.json").unlink()
    real.rename(tmp_path / "supervisor.json")
    assert read_supervisor_file(str(tmp_path)) == {"socket": "/s"}


def test_settings_of_the_front_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.delenv("OSRC_STATUS_MAX", raising=False)
    monkeypatch.delenv("OSRC_NO_DAEMON", raising=False)
    assert number("status_max", 40) == 40
    (tmp_path / "c" / "outsourcerer").mkdir(parents=True)
    (tmp_path / "c" / "outsourcerer" / "config.toml").write_text("status_max = 7\n")
    assert number("status_max", 40) == 7
    assert not flag("no_daemon")
    (tmp_path / "c" / "outsourcerer" / "config.toml").write_text("status_max = 7\nno_daemon = true\n")
    assert flag("no_daemon")
    monkeypatch.setenv("OSRC_NO_DAEMON", "0")
    assert not flag("no_daemon")
    monkeypatch.setenv("OSRC_STATUS_MAX", "3")
    assert number("status_max", 40) == 3
    monkeypatch.setenv("OSRC_STATUS_MAX", "nan")
    assert number("status_max", 40) == 40


@given(
    st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=12),
    st.booleans(),
    st.integers(0, 14),
)
def test_tail_is_the_last_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ends: bool, count: int
) -> None:
    place = tmp_path_factory.mktemp("t") / "f"
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    place.write_bytes(data)
    expected = b"".join(data.splitlines(keepends=True)[-count:] if count else [])
    kept = data.split(b"\n")
    whole = [part + b"\n" for part in kept[:-1]] + ([kept[-1]] if kept[-1] else [])
    expected = b"".join(whole[-count:]) if count else b""
    assert tail(str(place), count) == (expected, len(data))


def test_tail_of_one_enormous_line_is_bounded(tmp_path: Path) -> None:
    place = tmp_path / "f"
    with place.open("wb") as file:
        file.seek(3 * 1024**3)
        file.write(b"the end\n")
    data, end = tail(str(place), 5)
    assert data.endswith(b"the end\n")
    assert len(data) <= 9 * 1024 * 1024
    assert end == 3 * 1024**3 + 8


def test_added_reads_on_to_the_end_through_a_truncation(tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_bytes(b"12345678")
    answers = iter([False, True])

    def ended() -> bool:
        over = next(answers)
        place.write_bytes(b"new" if over else b"12345678more")
        return over

    assert b"".join(added(str(place), 8, ended)) == b"morenew"


def test_a_deleted_folder_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(CliError, match="current folder"):
        home_root({"OSRC_HOME": "relative", "HOME": "/"})
    os.chdir(tmp_path)
