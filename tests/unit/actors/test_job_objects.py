"""Job objects by a fake ``kernel32``, and a delegate that is held in one."""

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from fakes.actors import eventually
from fakes.kernel32 import FakeKernel
from outsourcerer.actors import job_objects, suspended, tree
from outsourcerer.actors.suspended import FLAGS, Start, SuspendedJob
from outsourcerer.messages.job import Identity
from outsourcerer.state.identity import boot_id
from outsourcerer.state.processes import ProcessRow, read_process

JOB = "20260101-000000-abcdefabcdef"


@pytest.fixture
def kernel():
    return FakeKernel()


def start(tmp_path, **terms):
    (tmp_path / "prompt").write_bytes(b"do it")
    given = {"job_id": JOB, "argv": ["C:\\npm\\claude.cmd", "-p", "50%"], "env": {"COMSPEC": "C:\\cmd.exe"}, **terms}
    return Start(cwd=os.fspath(tmp_path), umask=0o022, stdin=os.fspath(tmp_path / "prompt"), out=1, err=2, **given)


class Process:
    """What ``subprocess.Popen`` gives, of a process that the fake kernel has."""

    def __init__(self, kernel, code=0):
        self.kernel, self.code, self.pid, self.asked = kernel, code, 4711, None

    def __call__(self, line, **terms):
        assert terms["stdin"].read() == b"do it"
        self.asked = (line, terms)
        self.kernel.alive.add(self.pid)
        return self

    def kill(self):
        self.kernel.alive.discard(self.pid)

    def wait(self):
        self.kernel.alive.discard(self.pid)
        return self.code


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the layout where pointers have 64 bits")
def test_the_structures_are_as_windows_lays_them_out():
    assert ctypes.sizeof(job_objects.BasicLimits) == 64
    assert ctypes.sizeof(job_objects.ExtendedLimits) == 144
    assert job_objects.BasicLimits.flags.offset == 16
    assert job_objects.pid_list(3).pids.offset == 8


def test_a_job_object_ends_its_members_with_us_only_as_long_as_that_is_wished(kernel):
    made = job_objects.create(kernel, JOB)
    kernel.alive |= {7, 8}
    made.end_with_us(True)
    made.add(7)
    made.close()
    assert kernel.alive == {8}
    made = job_objects.create(kernel, JOB)
    made.add(8)
    made.end_with_us(True)
    made.end_with_us(False)
    made.close()
    assert kernel.alive == {8}
    assert kernel.open_handles() == 0


@pytest.mark.parametrize("count", [0, 1, 64, 65, 1000])
def test_every_member_is_listed_however_many(kernel, count):
    made = job_objects.create(kernel, JOB)
    pids = list(range(100, 100 + count))
    kernel.alive |= set(pids)
    for pid in pids:
        made.add(pid)
    assert sorted(made.pids()) == pids
    assert sorted(job_objects.members(JOB, kernel)) == pids
    assert kernel.open_handles() == 1, "asking lets go again"
    made.end()
    assert (made.pids(), kernel.alive) == ([], set())


def test_a_job_object_that_is_not_there_has_nobody_in_it(kernel):
    assert job_objects.members(JOB, kernel) == []
    assert job_objects.members(JOB) == [], "nor has a system without them"


@pytest.mark.parametrize(
    "name",
    ["CreateJobObjectW", "OpenProcess", "AssignProcessToJobObject", "SetInformationJobObject", "TerminateJobObject"],
)
def test_what_windows_refuses_is_an_error(kernel, name):
    kernel.alive.add(7)
    kernel.refused = name

    def all_of_it():
        made = job_objects.create(kernel, JOB)
        made.end_with_us(True)
        made.add(7)
        made.end()

    with pytest.raises(OSError, match="Windows would not"):
        all_of_it()
    kernel.refused = "QueryInformationJobObject"
    job_objects.create(kernel, JOB)
    assert job_objects.members(JOB, kernel) == []


