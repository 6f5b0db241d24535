"""Shims that nobody forked keep the promises of those that are: one start per attempt, exact exits, nothing left."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from fakes.actors import eventually
from fakes.launches import alive, bearers, launchable, sweep
from fakes.permits import permit
from outsourcerer.actors import plain_process, plain_shim, shim
from outsourcerer.actors.attempt import LaunchFate, claim_attempt, fate_of_launch
from outsourcerer.actors.plain_process import environment
from outsourcerer.actors.plain_spawner import PlainSpawner, spawner_for
from outsourcerer.actors.spawner import Spawner, SpawnError
from outsourcerer.actors.suspended import SuspendedSession
from outsourcerer.state.job_folder import SpawnRecord

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


class Bench:
    def __init__(self, folder):
        self.jobs = folder / "jobs dir ü"
        self.said = []
        self.spawner = PlainSpawner(self.said.append)
        self.folders = []

    def folder(self, code="", **terms):
        made = launchable(self.jobs, code, **terms)
        self.folders.append(made)
        return made

    def start(self, folder, attempt=1):
        self.spawner.spawn(folder.path, attempt, permit(folder.path, attempt))
        return folder

    def run(self, code="", **terms):
        return self.start(self.folder(code, **terms))

    def heard(self, folder):
        return [hint["what"] for hint in map(json.loads, self.said) if hint["job"] == folder.job_id]


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.spawner.close()
    sweep(made.folders)


def ended(folder):
    return eventually(folder.read_exit)


@pytest.mark.parametrize(
    ("code", "exit_", "number"),
    [
        ("raise SystemExit(255)", 255, None),
        ("import os; os.kill(os.getpid(), 9)", None, signal.SIGKILL),
        ("import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), 2)", None, signal.SIGINT),
    ],
)
def test_ends_are_exact_and_told(bench, code, exit_, number):
    folder = bench.run(code)
    found = ended(folder)
    assert (found.status.code, found.status.signal, found.status.error, found.attempt) == (exit_, number, None, 1)
    eventually(lambda: bench.heard(folder)[-1:] == ["gone"])
    assert bench.heard(folder)[0] == "spawned"


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"argv": ["/no/such/program"]}, "No such file or directory: /no/such/program"),
        ({"argv": ["/etc/passwd"]}, "Permission denied: /etc/passwd"),
        ({"cwd": "/no/such/folder"}, "No such file or directory: /no/such/folder"),
        ({"argv": []}, "IndexError"),
        ({"argv": 7}, "TypeError"),
        ({"env": {"A": "x\0y"}}, "ValueError"),
    ],
)
def test_a_delegate_that_can_not_be_started_is_an_error_and_no_exit_code(bench, terms, words):
    folder = bench.folder()
    launch = json.loads((folder.path / "launch.json").read_text())
    (folder.path / "launch.json").write_text(json.dumps({**launch, **terms}))
    found = ended(bench.start(folder))
    assert words in found.status.error
    assert (found.status.code, found.status.signal) == (None, None)
    assert (folder.path / "launch.json").read_bytes() == b"", "it held an environment"


def test_the_delegate_gets_what_the_launch_says_and_nothing_else(bench):
    folder = bench.run(
        "import os, sys, json, signal\n"
        "data = sys.stdin.buffer.read()\n"
        "mask = os.umask(0); os.umask(mask)\n"
        "fds = sorted(int(fd) for fd in os.listdir('/proc/self/fd'))\n"
        "print(json.dumps([os.getcwd(), sys.argv[1:], os.environ['GIVEN'], os.environ['OSRC_JOB_ID'], len(data), mask, fds[:3],"
        " len(fds), os.getsid(0) == os.getpid(), [n for n in range(1, 32) if signal.getsignal(n) == signal.SIG_IGN]]))\n"
        "print('to stderr', file=sys.stderr)",
        stdin=b"\x00prompt\xff\n" * 1000,
        env={"GIVEN": "välue $x", "LC_ALL": "C.UTF-8"},
    )
    assert ended(folder).status.code == 0
    cwd, words, value, job, size, mask, low, count, leader, ignored = json.loads((folder.path / "out.log").read_text())
    assert (cwd, words, value, job) == (str(bench.jobs), [], "välue $x", folder.job_id)
    assert (size, mask, low, count) == (9000, 0o027, [0, 1, 2], 4)
    assert leader
    assert set(ignored) <= {signal.SIGPIPE, signal.SIGXFSZ}, "python ignores these two itself"
    assert (folder.path / "err.log").read_text() == "to stderr\n"
    assert oct((folder.path / "out.log").stat().st_mode)[-3:] == "600"
    assert (folder.path / "launch.json").read_bytes() == b""


def test_words_reach_the_delegate_unchanged_and_stdin_is_empty(bench):
    words = ["-c", "import sys; print(sys.argv[1:], len(sys.stdin.read()))", "$HOME `id` 'a' \"b\"", "", "-e", "ü\n*"]
    folder = bench.run(argv=[sys.executable, "-I", "-S", *words])
    assert ended(folder).status.code == 0
    assert (folder.path / "out.log").read_text() == f"{words[2:]} 0\n"


def test_the_records_name_both_processes(bench):
    folder = bench.run("import time; time.sleep(60)")
    spawn = eventually(lambda: folder.read_spawn(1))
    claim = folder.read_claim(1)
    assert (claim.by, claim.process) == ("shim", spawn.shim)
    assert alive(spawn.shim)
    assert alive(spawn.delegate)
    assert os.getsid(spawn.shim.pid) == spawn.shim.pid
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(spawn.shim.pid, number)
    os.kill(spawn.delegate.pid, signal.SIGKILL)
    assert ended(folder).status.signal == signal.SIGKILL
    eventually(lambda: not alive(spawn.shim))


def test_many_shims_of_one_attempt_start_one_delegate(bench):
    taken = bench.folder("print('ran')")
    assert claim_attempt(taken, 1)
    bench.start(taken)
    folder = bench.folder("print('ran')")
    threads = [threading.Thread(target=bench.start, args=(folder,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    ended(folder)
    eventually(lambda: not [one for one in threading.enumerate() if one.name.startswith("shim:")])
    assert (folder.path / "out.log").read_text() == "ran\n"
    assert taken.read_exit() is None
    assert not (taken.path / "out.log").exists()
    assert (taken.path / "launch.json").read_bytes(), "the next attempt needs it"


@pytest.mark.parametrize("step", ["claim", "start", "spawn record"])
def test_a_shim_that_dies_before_it_let_go_never_starts_its_delegate(bench, step):
    """Killed at each step between the claim and the word: no delegate, and the next attempt finds its launch."""
    folder = bench.folder("print('ran')")
    pid = os.fork()
    if pid == 0:
        try:
            die_at(step)
            plain_shim.be_shim(folder.path, 1, SuspendedSession)
        finally:
            os._exit(1)
    os.waitpid(pid, 0)
    eventually(lambda: bearers(folder.job_id) == [])
    said = (folder.path / "out.log").read_bytes() if step != "claim" else b""
    assert said == b""
    fate = fate_of_launch(folder, 1, waited_s=100.0, patience_s=5.0, grace_s=45.0)
    if step == "spawn record":
        assert isinstance(fate, SpawnRecord), "its exit is lost, and that is what will be said"
        return
    assert fate is LaunchFate.NEVER
    assert ended(bench.start(folder, 2)).status.code == 0
    assert (folder.path / "out.log").read_text() == "ran\n"


def die_at(step):
    """In a child process: kill ourselves at a step of the start."""

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    if step == "claim":
        plain_shim._begin = die
    elif step == "start":
        shim.write_all = die
    else:
        SuspendedSession.release = die


def test_a_record_that_can_not_be_written_starts_nothing(bench, monkeypatch):
    """The disk is full between the delegate's start and its record: an error, no delegate."""
    folder = bench.folder("print('ran')")
    pid = os.fork()
    if pid == 0:
        try:
            shim.write_all = no_room_for_spawns
            plain_shim.be_shim(folder.path, 1, SuspendedSession)
        finally:
            os._exit(1)
    os.waitpid(pid, 0)
    assert "No space" in ended(folder).status.error
    assert bearers(folder.job_id) == []
    assert (folder.path / "out.log").read_bytes() == b""


