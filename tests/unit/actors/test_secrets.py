"""Keys by name: where they are found, what of a file is read, and what is no key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.actors.secrets import named_secrets, value_in

NAME = "OPENROUTER_API_KEY"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"{NAME}=abc", "abc"),
        (f"  export {NAME} = abc  ", "abc"),
        (f'{NAME}="a b#c"', "a b#c"),
        (f"{NAME}='abc' # mine", "abc"),
        (f"{NAME}=abc # mine", "abc"),
        (f"{NAME}=abc#def", "abc#def"),
        (f"{NAME}=", ""),
        (f"{NAME}=#nothing", ""),
        (f"#{NAME}=abc", None),
        (f"X{NAME}=abc", None),
        (f"{NAME}X=abc", None),
        (f"echo {NAME}=abc", None),
        (f"{NAME}=old\n{NAME}=new\r\n", "new"),
        (f"{NAME}=$(touch owned)", "$(touch owned)"),
    ],
)
def test_a_line_of_the_file(line: str, value: str | None) -> None:
    assert value_in(line, NAME) == value


def test_the_environment_comes_first_and_nothing_else_is_taken(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"{NAME}=from-file\nOTHER=secret\n")
    home = {"HOME": str(tmp_path)}
    assert named_secrets([NAME], home) == {NAME: "from-file"}
    assert named_secrets([NAME], {**home, NAME: "from-env"}) == {NAME: "from-env"}
    assert named_secrets([NAME], {**home, NAME: "  "}) == {NAME: "from-file"}
    assert named_secrets([], home) == {}
    assert named_secrets(["MISSING"], home) == {}


@pytest.mark.parametrize("value", ["two words", "é", "x" * 5000, "a\tb"])
def test_what_no_header_could_carry_is_no_key(tmp_path: Path, value: str) -> None:
    assert named_secrets([NAME], {"HOME": str(tmp_path), NAME: value}) == {}


def test_odd_files_are_as_if_they_were_not_there(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    path = tmp_path / ".env"
    os.mkfifo(path)
    assert named_secrets([NAME], home) == {}
    path.unlink()
    path.mkdir()
    assert named_secrets([NAME], home) == {}
    path.rmdir()
    path.write_bytes(b"\xff\xfe" + NAME.encode() + b"=x\n" + NAME.encode() + b"=good\n")
    assert named_secrets([NAME], home) == {NAME: "good"}
    path.write_bytes(b"#" * (1 << 20) + f"\n{NAME}=x".encode())
    assert named_secrets([NAME], home) == {}
    path.unlink()
    (tmp_path / "elsewhere").write_text(f"{NAME}=linked")
    path.symlink_to(tmp_path / "elsewhere")
    assert named_secrets([NAME], home) == {NAME: "linked"}


@given(st.text(max_size=200))
def test_any_file_is_read(text: str) -> None:
    value_in(text, NAME)


def test_a_file_that_somebody_else_may_have_written_gives_no_key(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(f"{NAME}=theirs\n")
    for mode, found in ((0o644, True), (0o664, True), (0o602, False)):
        file.chmod(mode)
        assert bool(named_secrets((NAME,), {"HOME": str(tmp_path)})) is found, oct(mode)
    file.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
        assert named_secrets((NAME,), {"HOME": str(tmp_path)}) == {}
