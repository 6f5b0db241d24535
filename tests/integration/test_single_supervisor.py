"""One supervisor per state home, whatever was left by the last one and however many clients come at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.osrc_process import environment, shown
from fakes.supervised import Supervised, alive, kill, until
from outsourcerer.actors.lock import HomeLock
from outsourcerer.actors.opening import open_store
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home as StateHome


def sleeper() -> subprocess.Popen[bytes]:
    """A stranger's process."""
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], env={})


def test_twenty_clients_at_once_start_one(home: Supervised) -> None:
    clients = [home.start("bg", "--lane", "fake", "--label", f"n{number}", "--", "hello") for number in range(20)]
    ids = []
    for client in clients:
        out, err = client.communicate(timeout=240)
        assert client.returncode == 0, err
        ids.append(out.decode().strip())
    assert len(set(ids)) == 20
    assert home.daemon()
    assert len(home.facts("supervisor.started")) == 1
    for job_id in ids:
        assert home.ended(job_id)["state"] == "done?"


def test_a_stale_socket_and_a_stale_file_after_a_kill(home: Supervised) -> None:
    home.ok("supervisor", "restart")
    before = home.supervisor()
    home.kill_supervisor()
    assert home.supervisor() == before
    assert Path(before["socket"]).exists()
    assert home.osrc("supervisor", "status").returncode == 1
    assert home.ok("supervisor", "stop") == "not running\n"
    home.bg({"end": "x"})
    assert home.supervisor()["pid"] != before["pid"]
    assert home.daemons() == [home.supervisor()["pid"]]


def test_a_stale_file_that_names_a_strangers_pid(home: Supervised) -> None:
    """The pid was recycled: the stranger is neither waited for nor ended."""
    home.ok("supervisor", "restart")
    before = home.supervisor()
    home.kill_supervisor()
    stranger = sleeper()
    try:
        (home.root / "supervisor.json").write_text(json.dumps({**before, "pid": stranger.pid}))
        assert home.osrc("supervisor", "status").returncode == 1
        home.ok("supervisor", "stop")
        home.ok("supervisor", "restart")
        assert stranger.poll() is None
        assert home.daemon()
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"socket": 7}', b'{"socket": "/nowhere"}', b"\xff" * 100],
    ids=["empty", "cut", "list", "number", "nowhere", "bytes"],
)
def test_a_damaged_file(home: Supervised, content: bytes) -> None:
    (home.root / "supervisor.json").write_bytes(content)
    assert home.osrc("status").returncode == 0
    home.bg({"end": "x"})
    assert home.daemons() == [home.supervisor()["pid"]]


def test_a_stopped_supervisor_is_slow_and_not_dead(home: Supervised) -> None:
    """It holds the lock: no second one is started beside it. The person is told what to do."""
    home.ok("supervisor", "restart")
    pid = home.supervisor()["pid"]
    kill(pid, signal.SIGSTOP)
    try:
        done = home.osrc("bg", "--json", "--lane", "fake", "hello", timeout=240)
        assert done.returncode == 1, shown(done)
        assert json.loads(done.stdout)["error"]["code"] == "supervisor_busy"
        assert home.daemons() == [pid]
    finally:
        kill(pid, signal.SIGCONT)
    home.ok("status")


def test_a_second_one_leaves_quietly(home: Supervised) -> None:
    home.ok("supervisor", "restart")
    second = subprocess.run(
        [sys.executable, "-m", "outsourcerer.actors.daemon", "--home", str(home.root)],
        env=environment(home.root, **home.environ),
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert (second.returncode, second.stdout) == (0, b"")
    assert home.daemons() == [home.supervisor()["pid"]]
    home.ok("supervisor", "status")


OTHER_PROTOCOL = """
import sys
import outsourcerer
import outsourcerer.messages.vocabulary as vocabulary
outsourcerer.__version__, vocabulary.PROTOCOL = sys.argv[2], int(sys.argv[3])
sys.argv = ["outsourcerer.actors.daemon", "--home", sys.argv[1]]
from outsourcerer.actors.daemon import main
main()
"""


def start_other(home: Supervised, version: str, protocol: int) -> subprocess.Popen[bytes]:
    """A supervisor that speaks another protocol, listening."""
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER_PROTOCOL, str(home.root), version, str(protocol), "outsourcerer.actors.daemon"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(home.root / "supervisor.log").open("ab"),
        env=environment(home.root, **home.environ),
        start_new_session=True,
    )
    until(lambda: (home.supervisor() or {}).get("pid") == other.pid, "it listens")
    return other


def test_stop_works_across_protocols(home: Supervised) -> None:
    other = start_other(home, "99.0", 99)
    done = home.osrc("supervisor", "stop")
    assert done.returncode == 0, shown(done)
    assert other.wait(240) == 0
    assert home.daemons() == []


def test_an_older_protocol_is_replaced_and_its_jobs_go_on(home: Supervised) -> None:
    go = home.scratch / "go"
    first = home.bg({"wait_for": str(go)}, {"mark": "DONE"}, {"end": "the answer"})
    home.running(first)
    home.kill_supervisor()
    other = start_other(home, "0.0.1", 0)
    second = home.bg({"end": "x"})
    assert other.wait(240) == 0
    assert home.ended(second)["state"] == "done?"
    go.touch()
    assert home.ended(first)["state"] == "done"


