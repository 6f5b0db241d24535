"""A check's line as the person's shell gets it. Windows' shells by a model of how each takes its words off a line."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors import check_shell
from outsourcerer.actors.check_shell import check_words, cmd_line

CMD = "C:\\Windows\\system32\\cmd.exe"
LINES = st.text(st.characters(blacklist_characters="\0\r\n", blacklist_categories=["Cs"]), max_size=60).map(str.strip)


def as_cmd_reads(line):
    """What ``cmd /s /c`` runs: what stands behind ``/c``, without its first and its last quotation mark."""
    program, _, rest = line[1:].partition('"')
    assert (program, rest[:10]) == (CMD, " /d /s /c ")
    said = rest[10:]
    assert said[0] == '"'
    last = said.rindex('"')
    return said[1:last] + said[last + 1 :]


@settings(max_examples=60)
@given(LINES)
def test_cmd_gets_the_line_as_it_was_written(command):
    assert as_cmd_reads(cmd_line(command, CMD)) == command


def test_posix_is_its_own_shell_whatever_the_environment_says():
    line = 'a\nb "c" %d%'
    assert check_words(line, {"COMSPEC": CMD}, "linux") == ["/bin/sh", "-c", line]


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"ComSpec": CMD}, f'"{CMD}" /d /s /c "pytest -q "tests/my dir""'),
        ({}, '"cmd.exe" /d /s /c "pytest -q "tests/my dir""'),
        ({"COMSPEC": "C:\\Git\\bin\\bash.exe"}, ["C:\\Git\\bin\\bash.exe", "-c", 'pytest -q "tests/my dir"']),
        ({"COMSPEC": "busybox.exe"}, ["busybox.exe", "sh", "-c", 'pytest -q "tests/my dir"']),
        (
            {"COMSPEC": "C:\\P\\pwsh.exe"},
            ["C:\\P\\pwsh.exe", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", 'pytest -q "tests/my dir"'],
        ),
    ],
)
def test_the_shell_is_the_person_s(env, words):
    assert check_words('pytest -q "tests/my dir"', env, "win32") == words


@pytest.mark.parametrize(
    ("command", "env", "words"),
    [
        ("a\nb", {}, "several lines"),
        ("a\rb", {}, "several lines"),
        ("a\0b", {}, "NUL"),
        ("x" * 8191, {}, "8190 characters"),
        ("x" * 32767, {"COMSPEC": "pwsh"}, "32766 characters"),
        ("a", {"COMSPEC": 'c" & evil'}, "quotation mark"),
    ],
)
def test_what_can_not_be_given_whole_is_not_run(command, env, words):
    with pytest.raises(ValueError, match=words):
        check_words(command, env, "win32")


def test_several_lines_are_fine_where_a_shell_reads_them():
    assert check_words("a\nb", {"COMSPEC": "sh.exe"}, "win32") == ["sh.exe", "-c", "a\nb"]


def test_a_line_s_length_is_that_of_the_whole():
    room = check_shell.BATCH_LIMIT - len(subprocess.list2cmdline([CMD])) - len('"" /d /s /c ""') - 1
    assert len(cmd_line("x" * room, CMD)) == check_shell.BATCH_LIMIT - 1
    assert check_words("x" * room, {"COMSPEC": CMD}, "win32") == cmd_line("x" * room, CMD)
    with pytest.raises(ValueError, match="too long"):
        check_words("x" * (room + 1), {"COMSPEC": CMD}, "win32")
