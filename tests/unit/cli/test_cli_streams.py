"""What goes wrong around a command: Ctrl-C while it loads, a stdout that takes nothing, words that steer a terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fakes.fake_gateway import FakeGateway, job, job_id
from fakes.osrc_process import command, environment, osrc, shown
from outsourcerer.cli.render.plain import one_line, strip_controls

FIRST = job_id(1)
FULL = Path("/dev/full")

_INTERRUPTED = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv[0] = 'osrc'
from outsourcerer.cli.main import main
main()
"""


@pytest.mark.parametrize(
    "module", ["outsourcerer.cli.app", "click", "outsourcerer.cli.output", "outsourcerer.cli.reach"]
)
def test_ctrl_c_while_a_command_loads_is_quiet(tmp_path: Path, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED.format(module=module), "status"],
        env=environment(tmp_path / "home"),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 130, shown(done)
    assert done.stderr.strip() == b""


def _full(home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    with FULL.open("wb") as full:
        return subprocess.run(
            command(*words),
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=home.parent,
            timeout=60,
            check=False,
        )


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "words", [("status",), ("status", "--json"), ("help",), ("-h",), ("--version",), ("config", "show", "-h")]
)
def test_a_stdout_that_takes_nothing_is_a_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    with FakeGateway(tmp_path / "home") as gateway:
        gateway.jobs[FIRST] = job(FIRST)
        done = _full(gateway.home, *words)
    assert done.returncode == 1
    assert done.stderr.decode() == "ERROR: the answer can't be written to stdout: No space left on device\n"


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_background_job_is_named_even_when_stdout_takes_nothing(tmp_path: Path) -> None:
    with FakeGateway(tmp_path / "home") as gateway:
        done = _full(gateway.home, "bg", "do it")
        (taken,) = gateway.jobs
    assert done.returncode == 1
    assert f"job {taken} was taken all the same" in done.stderr.decode()


DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_direction_controls_are_taken_out() -> None:
    assert strip_controls(f"a{DIRECTIONS}b\n") == "ab\n"
    assert one_line(f"a{DIRECTIONS}b", 80) == "ab"
    assert strip_controls("plain\ntext\n") == "plain\ntext\n"


def test_labels_and_reasons_do_not_steer_a_terminal(tmp_path: Path) -> None:
    with FakeGateway(tmp_path / "home") as gateway:
        gateway.jobs[FIRST] = job(FIRST, label="x\u202ey", reason="\x1b[31mred\u2066", state="failed", ended=1042.0)
        table = osrc(gateway.home, "status")
        explained = osrc(gateway.home, "explain", FIRST)
    for done in (table, explained):
        text = (done.stdout + done.stderr).decode()
        assert "red" in text, shown(done)
        assert not set(text) & {"\x1b", *DIRECTIONS}


def test_the_words_of_a_lane_file_do_not_steer_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "lanes.d"
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / "home").chmod(0o700)
    place = folder / "loud.toml"
    place.write_text(
        'summary = "s\\u001b]0;title\\u0007\\u202eum"\nargv = ["/bin/true"]\nstdin = "prompt"\noutput = "text"\n'
        'local = true\nbilling = { kind = "free", words = "b\\u001b[31m\\u2067ill" }\n[verbs]\nrun = "READ-ONLY"\n'
    )
    place.chmod(0o600)
    for words in (("lanes",), ("lanes", "show", "loud")):
        done = osrc(tmp_path / "home", *words)
        text = (done.stdout + done.stderr).decode()
        assert "loud.toml: summary is shown as it is: one line" in text, shown(done)
        assert not set(text) & {"\x1b", "\x07", *DIRECTIONS}
