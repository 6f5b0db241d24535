"""The shim: one start per attempt, the truth on disk at every point, exact exits, nothing left behind."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fakes.actors import eventually
from fakes.launches import PYTHON, alive, bearers, launchable, sweep
from fakes.permits import permit
from outsourcerer.actors import shim
from outsourcerer.actors.attempt import LaunchFate, claim_attempt, fate_of_launch
from outsourcerer.actors.spawner import Spawner
from outsourcerer.state.job_folder import SpawnRecord

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


class Bench:
    def __init__(self, folder: Path) -> None:
        self.jobs = folder / "jobs dir ü"
        self.fifo = folder / "notices"
        self.spawner = Spawner(self.fifo)
        self.folders = []

    def folder(self, code: str = "", **terms):
        made = launchable(self.jobs, code, **terms)
        self.folders.append(made)
        return made

    def run(self, code: str = "", **terms):
        folder = self.folder(code, **terms)
        self.spawner.spawn(folder.path, 1, permit(folder.path, 1))
        return folder

    def fate(self, folder, attempt=1, waited_s=100.0):
        return fate_of_launch(folder, attempt, waited_s=waited_s, patience_s=5.0, grace_s=45.0)


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.spawner.close()
    sweep(made.folders)


def ended(folder):
    return eventually(folder.read_exit)


@pytest.mark.parametrize(
    "value",
    [
        {"pid": 7, "started": 12.5, "boot_id": "a-b", "by": "shim"},
        {"error": 'say "ä"\\\n', "code": None, "signal": -1, "at": 1e-9, "held": True, "survivors": [1, 2]},
        {"nested": {"a": [None, "b"]}, "empty": ""},
        {},
    ],
)
def test_its_json_is_json(value):
    assert shim.encoded(value) == json.dumps(value).encode()


# --- exits


def test_the_exit_is_written_once_there_is_room_however_long_that_takes(monkeypatch, tmp_path):
    left, pauses = [errno.ENOSPC] * 40 + [errno.EROFS, errno.EIO], []
    real = shim.write_json

    def full(*given):
        if left:
            raise OSError(left.pop(), "no")
        real(*given)

    monkeypatch.setattr(shim, "write_json", full)
    monkeypatch.setattr(shim.time, "sleep", pauses.append)
    shim.write_exit(os.fsencode(tmp_path), shim.exit_record(1, code=7))
    assert json.loads((tmp_path / "exit.json").read_text())["code"] == 7
    assert (len(pauses), max(pauses)) == (42, shim.LONGEST_PAUSE_S)


def test_a_record_that_somebody_reads_is_replaced_a_moment_later(tmp_path, monkeypatch):
    real, tries = os.replace, []

    def held(source, target):
        tries.append(target)
        if len(tries) < 3:
            raise PermissionError
        real(source, target)

    monkeypatch.setattr(os, "replace", held)
    with pytest.raises(PermissionError):
        shim.write_json(os.fsencode(tmp_path), "holder.json", {"a": 1})
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(shim, "HELD_OPEN_S", (0.0, 0.0))
    shim.write_json(os.fsencode(tmp_path), "holder.json", {"a": 1})
    assert (json.loads((tmp_path / "holder.json").read_text()), len(tries)) == ({"a": 1}, 3)


def test_a_job_folder_that_is_gone_is_not_waited_for(monkeypatch, tmp_path):
    monkeypatch.setattr(shim.time, "sleep", lambda _: pytest.fail("it waits"))
    shim.write_exit(os.fsencode(tmp_path / "gone"), shim.exit_record(1, code=7))


@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 255])
def test_exit_codes_are_exact(bench, code):
    found = ended(bench.run(f"raise SystemExit({code})"))
    assert (found.status.code, found.status.signal, found.status.error, found.attempt) == (code, None, None, 1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_signals_are_exact(bench, number):
    found = ended(
        bench.run(
            f"import os, signal; signal.signal({int(number)}, signal.SIG_DFL) if {int(number)} != 9 else 0; os.kill(os.getpid(), {int(number)})"
        )
    )
    assert (found.status.code, found.status.signal) == (None, number)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"argv": ["/no/such/program"]}, "No such file or directory: /no/such/program"),
        ({"argv": ["/etc/passwd"]}, "Permission denied: /etc/passwd"),
        ({"cwd": "/no/such/folder"}, "No such file or directory: /no/such/folder"),
        ({"env": {"A": "x\0y"}}, "ValueError"),
        ({"argv": []}, "IndexError"),
        ({"argv": 7}, "TypeError"),
        ({"stdin": "gone.txt"}, "No such file or directory"),
    ],
)
def test_a_delegate_that_can_not_be_started_is_an_error_and_no_exit_code(bench, terms, words):
    launch_terms = {key: terms[key] for key in terms if key in ("cwd", "env")}
    folder = bench.folder(**launch_terms)
    launch = json.loads((folder.path / "launch.json").read_text())
    launch.update({key: value for key, value in terms.items() if key not in launch_terms})
    (folder.path / "launch.json").write_text(json.dumps(launch))
    bench.spawner.spawn(folder.path, 1, permit(folder.path, 1))
    found = ended(folder)
    assert words in found.status.error
    assert (found.status.code, found.status.signal) == (None, None)
    assert (folder.path / "launch.json").read_bytes() == b"", "it held an environment"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"argv": ["/bin/true"]}', b"\xff\xfe"])
def test_a_damaged_launch_is_an_error(bench, content):
    folder = bench.folder()
    (folder.path / "launch.json").write_bytes(content)
    bench.spawner.spawn(folder.path, 1, permit(folder.path, 1))
    assert ended(folder).status.error


# --- what the delegate gets


def test_the_delegate_gets_what_the_launch_says_and_nothing_else(bench):
    folder = bench.run(
        "import os, sys, json, signal\n"
        "data = sys.stdin.buffer.read()\n"
        "mask = os.umask(0); os.umask(mask)\n"
        "fds = sorted(int(fd) for fd in os.listdir('/proc/self/fd'))\n"
        "print(json.dumps([os.getcwd(), dict(os.environ), len(data), mask, fds[:3], len(fds), os.getsid(0) == os.getpid(),"
        " [n for n in range(1, 32) if signal.getsignal(n) == signal.SIG_IGN]]))\n"
        "print('to stderr', file=sys.stderr)",
        stdin=b"\x00prompt\xff" * 1000,
        env={"WÖRD": "välue", "LC_ALL": "C.UTF-8"},
    )
    assert ended(folder).status.code == 0
    cwd, env, size, mask, low, count, leader, ignored = json.loads((folder.path / "out.log").read_text())
    assert cwd == str(bench.jobs)
    assert env.pop("LC_ALL") == "C.UTF-8"
    assert env == {"PATH": os.defpath, "OSRC_JOB_ID": folder.job_id, "WÖRD": "välue"}
    assert (size, mask, low, count) == (8000, 0o027, [0, 1, 2], 4)
    assert leader
    assert set(ignored) <= {signal.SIGPIPE, signal.SIGXFSZ}, "python ignores these two itself"
    assert (folder.path / "err.log").read_text() == "to stderr\n"
    assert oct((folder.path / "out.log").stat().st_mode)[-3:] == "600"
    assert (folder.path / "launch.json").read_bytes() == b""


def test_without_a_prompt_stdin_is_empty(bench):
    folder = bench.run("import sys; print(len(sys.stdin.read()))")
    assert ended(folder).status.code == 0
    assert (folder.path / "out.log").read_text() == "0\n"


def test_the_records_name_both_processes(bench):
    folder = bench.run("import time; time.sleep(60)")
    spawn = eventually(lambda: folder.read_spawn(1))
    claim = folder.read_claim(1)
    assert claim.by == "shim"
    assert claim.process == spawn.shim
    assert alive(spawn.shim)
    assert alive(spawn.delegate)
    assert os.getsid(spawn.shim.pid) == spawn.shim.pid
    os.kill(spawn.delegate.pid, signal.SIGKILL)
    assert ended(folder).status.signal == signal.SIGKILL
    eventually(lambda: not alive(spawn.shim))


# --- one start per attempt


def test_an_attempt_that_is_claimed_is_not_started(bench):
    folder = bench.folder("print('ran')")
    assert claim_attempt(folder, 1)
    bench.spawner.spawn(folder.path, 1, permit(folder.path, 1))
    other = bench.run("pass")
    ended(other)
    assert folder.read_exit() is None
    assert not (folder.path / "out.log").exists()
    assert (folder.path / "launch.json").exists(), "the next attempt needs it"
    bench.spawner.spawn(folder.path, 2, permit(folder.path, 2))
    assert ended(folder).attempt == 2
    assert (folder.path / "out.log").read_text() == "ran\n"


def test_many_shims_of_one_attempt_start_one_delegate(bench):
    folder = bench.folder("print('ran')")
    spawners = [Spawner(bench.fifo) for _ in range(4)]
    try:
        leave = permit(folder.path, 1)
        threads = [
            threading.Thread(target=lambda s=s: [s.spawn(folder.path, 1, leave) for _ in range(5)]) for s in spawners
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        ended(folder)
        for spawner in spawners:
            late = bench.folder("pass")
            spawner.spawn(late.path, 1, permit(late.path, 1))
            ended(late)
    finally:
        for spawner in spawners:
            spawner.close()
    assert (folder.path / "out.log").read_text() == "ran\n"


def die_at(step: str) -> None:
    """In a child process: kill ourselves at a step of the start."""

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    def write_and_die(*args):
        write(*args)
        die()

    write = shim.write_all
    if step == "claim":
        shim.start_delegate = die
    elif step == "fork":
        shim.write_all = die
    else:
        shim.write_all = write_and_die


def test_a_delegate_that_is_killed_at_the_gate_ends_by_that_signal(bench):
    folder = bench.folder("print('ran')")
    pid = os.fork()
    if pid == 0:
        try:
            write = shim.write_all

            def write_and_kill(descriptor, data):
                write(descriptor, data)
                if b'"delegate"' in data:
                    delegate = json.loads(data)["delegate"]["pid"]
                    os.kill(delegate, signal.SIGKILL)
                    os.waitid(os.P_PID, delegate, os.WEXITED | os.WNOWAIT)

            shim.write_all = write_and_kill
            shim.set_signals()
            shim.run_shim(os.fsencode(folder.path), 1, str(bench.fifo), shim.boot_id(), None)
        finally:
            os._exit(1)
    os.waitpid(pid, 0)
    found = ended(folder)
    assert (found.status.signal, found.status.error) == (signal.SIGKILL, None)
    assert (folder.path / "out.log").read_bytes() == b""


def test_a_shim_that_dies_before_the_gate_never_starts_its_delegate(bench):
    """Killed at each step between the claim and the gate: no delegate, and the next attempt finds its launch."""
    for step in ("claim", "fork", "spawn record"):
        folder = bench.folder("print('ran')")
        pid = os.fork()
        if pid == 0:
            try:
                die_at(step)
                shim.run_shim(os.fsencode(folder.path), 1, str(bench.fifo), shim.boot_id(), None)
            finally:
                os._exit(1)
        os.waitpid(pid, 0)
        eventually(lambda folder=folder: bearers(folder.job_id) == [])
        assert (folder.path / "out.log").exists() is (step != "claim")
        if step != "claim":
            assert (folder.path / "out.log").read_bytes() == b""
        assert (folder.path / "launch.json").exists()
        if step == "spawn record":
            assert isinstance(bench.fate(folder), SpawnRecord), "its exit is lost, and that is what will be said"
            continue
        assert bench.fate(folder) is LaunchFate.NEVER
        bench.spawner.spawn(folder.path, 2, permit(folder.path, 2))
        assert ended(folder).status.code == 0
        assert (folder.path / "out.log").read_text() == "ran\n"


# --- what a launch became


def test_the_fate_of_a_launch(bench):
    folder = bench.folder("import time; time.sleep(60)")
    assert bench.fate(folder, waited_s=1.0) is LaunchFate.OPEN
    assert folder.read_claim(1) is None
    assert bench.fate(folder) is LaunchFate.NEVER, "nobody took it: now we have"
    assert folder.read_claim(1).by == "supervisor"
    assert bench.fate(folder, waited_s=0.0) is LaunchFate.NEVER
    bench.spawner.spawn(folder.path, 2, permit(folder.path, 2))
    eventually(lambda: isinstance(bench.fate(folder, 2, waited_s=1.0), SpawnRecord))
    broken = bench.run(argv=["/no/such/program"])
    ended(broken)
    assert isinstance(bench.fate(broken), SpawnRecord) or bench.fate(broken) is LaunchFate.ENDED


def test_a_claim_that_names_nobody_is_believed_for_a_while(bench):
    folder = bench.folder()
    (folder.path / "claim.1").write_bytes(b"")
    assert bench.fate(folder, waited_s=44.0) is LaunchFate.OPEN
    assert bench.fate(folder, waited_s=46.0) is LaunchFate.NEVER


# --- leftovers


ORPHANS = {
    "a child": "subprocess.Popen(['sleep', '300'])",
    "a child in a session of its own": "subprocess.Popen(['sleep', '300'], start_new_session=True)",
    "a daemon": "os.fork() or (os.setsid(), os.fork() and os._exit(0), os.execvp('sleep', ['sleep', '300']))",
    "one that ignores TERM": "subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(300)'], stdout=subprocess.PIPE).stdout.readline()",
}


@pytest.mark.parametrize("what", ORPHANS)
def test_what_the_delegate_leaves_is_ended(bench, what):
    folder = bench.run(f"import os, subprocess, sys, time; {ORPHANS[what]}; time.sleep(0.2)")
    assert ended(folder).status.code == 0
    shim_process = folder.read_spawn(1).shim
    eventually(lambda: not alive(shim_process))
    assert bearers(folder.job_id) == []


def test_strangers_are_not_touched(bench):
    stranger = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        folder = bench.run("import subprocess; subprocess.Popen(['sleep', '300'])")
        ended(folder)
        shim_process = folder.read_spawn(1).shim
        eventually(lambda: not alive(shim_process))
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


# --- the forking process


def forking_process(bench):
    path = bench.folder("pass").path
    bench.spawner.spawn(path, 1, permit(path, 1))
    ended(bench.folders[-1])
    return bench.spawner._process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_forking_process_that_was_killed_or_stopped_is_replaced(bench, number):
    process = forking_process(bench)
    os.kill(process.pid, number)
    if number is signal.SIGKILL:
        process.wait(120)
    folder = bench.run("print('ran')")
    if number is signal.SIGSTOP:
        assert bench.fate(folder) is LaunchFate.NEVER
        bench.spawner.suspect(float("inf"))
        bench.spawner.spawn(folder.path, 2, permit(folder.path, 2))
    assert ended(folder).status.code == 0
    assert bench.spawner._process.pid != process.pid
    assert (folder.path / "out.log").read_text() == "ran\n"
    assert process.poll() is not None


def test_a_forking_process_that_does_not_read_never_blocks_us(bench):
    process = forking_process(bench)
    os.kill(process.pid, signal.SIGSTOP)
    folders = [bench.folder("pass") for _ in range(3)]
    for _ in range(1000):
        bench.spawner.spawn(folders[0].path, 99, permit(folders[0].path, 99))
    bench.spawner.spawn(folders[1].path, 1, permit(folders[1].path, 1))
    if folders[1].read_exit() is None and bench.spawner._process is process:
        raise AssertionError("a full pipe was not noticed")
    ended(folders[1])


def test_the_forking_process_ends_with_us_and_the_shims_do_not(bench):
    folder = bench.run("import time; time.sleep(60)")
    spawn = eventually(lambda: folder.read_spawn(1))
    process = bench.spawner._process
    bench.spawner.close()
    assert process.poll() is not None
    assert alive(spawn.shim)
    assert alive(spawn.delegate)


def test_a_shim_is_not_ended_by_the_signals_of_a_terminal(bench):
    folder = bench.run("import time; print('up', flush=True); time.sleep(60)")
    eventually(lambda: (folder.path / "out.log").exists() and (folder.path / "out.log").read_bytes())
    spawn = folder.read_spawn(1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(spawn.shim.pid, number)
    os.kill(spawn.delegate.pid, signal.SIGTERM)
    assert ended(folder).status.signal == signal.SIGTERM


def test_the_shim_needs_nothing_but_the_standard_library():
    done = subprocess.run(
        [PYTHON, "-I", "-S", "-c", f"import runpy; runpy.run_path({shim.__file__!r}, run_name='x')"], check=False
    )
    assert done.returncode == 0
