"""Commands that look work where POSIX's own things are missing, and those that need them say so: no traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.osrc_process import environment

PROGRAM = Path(__file__).parents[2] / "fakes" / "without_posix.py"
LOOK = (
    "--help",
    "status",
    "tab",
    "brief",
    "lanes",
    "limits",
    "models",
    "config show",
    "posture status",
    "mode auto",
    "consent grant",
    "advise tidy-the-tests",
    "estimate tidy-the-tests",
    "events",
    "session list",
    "fleet",
    "parity --dry-run",
    "parity droid",
    "parity --undo",
    "completion bash",
    "help env",
)
WORK = ("bg --lane claude hello", "run --lane claude hello", "session start --lane claude", "outcome x passed")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Each command's exit code and stderr's last lines, all in one process."""
    base = tmp_path_factory.mktemp("bare")
    (base / ".factory").mkdir()
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input="\n".join([*LOOK, "doctor", *WORK]),
        env=environment(base / "osrc", PATH="/nowhere"),
        cwd=base,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    codes = {
        words: int(code)
        for words, code in re.findall(r"^== (.*)\n(?:(?!==).*\n)*?-- (\d+)$", done.stdout, re.MULTILINE)
    }
    return codes, done.stdout, done.stderr


def test_looking_needs_nothing_of_posix(answers):
    codes, _, said = answers
    assert {words: codes.get(words) for words in LOOK} == dict.fromkeys(LOOK, 0), said
    assert "Traceback" not in said
    assert "fault of osrc" not in said


def test_doctor_breaks_on_none_of_its_checks(answers):
    codes, shown, _ = answers
    assert codes["doctor"] in (0, 1)
    assert "the check broke" not in shown
    assert "there is none on Windows" in shown


def test_work_is_refused_in_one_sentence(answers):
    codes, _, said = answers
    assert [codes[words] for words in WORK] == [1] * len(WORK)
    assert said.count("it has no fork") >= 3
    assert "use osrc in WSL" in said
