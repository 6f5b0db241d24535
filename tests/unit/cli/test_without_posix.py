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
CHECKED = "edit --no-daemon --lane fake --check true --task-file checked"
ABSENT = "run --no-daemon --lane claude hello"
SESSION = (
    "session start --no-daemon --cloud-ack --lane acp:{agent} --name one say-something",
    "session send --no-daemon one --wait more",
    "session stop --no-daemon one",
)
AGENT = Path(__file__).parents[2] / "fakes" / "fake_acp_agent.py"


def said_in(base, commands, *options):
    """Each command's exit code, and all of stdout and stderr, of one process."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *options],
        input="\n".join(commands),
        env=environment(base / "osrc", PATH="/nowhere", OSRC_POLL="0.5", OSRC_SESSION_IDLE="90", COMSPEC="/bin/sh"),
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


def test_jobs_and_a_session_run_by_processes_that_nobody_forked(tmp_path):
    install_fake_lanes(tmp_path / "osrc")
    orphan = {"grandchild": 600, "setsid": True, "pid_file": str(tmp_path / "left")}
    (tmp_path / "task").write_text(steps(orphan, {"sleep": 1.5}, {"mark": "DONE"}, {"end": "hello"}))
    (tmp_path / "checked").write_text(steps({"mark": "DONE"}, {"end": "changed"}))
    (tmp_path / "tasks").mkdir()
    for name in ("one", "two"):
        (tmp_path / "tasks" / f"{name}.md").write_text(steps({"mark": "DONE"}, {"end": name}))
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{AGENT}" talk\n')
    agent.chmod(0o700)
    session = [words.format(agent=agent) for words in SESSION]
    codes, shown, said = said_in(tmp_path, [JOB, CREW, CHECKED, *session[:2], ABSENT], "--processes-of-linux")
    assert (codes[JOB], codes[CREW], codes[CHECKED]) == (0, 0, 0), said
    assert "note: its check passed" in said
    assert f"== {JOB}\nhello\n-- 0\n" in shown
    left = int((tmp_path / "left").read_text())
    eventually(lambda: not alive(left))
    _, later, more = said_in(tmp_path, [session[2]], "--processes-of-linux")
    assert [codes[words] for words in (*session[:2], ABSENT)] == [0, 0, 1], said
    assert f"== {session[1]}\ntwo words\n-- 0\n" in shown
    assert f"== {session[2]}\none exited (stopped on request)\n-- 0\n" in later, more
    assert "Traceback" not in said
