"""Commands that look work where POSIX's own things are missing, and those that need them say so: no traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.actors import eventually
from fakes.lanes import install_fake_lanes, steps
from fakes.osrc_process import environment
from fakes.supervised import alive

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
JOB = "run --no-daemon --lane fake --task-file task"
WORK = ("session start --no-daemon --lane claude", "run --no-daemon --lane claude hello")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Each command's exit code and stderr's last lines, all in one process."""
    base = tmp_path_factory.mktemp("bare")
    (base / ".factory").mkdir()
    install_fake_lanes(base / "osrc")
    task = steps(
        {"grandchild": 600, "setsid": True, "pid_file": str(base / "left")}, {"mark": "DONE"}, {"end": "hello"}
    )
    (base / "task").write_text(task)
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input="\n".join([*LOOK, "doctor", JOB, *WORK]),
        env=environment(base / "osrc", PATH="/nowhere", OSRC_POLL="0.5"),
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
    return codes, done.stdout, done.stderr, base


def test_looking_needs_nothing_of_posix(answers):
    codes, _, said, _ = answers
    assert {words: codes.get(words) for words in LOOK} == dict.fromkeys(LOOK, 0), said
    assert "Traceback" not in said
    assert "fault of osrc" not in said


def test_doctor_breaks_on_none_of_its_checks(answers):
    codes, shown, _, _ = answers
    assert codes["doctor"] in (0, 1)
    assert "the check broke" not in shown
    assert "there is none on Windows" in shown


def test_a_job_runs_by_a_shim_that_nobody_forked(answers):
    codes, shown, said, base = answers
    assert codes[JOB] == 0, said
    assert f"== {JOB}\nhello\n-- 0\n" in shown
    left = int((base / "left").read_text())
    eventually(lambda: not alive(left))


def test_what_can_not_run_is_refused_in_one_sentence(answers):
    codes, _, said, _ = answers
    assert [codes[words] for words in WORK] == [1] * len(WORK)
    assert "sessions can't run on this system: it has no fork" in said
    assert "use osrc in WSL" in said