def no_room_for_spawns(descriptor, data, real=shim.write_all):
    if b'"delegate"' in data:
        raise OSError(28, "No space left on device")
    real(descriptor, data)


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.Popen(['sleep', '300'], start_new_session=True)",
        "os.fork() or (os.setsid(), os.fork() and os._exit(0), os.execvp('sleep', ['sleep', '300']))",
    ],
)
def test_what_the_delegate_leaves_is_ended(bench, code):
    folder = bench.run(f"import os, subprocess, sys, time; {code}; time.sleep(0.2)")
    assert ended(folder).status.code == 0
    shim_process = folder.read_spawn(1).shim
    eventually(lambda: not alive(shim_process))
    assert bearers(folder.job_id) == []


# --- the spawner


def test_a_permit_of_another_attempt_starts_nothing(bench):
    folder = bench.folder("print('ran')")
    with pytest.raises(PermissionError):
        bench.spawner.spawn(folder.path, 2, permit(folder.path, 1))
    assert folder.read_claim(2) is None


def test_which_spawner_is_taken(monkeypatch, tmp_path):
    def made(how):
        return type(spawner_for(how, tmp_path / "notices", print))

    assert (made(None), made("fork"), made("plain")) == (Spawner, Spawner, PlainSpawner)
    monkeypatch.delattr(os, "fork")
    assert (made(None), made("fork")) == (PlainSpawner, PlainSpawner)


