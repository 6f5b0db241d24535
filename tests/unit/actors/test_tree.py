"""Ending and looking at process trees: everything of ours, nothing of anyone else's."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from fakes.actors import eventually, mailbox
from fakes.launches import PYTHON, alive, bearers
from outsourcerer.actors import tree
from outsourcerer.actors.base import Directory, Stop
from outsourcerer.actors.tree import end_tree, in_background, look_at_tree, newer_file, tree_of
from outsourcerer.messages.internal import TreeLooked
from outsourcerer.messages.job import Identity
from outsourcerer.state.identity import identify
from outsourcerer.state.ids import new_job_id
from outsourcerer.state.processes import snapshot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

PATIENCE_S = 120.0
JOB = new_job_id(time.time(), os.urandom(6))


class Family:
    """A delegate of ours, as a shim would have started it."""

    def __init__(self, code: str, job: str = JOB) -> None:
        self.process = subprocess.Popen(
            [
                PYTHON,
                "-c",
                f"import os, signal, subprocess, sys, time\n{code}\nprint('up', flush=True)\ntime.sleep(300)",
            ],
            stdout=subprocess.PIPE,
            env={"PATH": os.defpath, "OSRC_JOB_ID": job},
            start_new_session=True,
        )
        assert self.process.stdout.readline() == b"up\n"
        self.identity = Identity.model_validate(identify(self.process.pid))

    def close(self) -> None:
        for pid in bearers(JOB):
            os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def family(request):
    made = Family(getattr(request, "param", "pass"))
    yield made
    made.close()


def pids(delegate: Identity | None, shim: Identity | None = None, job: str = JOB) -> set[int]:
    return {row.pid for row in tree_of(job, delegate, shim)}


TREES = {
    "alone": "pass",
    "children": "a = subprocess.Popen(['sleep', '300']); b = subprocess.Popen(['sh', '-c', 'sleep 300 & wait'])",
    "own session": "subprocess.Popen(['sleep', '300'], start_new_session=True)",
    "double fork": (
        "between = os.fork() or (os.setsid(), os.fork() and os._exit(0), os.execvp('sleep', ['sleep', '300']));"
        " os.waitpid(between, 0)"
    ),
    "deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "deaf child": (
        "subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True);"
        " time.sleep(300)'], stdout=subprocess.PIPE).stdout.readline()"
    ),
    "stopped child": "os.kill(subprocess.Popen(['sleep', '300']).pid, signal.SIGSTOP)",
}


@pytest.mark.parametrize("family", TREES.values(), ids=TREES, indirect=True)
def test_a_whole_tree_is_ended_and_a_stranger_is_not_touched(family):
    stranger = subprocess.Popen(["sleep", "300"])
    try:
        if len(bearers(JOB)) > 1:
            eventually(lambda: len(pids(family.identity)) >= 2)
        assert end_tree(JOB, family.identity, None, 0.5) == ()
        family.process.wait(PATIENCE_S)
        assert bearers(JOB) == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


POLITE = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"


@pytest.mark.parametrize("family", [POLITE], indirect=True)
def test_a_tree_is_asked_to_leave_first(family):
    assert end_tree(JOB, family.identity, None, PATIENCE_S) == ()
    assert family.process.wait(PATIENCE_S) == 7


@pytest.mark.parametrize("family", [POLITE.replace("sys.exit(7)", "time.sleep(1) or sys.exit(7)")], indirect=True)
def test_a_machine_that_stood_still_gave_nobody_time_to_leave(family, monkeypatch):
    clock = itertools.count(0.0, 1000.0)
    monkeypatch.setattr(tree, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=time.sleep))
    assert end_tree(JOB, family.identity, None, 500.0) == ()
    assert family.process.wait(PATIENCE_S) == 7


@pytest.mark.parametrize("family", [POLITE], indirect=True)
def test_what_turns_up_later_is_asked_too(family, monkeypatch):
    """The first look misses one of two."""
    other = Family(POLITE)
    real, looks = tree.tree_of, itertools.count()

    def look(*words):
        first = next(looks) == 0
        return [row for row in real(*words) if not first or row.pid == family.process.pid]

    monkeypatch.setattr(tree, "tree_of", look)
    try:
        assert end_tree(JOB, family.identity, None, PATIENCE_S) == ()
        assert (family.process.wait(PATIENCE_S), other.process.wait(PATIENCE_S)) == (7, 7)
    finally:
        other.close()


def test_at_once_means_kill(family):
    end_tree(JOB, family.identity, None, 0.0)
    assert family.process.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_stopped_delegate_is_ended_too(family):
    os.kill(family.process.pid, signal.SIGSTOP)
    assert end_tree(JOB, family.identity, None, PATIENCE_S) == ()
    assert family.process.wait(PATIENCE_S) == -signal.SIGTERM


@pytest.mark.parametrize("family", [TREES["double fork"]], indirect=True)
def test_what_outlived_its_delegate_is_found_by_what_it_inherited(family):
    family.process.kill()
    family.process.wait()
    (orphan,) = eventually(lambda: len(found := bearers(JOB)) == 1 and found)
    # A look at the very moment in which it becomes another program sees no environment.
    eventually(lambda: pids(family.identity) == {orphan})
    assert end_tree(JOB, family.identity, None, 0.5) == ()
    assert bearers(JOB) == []


def test_a_recycled_pid_is_a_stranger(family):
    """The delegate of the record was another process, long ago; this one has its pid and leads a group of that id."""
    stranger = Family("subprocess.Popen(['sleep', '300'])", job="someone-elses")
    try:
        record = stranger.identity.model_copy(update={"started": stranger.identity.started - 5})
        assert pids(record) <= set(bearers(JOB)), "only what bears the id"
        assert pids(record, job="20270115-080000-00000000000b") == set()
        assert end_tree("20270115-080000-00000000000b", record, None, 0.2) == ()
        assert stranger.process.poll() is None
    finally:
        for row in tree_of("x", stranger.identity, None):
            os.kill(row.pid, signal.SIGKILL)
        stranger.process.wait()
        stranger.process.stdout.close()


def test_another_boot_is_another_machine(family):
    record = family.identity.model_copy(update={"boot_id": "another"})
    assert pids(record, job="20270115-080000-00000000000c") == set()


def test_neither_the_shim_nor_we_are_in_the_tree(family):
    me = Identity.model_validate(identify(os.getpid()))
    found = pids(family.identity, shim=me)
    assert os.getpid() not in found
    assert family.process.pid in found
    assert pids(None, None) == set()


def test_a_tree_that_is_gone_is_ended_at_once(family):
    family.process.kill()
    family.process.wait()
    before = time.monotonic()
    assert end_tree(JOB, family.identity, None, 60.0) == ()
    assert time.monotonic() - before < 30


# --- looking


def look(family, folder, *, since=None, before=-1.0, over=1.0, files=True, depth=6) -> TreeLooked:
    return look_at_tree(
        job_id=JOB,
        delegate=family.identity,
        shim=None,
        cwd=str(folder),
        since=time.time() - 60 if since is None else since,
        depth=depth,
        look_files=files,
        cpu_before_s=before,
        over_s=over,
    )


def test_changed_files_are_life_and_old_ones_are_not(family, tmp_path):
    def seen(**more) -> bool:
        return look(family, tmp_path, before=0.0, **more).files

    assert not seen()
    (tmp_path / "new").write_text("x")
    assert seen()
    assert not seen(since=time.time() + 60)
    assert not seen(files=False)


@pytest.mark.parametrize(
    ("path", "depth", "seen"),
    [
        ("a/b/c/new", 6, True),
        ("a/b/c/new", 2, False),
        (".git/index", 6, False),
        ("node_modules/x/new", 6, False),
        ("a/.venv/new", 6, False),
    ],
)
def test_how_far_is_looked(tmp_path, path, depth, seen):
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text("x")
    old = time.time() - 3600
    for folder, _, _ in os.walk(tmp_path):
        os.utime(folder, (old, old))
    assert newer_file(str(tmp_path), time.time() - 60, depth) is seen


def test_a_folder_that_is_gone_or_loops_is_no_life(tmp_path):
    assert not newer_file(str(tmp_path / "gone"), 0.0, 6)
    (tmp_path / "loop").symlink_to(tmp_path)
    old = time.time() - 3600
    os.utime(tmp_path / "loop", (old, old), follow_symlinks=False)
    assert not newer_file(str(tmp_path), time.time() - 60, 6)


@pytest.mark.parametrize("family", ["subprocess.Popen([sys.executable, '-c', 'while True: pass'])"], indirect=True)
def test_a_busy_child_is_work(family, tmp_path):
    first = look(family, tmp_path)
    assert first.busy, "without an earlier look it takes two"
    eventually(lambda: look(family, tmp_path).cpu_s > first.cpu_s + 0.2)
    assert look(family, tmp_path, before=first.cpu_s, over=5.0).busy
    assert not look(family, tmp_path, before=first.cpu_s, over=1e6).busy


def test_a_sleeping_one_is_not(family, tmp_path):
    first = look(family, tmp_path)
    assert not first.busy
    assert not look(family, tmp_path, before=first.cpu_s, over=10.0).busy


# --- in the background


def test_work_that_fails_is_still_answered():
    directory = Directory()
    handle, got = mailbox(directory)

    def fail():
        raise OSError("no")

    in_background("x", handle, fail, otherwise="sorry")
    assert eventually(lambda: got) == ["sorry"]
    handle.tell(Stop("end"))


def test_the_tests_leave_nothing():
    assert not [row for row in snapshot().values() if row.pid in bearers(JOB)]
    assert not alive(None)


def test_many_trees_are_looked_at_one_after_the_other(monkeypatch):
    """Two hundred looks at once, each of thousands of reads, held each other up past every deadline."""
    together = threading.Barrier(2)
    met = []

    def look():
        try:
            together.wait(timeout=0.2)  # only a second look at the same time gets through
        except threading.BrokenBarrierError:
            return {}
        met.append(True)
        return {}

    monkeypatch.setattr(tree, "snapshot", look)
    lookers = [threading.Thread(target=tree_of, args=("20260101-000000-000000000000", None, None)) for _ in range(2)]
    for looker in lookers:
        looker.start()
    for looker in lookers:
        looker.join()
    assert not met
