"""What words become on Windows: a model of its readers gets every word back as it was, and runs nothing else."""

import ntpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.windows_argv import BATCH_LIMIT, LINE_LIMIT, command_line, find_program

SHELL = "C:\\Windows\\System32\\cmd.exe"
NPM = "C:\\Users\\A B\\npm\\claude.cmd"


def expanded(line: str) -> str:
    """What the command processor makes of percent signs on a line: a variable's value, or what was there."""
    out, at = "", 0
    while at < len(line):
        close = line.find("%", at + 1) if line[at] == "%" else -1
        name = line[at + 1 : close] if close > 0 else ""
        if name == "cd:~,":
            at = close + 1
        elif name.upper() in ("PATH", "CD", "A"):
            out, at = out + "EXPANDED", close + 1
        else:
            out, at = out + line[at], at + 1
    return out


def outside_quotes(line: str) -> str:
    """What of a line the command processor reads as its own language."""
    return "".join(line.split('"')[::2])


def words_of(line: str) -> list[str]:
    """How a program cuts its line into words: the documented rules of ``CommandLineToArgvW`` and the C runtime."""
    words, word, inside, begun, at = [], "", False, False, 0
    while at < len(line):
        slashes = len(line[at:]) - len(line[at:].lstrip("\\"))
        at += slashes
        if line[at : at + 1] == '"':
            word, begun = word + "\\" * (slashes // 2), True
            if slashes % 2:
                word, at = word + '"', at + 1
            elif inside and line[at + 1 : at + 2] == '"':
                word, at = word + '"', at + 2
            else:
                inside, at = not inside, at + 1
            continue
        word, begun = word + "\\" * slashes, begun or bool(slashes)
        if at < len(line):
            if line[at] in " \t" and not inside:
                words, word, begun = ([*words, word] if begun else words), "", False
            else:
                word, begun = word + line[at], True
            at += 1
    return [*words, word] if begun else words


HARD = st.text(
    alphabet=st.sampled_from("ab %\"\\^&|<>()!=,;~*?'`$A\t:dc/-ü") | st.characters(codec="utf-8"), max_size=24
)
WORD = HARD.map(lambda text: text.replace("\0", "").replace("\r", "").replace("\n", ""))


@settings(max_examples=60, deadline=None)
@given(st.lists(WORD, max_size=5))
def test_a_batch_file_s_words_arrive_and_nothing_else_is_run(words):
    line = command_line([NPM, *words], comspec=SHELL)
    before = f'"{SHELL}" /d /e:on /v:off /s /c "'
    assert line.startswith(before)
    assert line.endswith('"')
    read = expanded(line.removeprefix(before)[:-1])
    assert set(outside_quotes(read)) <= {" "}, "its own language"
    assert words_of(read) == [NPM, *words]
    # An npm shim hands its words on as %*, which is put in as it stands: read once more, it says the same.
    handed_on = read.removeprefix(f'"{NPM}"')
    assert set(outside_quotes(handed_on)) <= {" "}
    assert words_of('"node.exe" "cli.js"' + handed_on) == ["node.exe", "cli.js", *words]


@settings(max_examples=60, deadline=None)
@given(st.lists(HARD.filter(lambda text: "\0" not in text), max_size=5))
def test_a_program_s_words_arrive(words):
    assert words_of(command_line(["C:\\x\\codex.exe", *words], comspec=SHELL)) == ["C:\\x\\codex.exe", *words]
    shown = words_of(command_line(["C:\\x\\a.PS1", *words], comspec=SHELL, powershell="pwsh.exe"))
    assert shown == ["pwsh.exe", "-NoLogo", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", "C:\\x\\a.PS1", *words]


def test_the_model_s_readers_can_tell():
    """The checks above must be able to fail: on what a naive line does."""
    assert expanded('"%PATH%"') == '"EXPANDED"'
    assert set(outside_quotes('"a" & "b"')) == {" ", "&"}
    assert words_of('"a\\" b"') == ['a" b']


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["C:\\a.exe", "x\0y"], "NUL"),
        ([NPM, "two\nlines"], "line break"),
        ([NPM, "two\rlines"], "line break"),
        (['C:\\a"b.cmd'], "quotation mark"),
        ([NPM, "x" * BATCH_LIMIT], f"{BATCH_LIMIT - 1} characters"),
        (["C:\\a.exe", "x" * LINE_LIMIT], f"{LINE_LIMIT - 1} characters"),
        (["C:\\a.exe", "😀" * (LINE_LIMIT // 2)], "too long"),
    ],
)
def test_what_no_line_can_say_is_refused(argv, words):
    with pytest.raises(ValueError, match=words):
        command_line(argv, comspec=SHELL)


FILES = {
    "C:\\npm\\claude",
    "C:\\npm\\claude.cmd",
    "C:\\npm\\claude.ps1",
    "D:\\bin\\codex.exe",
    "D:\\bin\\only.ps1",
    "D:\\bin\\claude.exe",
    "here.cmd",
    ".\\here.cmd",
}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("claude", "C:\\npm\\claude.cmd"),
        ("claude.exe", "D:\\bin\\claude.exe"),
        ("claude.ps1", "C:\\npm\\claude.ps1"),
        ("codex", "D:\\bin\\codex.exe"),
        ("only", "D:\\bin\\only.ps1"),
        ("here", None),
        ("gone", None),
        ("D:\\bin\\codex", "D:\\bin\\codex.exe"),
        ("D:\\bin\\codex.exe", "D:\\bin\\codex.exe"),
        ("C:\\npm\\codex", None),
    ],
)
@pytest.mark.parametrize("pathext", ["", ".COM;.EXE;.BAT;.CMD;.VBS"])
def test_the_file_that_a_name_means(name, found, pathext):
    files = {ntpath.normcase(file) for file in FILES}
    path = '.;relative;;"C:\\npm";D:\\bin\\'
    assert find_program(name, path, pathext, lambda file: ntpath.normcase(file) in files) == found