def test_a_job_object_that_lets_nobody_out_is_stayed_in(monkeypatch, bench):
    asked = []

    def popen(argv, **terms):
        asked.append(terms["creationflags"])
        if terms["creationflags"] & 0x01000000:
            raise PermissionError(5, "Access is denied")
        return SimpleNamespace(pid=1, stdout=io.BytesIO(), wait=lambda: 0)

    monkeypatch.setattr(plain_process, "FLAGS", 0x08000200)
    monkeypatch.setattr(plain_process, "LEAVE_JOB", 0x01000000)
    monkeypatch.setattr(plain_process.subprocess, "Popen", popen)
    folder = bench.start(bench.folder())
    assert asked == [0x09000200, 0x08000200]
    monkeypatch.setattr(plain_process, "LEAVE_JOB", 0)
    monkeypatch.setattr(plain_process, "FLAGS", 0x01000000)
    with pytest.raises(SpawnError, match="Access is denied"):
        bench.start(folder)


def test_a_shim_s_own_environment_has_what_the_system_needs_and_no_secret():
    assert environment({"SYSTEMROOT": "C:\\Windows", "OPENAI_API_KEY": "x"}) == {
        "PATH": os.defpath,
        "SYSTEMROOT": "C:\\Windows",
    }


WITHOUT = """
import signal, sys, types
for name in ("SIGKILL", "SIGSTOP", "SIGCHLD", "SIGHUP", "SIGPIPE", "SIGXFSZ"):
    delattr(signal, name)
there = signal.valid_signals()
signal.valid_signals = lambda: {one for one in there if hasattr(signal, getattr(one, "name", ""))}
from outsourcerer.actors import check_keeper, plain_shim, shim
plain_shim._prepare()
check_keeper.keep(types.SimpleNamespace(shim=shim, run=lambda: print("kept")))
"""


def test_it_prepares_itself_where_most_signals_are_missing():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("kept\n", "")
