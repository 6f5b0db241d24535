"""The launchers for Windows, which nothing here can run: what can be said of them from their text."""

from pathlib import Path

import outsourcerer
import pytest

SCRIPTS = Path(outsourcerer.__path__[0]) / "cli" / "plugin" / "skills" / "outsourcerer" / "scripts"


def lines(name):
    return (SCRIPTS / name).read_bytes().split(b"\r\n" if name.endswith(".cmd") else b"\n")


def test_the_command_processor_gets_its_own_line_ends():
    data = (SCRIPTS / "outsourcerer.cmd").read_bytes()
    assert data.isascii()
    assert data.count(b"\n") == data.count(b"\r\n") == data.count(b"\r")


@pytest.mark.parametrize(
    ("name", "calls", "arguments"),
    [
        ("outsourcerer.cmd", (b"osrc.exe %*", b"py.exe -3 -m outsourcerer %*"), b"%*"),
        ("outsourcerer.ps1", (b"& 'osrc.exe' @args", b"& 'py.exe' -3 -m outsourcerer @args"), b"@args"),
    ],
)
def test_each_way_passes_every_argument_and_the_exit_code(name, calls, arguments):
    text = [line.strip() for line in lines(name)]
    for call in calls:
        after = text[text.index(call) + 1]
        assert after in (b"goto done", b"exit $LASTEXITCODE")
    ways = [line for line in text if arguments in line and not line.startswith(b"rem")]
    assert len(ways) == 3
    assert any(line.startswith((b"wsl.exe --exec", b"& 'wsl.exe' --exec")) for line in ways)
    assert all(line.endswith(arguments) for line in ways), "nothing of ours behind what a person typed"
    assert b"exit /b %errorlevel%" in text or b"exit 1" in text


def test_a_task_s_exclamation_marks_are_left_alone():
    assert b"setlocal DisableDelayedExpansion" in lines("outsourcerer.cmd")


def test_who_has_nothing_is_told_what_to_do():
    for name in ("outsourcerer.cmd", "outsourcerer.ps1"):
        text = b"\n".join(lines(name))
        assert b"ERROR: osrc is not installed." in text
        assert b"try: py -3 -m pip install outsourcerer" in text
