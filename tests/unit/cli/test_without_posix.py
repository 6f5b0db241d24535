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
CREW = "fanout --no-daemon --lane fake --agents tasks"
WORK = ("session start --no-daemon --lane claude", "run --no-daemon --lane claude hello")


def said_in(base, commands, *options):
    """Each command's exit code, and all of stdout and stderr, of one process."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *options],
        input="\n".join(commands),
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
    return codes, done.stdout, done.stderr


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    base = tmp_path_factory.mktemp("bare")
    (base / ".factory").mkdir()
    return said_in(base, [*LOOK, "doctor"])


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


def test_a_job_runs_by_a_shim_that_nobody_forked_and_what_can_not_run_is_refused(tmp_path):
    install_fake_lanes(tmp_path / "osrc")
    orphan = {"grandchild": 600, "setsid": True, "pid_file": str(tmp_path / "left")}
    (tmp_path / "task").write_text(steps(orphan, {"sleep": 1.5}, {"mark": "DONE"}, {"end": "hello"}))
    (tmp_path / "tasks").mkdir()
    for name in ("one", "two"):
        (tmp_path / "tasks" / f"{name}.md").write_text(steps({"mark": "DONE"}, {"end": name}))
    codes, shown, said = said_in(tmp_path, [JOB, CREW, *WORK], "--processes-of-linux")
    assert (codes[JOB], codes[CREW]) == (0, 0), said
    assert f"== {JOB}\nhello\n-- 0\n" in shown
    left = int((tmp_path / "left").read_text())
    eventually(lambda: not alive(left))
    assert [codes[words] for words in WORK] == [1] * len(WORK)
    assert "sessions can't run on this system: it has no fork" in said
    assert "use osrc in WSL" in said
    assert "Traceback" not in said