def test_a_held_delegate_begins_once_it_may_outlive_us(kernel, tmp_path):
    process, resumed = Process(kernel, 3221225477), []

    def resume(pid):
        assert not kernel.ends_with_us(job_objects.PREFIX + JOB)
        resumed.append(pid)

    made = SuspendedJob(start(tmp_path), kernel=kernel, resume=resume, popen=process)
    line, terms = process.asked
    assert line == '"C:\\cmd.exe" /d /e:on /v:off /s /c ""C:\\npm\\claude.cmd" "-p" "50%%cd:~,%""'
    assert terms["creationflags"] & suspended.CREATE_SUSPENDED
    assert terms["creationflags"] == FLAGS
    assert kernel.ends_with_us(job_objects.PREFIX + JOB), "killed now, we take it along: it has not begun"
    assert resumed == []
    made.release()
    assert resumed == [4711]
    kernel.alive |= {5, 6}
    kernel.join(job_objects.PREFIX + JOB, 5)
    assert made.wait() == (3221225477, None)
    assert made.left() == [5]
    assert made.end_left() == []
    assert kernel.alive == {6}


def test_what_leaves_by_itself_is_not_ended(kernel, tmp_path, monkeypatch):
    made = SuspendedJob(start(tmp_path), kernel=kernel, resume=int, popen=Process(kernel))
    made.release()
    kernel.alive.add(5)
    kernel.join(job_objects.PREFIX + JOB, 5)
    monkeypatch.setattr(
        suspended, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda _: kernel.alive.discard(5))
    )
    made.wait()
    assert made.end_left() == []
    assert "TerminateJobObject" not in kernel.called


def test_one_that_can_not_be_held_never_begins(kernel, tmp_path):
    kernel.refused = "AssignProcessToJobObject"
    with pytest.raises(OSError, match="put 4711 into a job object"):
        SuspendedJob(start(tmp_path), kernel=kernel, resume=lambda _: pytest.fail("it begins"), popen=Process(kernel))
    assert kernel.alive == set()


def test_words_that_no_line_can_say_start_nothing(kernel, tmp_path):
    given = start(tmp_path, argv=["C:\\npm\\claude.cmd", "two\nlines"])
    with pytest.raises(ValueError, match="line break"):
        SuspendedJob(given, kernel=kernel, resume=int, popen=lambda *_, **__: pytest.fail("it is started"))


def test_where_windows_lists_no_members_a_tree_is_who_inherited_the_job_s_id(monkeypatch):
    env = {"PATH": os.defpath, tree.JOB_VARIABLE: JOB}
    argv = [sys.executable, "-I", "-S", "-c", "input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=env, start_new_session=True) as bearer:
        row = eventually(lambda: read_process(bearer.pid))
        eventually(lambda: tree._environment_of(bearer.pid).get(tree.JOB_VARIABLE))
        monkeypatch.setattr(tree, "sys", SimpleNamespace(platform="win32"))
        monkeypatch.setattr(tree, "snapshot", lambda: {os.getpid(): read_process(os.getpid()), row.pid: row})
        delegate = Identity(pid=(1 << 30) + 7, started=0.0, boot_id=boot_id())
        assert [one.pid for one in tree.tree_of(JOB, delegate, None)] == [bearer.pid]
        assert tree.tree_of("20260101-000000-000000000000", delegate, None) == []
        bearer.communicate(b"\n", timeout=30)


def test_a_tree_holds_what_is_in_its_job_object_whoever_its_parent_is(monkeypatch):
    me = read_process(os.getpid())
    rows = {1: me._replace(pid=1), 70: ProcessRow(70, 1, 0, 0, "R", 5.0, 0), 71: ProcessRow(71, 1, 0, 0, "R", 5.0, 0)}
    monkeypatch.setattr(tree, "snapshot", lambda: rows)
    monkeypatch.setattr(tree, "held_together", lambda job_id: [70, 99] if job_id == JOB else [])
    assert [row.pid for row in tree.tree_of(JOB, None, None)] == [70]
