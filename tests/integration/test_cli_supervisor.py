"""The front end and the real supervisor: found, started, handed over, lost, and done without."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.lanes import steps
from fakes.osrc_process import environment, parsed, shown
from fakes.supervised import Supervised, until

SAID = ({"say": "working"}, {"mark": "DONE", "text": "all"}, {"end": "the answer"})


def old_supervisor(home: Supervised, patch: str) -> subprocess.Popen[bytes]:
    """Start a supervisor that says it is another one."""
    script = f"import sys; import outsourcerer; {patch}; sys.argv = ['d', '--home', {str(home.root)!r}]; import runpy; runpy.run_module('outsourcerer.actors.daemon', run_name='__main__')"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(home.root, **home.environ),
        start_new_session=True,
    )
    until(home.supervisor, "the other supervisor listens")
    return process


def test_eight_commands_at_once_start_one_supervisor(home: Supervised) -> None:
    processes = [home.start("bg", "-q", "--lane", "fake", f"task {number}") for number in range(8)]
    ids = set()
    for process in processes:
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        ids.add(out.decode().strip())
    assert len(ids) == 8
    assert home.daemon()
    assert home.log().count(", version ") == 1
    assert home.osrc("wait", *ids).returncode == 2


def test_run_ends_with_the_answer(home: Supervised) -> None:
    record, done = home.run(*SAID)
    assert (done.returncode, record["state"]) == (0, "done"), shown(done)
    assert done.stdout == b"the answer\n"
    assert home.ok("result", record["job_id"]) == "the answer\n"
    assert home.ok("classify", record["job_id"][:20]) == "REUSE-OUTPUT\tcompleted\n"
    assert home.osrc("wait", record["job_id"]).returncode == 0


def test_run_outlives_a_killed_supervisor(home: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    process = home.start("run", "--lane", "fake", "--", steps({"say": "x"}, {"wait_for": str(go)}, *SAID))
    until(lambda: home.records() and home.newest().get("delegate"), "it runs")
    home.kill_supervisor()
    until(home.daemons, "another supervisor was started by the command that follows")
    go.touch()
    out, err = process.communicate(timeout=240)
    assert (process.returncode, out) == (0, b"the answer\n"), err
    assert len(home.records()) == 1


def test_ctrl_c_ends_the_delegate(home: Supervised) -> None:
    process = home.start("run", "--lane", "fake", "--", steps({"sleep": 600}))
    until(lambda: home.records() and home.newest().get("delegate"), "it runs")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert home.newest()["state"] == "canceled"
    home.nothing_left()


def test_a_lost_terminal_does_not(home: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    process = home.start("run", "--lane", "fake", "--", steps({"wait_for": str(go)}, *SAID))
    until(lambda: home.records() and home.newest().get("delegate"), "it runs")
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=240)
    go.touch()
    assert home.ended(home.newest()["job_id"])["state"] == "done"


def test_an_older_supervisor_hands_over_and_its_job_goes_on(home: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    process = old_supervisor(home, "outsourcerer.__version__ = '0.0.1'")
    try:
        # An old client's job: the running supervisor is not older than it.
        client = "import outsourcerer; outsourcerer.__version__ = '0.0.1'; import sys; sys.argv[0] = 'osrc'; from outsourcerer.cli.main import main; main()"
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                client,
                "bg",
                "-q",
                "--lane",
                "fake",
                "--",
                steps({"wait_for": str(go)}, *SAID),
            ],
            env=environment(home.root, **home.environ),
            cwd=home.work,
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, shown(done)
        job_id = done.stdout.decode().strip()
        home.running(job_id)
        assert home.supervisor()["version"] == "0.0.1"
        # Looking does not hand over; doing does.
        assert home.osrc("status").returncode == 0
        assert home.supervisor()["version"] == "0.0.1"
        second = home.osrc("bg", "--lane", "fake", "x")
        assert second.returncode == 0, shown(second)
        assert b"handing over from supervisor 0.0.1" in second.stderr
        assert process.wait(timeout=240) == 0
        go.touch()
        assert home.ended(job_id)["state"] == "done"
        assert home.result(job_id).strip() == "the answer"
    finally:
        process.kill()
        process.wait()


def test_an_older_protocol_is_ended_and_replaced(home: Supervised) -> None:
    process = old_supervisor(home, "import outsourcerer.messages.vocabulary as v; v.PROTOCOL = 0")
    try:
        done = home.osrc("bg", "--lane", "fake", "x")
        assert done.returncode == 0, shown(done)
        process.wait(timeout=240)
        assert home.supervisor()["protocol"] == 1
    finally:
        process.kill()
        process.wait()


def test_stop_and_restart(home: Supervised) -> None:
    job_id = home.bg({"sleep": 600})
    home.running(job_id)
    first = home.supervisor()["pid"]
    assert parsed(home.osrc("supervisor", "status", "--json"))["live_jobs"] == 1
    assert home.ok("supervisor", "restart").startswith("running: pid ")
    assert home.supervisor()["pid"] != first
    assert home.ok("supervisor", "stop").startswith("stopped: pid ")
    assert home.daemons() == []
    # Looking shows it alive, and starts nothing.
    value = parsed(home.osrc("status", "--json", job_id))
    assert value["state"] == "running"
    assert home.daemons() == []
    # Waiting needs a supervisor, and starts one.
    assert home.osrc("wait", job_id, "--for", "1").returncode == 124
    assert home.daemon()
    assert home.ok("cancel", job_id).startswith(f"{job_id} canceled")
    assert home.ended(job_id)["state"] == "canceled"
    home.nothing_left()


def test_events_resume_through_a_restart(home: Supervised) -> None:
    home.run(*SAID)

    def rows(*words: str) -> list[dict]:
        return [json.loads(line) for line in home.ok("events", "--json", *words).splitlines()]

    through = rows()
    home.ok("supervisor", "stop")
    stored = rows()
    assert stored[: len(through)] == through
    middle = through[len(through) // 2]["seq"]
    assert [row["seq"] for row in rows("--since", str(middle))] == [row["seq"] for row in stored if row["seq"] > middle]
    job_id = home.newest()["job_id"]
    assert {row["job_id"] for row in rows("--job", job_id)} == {job_id}
    assert [row["type"] for row in rows("--type", "job.ended")] == ["job.ended"]
    assert "marker_id" not in json.dumps(stored)


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_without_a_daemon(home: Supervised, how: str) -> None:
    words = ("--no-daemon",) if how == "flag" else ()
    more = {"OSRC_NO_DAEMON": "1"} if how == "variable" else {}
    record, done = home.run(*SAID, words=words, **more)
    assert (done.returncode, done.stdout, record["state"]) == (0, b"the answer\n", "done"), shown(done)
    detached = home.osrc("bg", *words, "--lane", "fake", "x", **more)
    assert detached.returncode == 0, shown(detached)
    assert home.record(detached.stdout.decode().strip())["ended"]
    assert home.daemons() == []


def test_without_sockets_it_supervises_by_itself_and_says_so(home: Supervised, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import _socket\n"
        "class Walled(_socket.socket):\n"
        "    __slots__ = ()\n"
        "    def refuse(self, *_):\n"
        "        raise PermissionError(1, 'Operation not permitted')\n"
        "    bind = connect = refuse\n"
        "_socket.socket = Walled\n"
    )
    paths = environment(home.root)["PYTHONPATH"]
    record, done = home.run(*SAID, PYTHONPATH=f"{folder}:{paths}")
    assert (done.returncode, done.stdout, record["state"]) == (0, b"the answer\n", "done"), shown(done)
    said = [line for line in done.stderr.decode().splitlines() if "no supervisor can be had here" in line]
    assert len(said) == 1
    assert "not permitted" in said[0]
    assert home.daemons() == []


def test_a_task_of_two_mebibytes(home: Supervised) -> None:
    text = "x" * (2 * 1024 * 1024) + "\n" + steps({"end": "took it"})
    done = home.osrc("run", "--lane", "fake", "-", stdin=text.encode())
    assert done.stdout == b"took it\n", shown(done)
    assert list((home.root / "spool").iterdir()) == []


def test_a_home_that_can_not_be_used_is_one_sentence(home: Supervised, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    done = home.osrc("bg", "x", "--home", str(taken))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"is not a folder" in done.stderr
    assert b"OSRC_HOME=" in done.stderr
    assert b"Traceback" not in done.stderr


_DIES = """
import os, signal, sys, threading
from pathlib import Path
from fakes.fake_gateway import FakeGateway
gateway = FakeGateway(Path(sys.argv[1]))
gateway.submit = lambda body: os.kill(os.getpid(), signal.SIGKILL)
gateway.listen()
threading.Event().wait()
"""


def test_a_job_asked_of_a_supervisor_that_is_killed_over_it_is_asked_for_again(home: Supervised) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _DIES, str(home.root)],
        env={**home.environment(), "PYTHONPATH": f"{Path(__file__).parents[1]}:{home.environment()['PYTHONPATH']}"},
        start_new_session=True,
    )
    try:
        until((home.root / "supervisor.json").exists, "the first supervisor listens")
        job_id = home.bg({"end": "the answer"})
        assert process.wait(240) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()
    assert home.ended(job_id)["exit"] == 2
    assert [record["job_id"] for record in home.records()] == [job_id]
