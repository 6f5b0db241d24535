import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.state import identity, processes
from outsourcerer.state.identity import boot_id, identify, judge, look
from outsourcerer.state.processes import ProcessRow, cpu_ticks, descendants, members, parse_stat, read_process, snapshot

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(300)"]


def until(question, seconds=40.0):
    """Poll; no sleeping for luck."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if question():
            return True
        time.sleep(0.005)
    return False


@pytest.fixture
def child():
    started = subprocess.Popen(SLEEPER, stdout=subprocess.PIPE, start_new_session=True)
    started.stdout.readline()
    yield started
    started.kill()
    started.wait(120)
    started.stdout.close()


def seen(identity):
    return look(identity["pid"], identity["started"], identity["boot_id"])


def test_a_process_through_its_life(child):
    identity = identify(child.pid)
    assert identity["pid"] == child.pid
    assert identity["boot_id"] == boot_id()
    assert seen(identity) == "running"
    os.kill(child.pid, signal.SIGSTOP)
    assert until(lambda: seen(identity) == "stopped")
    os.kill(child.pid, signal.SIGCONT)
    assert until(lambda: seen(identity) == "running")
    child.kill()
    assert until(lambda: seen(identity) == "zombie")
    assert identify(child.pid) == identity, "a zombie still has its identity"
    child.wait(120)
    assert seen(identity) == "gone"
    assert identify(child.pid) is None


def test_a_recycled_pid_and_another_boot_are_gone(child):
    identity = identify(child.pid)
    assert look(child.pid, identity["started"] - 1, identity["boot_id"]) == "gone"
    assert look(child.pid, identity["started"], "another-boot") == "gone"
    assert look(child.pid, float("nan"), identity["boot_id"]) == "gone"


@pytest.mark.parametrize("pid", [0, -1, 1 << 31, 1 << 70])
def test_what_is_no_pid(pid):
    assert identify(pid) is None
    assert look(pid, 1, boot_id()) == "gone"


def test_a_snapshot_has_the_tree(child):
    rows = snapshot()
    row = rows[child.pid]
    assert (row.ppid, row.pgid, row.sid) == (os.getpid(), child.pid, child.pid)
    assert rows[os.getpid()].cpu_ticks > 0
    assert child.pid in [found.pid for found in descendants(os.getpid(), rows)]
    assert [found.pid for found in members(rows, sid=child.pid)] == [child.pid]
    assert judge(row, row.started) == "running"


def row(pid, ppid, started=0, **more):
    values = {"pgid": pid, "sid": pid, "state": "S", "cpu_ticks": 1, **more}
    return ProcessRow(pid=pid, ppid=ppid, started=started, **values)


def by_pid(*rows):
    return {found.pid: found for found in rows}


def test_descendants_deepest_first():
    rows = by_pid(row(1, 0), row(10, 1), row(11, 10), row(12, 10), row(13, 12), row(20, 1))
    found = [child.pid for child in descendants(10, rows)]
    assert found[0] == 13
    assert set(found) == {11, 12, 13}
    assert descendants(99, rows) == []
    assert [child.pid for child in descendants(12, {13: row(13, 12)})] == [13], "the root itself may be gone"


def test_a_child_older_than_its_parent_is_a_strangers():
    rows = by_pid(row(10, 1, started=100), row(11, 10, started=50), row(12, 10, started=100))
    assert [child.pid for child in descendants(10, rows)] == [12]


@given(
    st.dictionaries(st.integers(1, 30), st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=30),
    st.integers(0, 30),
)
def test_no_snapshot_makes_a_loop(tree, root):
    rows = {pid: row(pid, ppid, started) for pid, (ppid, started) in tree.items()}
    found = [child.pid for child in descendants(root, rows)]
    assert len(found) == len(set(found))
    assert root not in found
    position = {pid: index for index, pid in enumerate(found)}
    for pid in found:
        parent = rows[pid].ppid
        assert parent == root or position[pid] < position[parent], "a child comes before its parent"


def test_members_of_a_group_newest_first():
    rows = by_pid(row(1, 0, pgid=5), row(2, 0, pgid=5, started=9), row(3, 0, pgid=6))
    assert [found.pid for found in members(rows, pgid=5)] == [2, 1]
    assert cpu_ticks(rows.values()) == 3
    assert members(rows) == []


@pytest.mark.parametrize("name", [b"sh", b"a b", b") S 1 1 (", b")))", b"\xff\n("])
def test_a_command_name_can_say_anything(name):
    line = b"7 (" + name + b") T 3 4 5 0 -1 0 0 0 0 0 11 22 0 0 20 0 1 0 999 0\n"
    assert parse_stat(7, line) == ProcessRow(7, 3, 4, 5, "T", 999, 33)


def test_a_zombie_leader_with_living_threads_is_alive():
    line = b"7 (x) Z 3 4 5 0 -1 0 0 0 0 0 11 22 0 0 20 0 %d 0 999 0\n"
    assert judge(parse_stat(7, line % 1), 999) == "zombie"
    assert judge(parse_stat(7, line % 2), 999) == "running"


@linux
def test_a_leader_that_ended_before_its_threads_is_seen_as_running():
    script = (
        "import ctypes, threading, time;"
        "threading.Thread(target=time.sleep, args=(300,)).start();"
        "print('up', flush=True); ctypes.CDLL(None).pthread_exit(None)"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        identity = identify(child.pid)
        assert until(lambda: b") Z " in Path(f"/proc/{child.pid}/stat").read_bytes())
        assert seen(identity) == "running"
    finally:
        child.kill()
        child.wait(120)
        child.stdout.close()


@given(st.binary(max_size=200))
def test_no_line_raises(data):
    parse_stat(1, data)


@linux
def test_psutil_says_the_same(child, monkeypatch):
    """The other platforms' way, tried here: the same tree, the same states."""
    direct = read_process(child.pid)
    monkeypatch.setattr(processes, "LINUX", False)
    monkeypatch.setattr("outsourcerer.state.identity.LINUX", False)
    other = read_process(child.pid)
    assert (other.pid, other.ppid, other.pgid, other.sid) == (direct.pid, direct.ppid, direct.pgid, direct.sid)
    assert judge(other, other.started + 0.001) == "running"
    assert judge(other, other.started + 5) == "gone"
    assert child.pid in snapshot()
    os.kill(child.pid, signal.SIGSTOP)
    assert until(lambda: judge(read_process(child.pid), other.started) == "stopped")
    child.kill()
    assert until(lambda: judge(read_process(child.pid), other.started) == "zombie")
    child.wait(120)
    assert read_process(child.pid) is None


@pytest.mark.parametrize(("counted", "named"), [(417, "boot-417"), (None, "boot-1800000000")])
def test_a_boot_of_windows_has_the_number_that_windows_gives_it(monkeypatch, counted, named):
    asked = []

    def key(root, path):
        asked.append((root, path))
        if counted is None:
            raise FileNotFoundError(2, "there is no such key")
        return contextlib.nullcontext(path)

    monkeypatch.setattr(psutil, "boot_time", lambda: 1800000000.4)
    registry = SimpleNamespace(HKEY_LOCAL_MACHINE=7, OpenKey=key, QueryValueEx=lambda _, name: (counted, name))
    monkeypatch.setitem(sys.modules, "winreg", registry)
    monkeypatch.setattr(identity, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(identity, "LINUX", False)
    assert identity.boot_id.__wrapped__() == named
    assert asked == [(7, identity.BOOTS)]