def test_a_newer_protocol_is_left_alone_and_named(home: Supervised) -> None:
    other = start_other(home, "99.0", 99)
    done = home.osrc("bg", "--json", "--lane", "fake", "hello")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "protocol"
    assert other.poll() is None
    home.ok("supervisor", "stop")
    other.wait(240)


def test_usr1_writes_every_stack_to_the_log(home: Supervised) -> None:
    home.ok("supervisor", "restart")
    kill(home.supervisor()["pid"], signal.SIGUSR1)
    until(lambda: home.log().count("Thread 0x") >= 5, "the stacks of all threads are in the log")
    home.ok("supervisor", "status")


def test_term_stops_it_and_leaves_delegates_running(home: Supervised) -> None:
    job_id = home.bg({"sleep": 600})
    delegate = home.running(job_id)["delegate"]["pid"]
    pid = home.supervisor()["pid"]
    kill(pid, signal.SIGTERM)
    until(lambda: not home.daemons(), "it left")
    assert alive(delegate)
    assert not (home.root / "supervisor.json").exists()
    assert [fact["reason"] for fact in home.facts("supervisor.stopped")] == ["shutdown"]
    home.ok("cancel", "--now", job_id)
    assert home.ended(job_id)["state"] == "canceled"


def test_stop_with_cancel_ends_the_jobs(home: Supervised) -> None:
    jobs = [home.bg({"ignore": ["TERM"]}, {"sleep": 600}) for _ in range(3)]
    for job_id in jobs:
        home.running(job_id)
    home.ok("supervisor", "stop", "--cancel")
    assert [home.state(job_id) for job_id in jobs] == ["canceled"] * 3
    home.nothing_left()
    assert home.daemons() == []


def test_it_leaves_when_idle_and_not_before(home: Supervised) -> None:
    home.environ["OSRC_IDLE_EXIT"] = "1"
    go = home.scratch / "go"
    job_id = home.bg({"wait_for": str(go)}, {"end": "x"})
    pid = home.supervisor()["pid"]
    time.sleep(2.5)  # by now it would have left
    assert home.daemons() == [pid], "a running job keeps it"
    go.touch()
    home.ended(job_id)
    until(lambda: not home.daemons(), "it left")
    assert [fact["reason"] for fact in home.facts("supervisor.stopped")] == ["idle"]
    assert not (home.root / "supervisor.json").exists()
    assert json.loads(home.ok("status", "--json", job_id))["state"] == "done?"
    assert home.daemons() == [], "looking starts none"


def test_a_state_home_of_its_own_for_each(home: Supervised, tmp_path: Path) -> None:
    other = Supervised(tmp_path / "other")
    try:
        home.ok("supervisor", "restart")
        other.ok("supervisor", "restart")
        assert home.supervisor()["socket"] != other.supervisor()["socket"]
        other.ok("supervisor", "stop")
        assert home.daemon()
    finally:
        other.close()


def test_the_kernel_frees_the_lock_of_a_killed_holder(tmp_path: Path) -> None:
    state_home = StateHome(tmp_path)
    lock, other = HomeLock(state_home), HomeLock(state_home)
    assert lock.take()
    assert lock.take(), "it is ours already"
    assert not other.take()
    lock.release()
    lock.release()
    assert other.take()
    other.release()


def test_the_socket_is_private(home: Supervised) -> None:
    home.ok("supervisor", "restart")
    place = Path(home.supervisor()["socket"])
    assert place.stat().st_mode & 0o077 == 0
    assert place.parent.stat().st_mode & 0o077 == 0
    assert place.parent.stat().st_uid == os.getuid()
    assert len(os.fsencode(place)) <= 103


@pytest.mark.parametrize("replaced", [False, True])
def test_it_leaves_when_its_home_is_gone(home: Supervised, replaced: bool) -> None:
    """Also where there is another by now, and another supervisor: whose files it leaves alone."""
    quick = (
        "import sys, outsourcerer.actors.root as root; root.HOME_LOOK_S = 0.2\n"
        f"sys.argv = ['daemon', '--home', {str(home.root)!r}]\n"
        "from outsourcerer.actors.daemon import main; main()"
    )
    process = subprocess.Popen([sys.executable, "-c", quick], env=home.environment(), stderr=subprocess.PIPE)
    until(home.supervisor, "it listens")
    process.send_signal(signal.SIGSTOP)
    home.root.rename(home.root.with_name("moved away"))
    if replaced:
        other = subprocess.Popen([sys.executable, "-c", quick], env=home.environment(), stderr=subprocess.DEVNULL)
        until(home.supervisor, "another listens")
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0
    assert b"the state home is gone" in said
    if replaced:
        assert home.supervisor()["pid"] == other.pid
        assert Path(home.supervisor()["socket"]).exists()
        home.ok("supervisor", "stop")
        assert other.wait(timeout=240) == 0


def test_a_lock_whose_home_was_replaced_is_displaced(tmp_path: Path) -> None:
    state_home = StateHome(tmp_path / "home")
    state_home.preflight()
    lock = HomeLock(state_home)
    assert not lock.displaced
    assert lock.take()
    assert not lock.displaced
    state_home.root.rename(tmp_path / "moved away")
    assert lock.displaced
    state_home.preflight()
    other = HomeLock(state_home)
    assert other.take()
    assert lock.displaced
    assert not other.displaced
    with pytest.raises(StateError, match="removed or replaced"):
        open_store(state_home, lock, 0.0)
    assert not state_home.database.exists()
    lock.release()
    other.release()
    assert not lock.displaced
