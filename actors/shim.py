"""The shim: one tiny process per job that starts the delegate, waits for it, and writes down how it ended.

Standalone, standard library only: run as ``python -I -S shim.py FIFO``. Started once, it imports what
it needs and then forks a shim for each line it reads on stdin, so that a job costs a fork and not an
interpreter's start. It dies with the supervisor (its stdin ends); the shims do not: each is the
leader of its own session and lives exactly as long as its delegate.

For each job folder, in this order, so that a kill at any point leaves the truth behind:

1. ``claim.N`` is created exclusively. Whoever has it may start attempt N, nobody else ever will; a
   supervisor that takes it instead proves that no prompt was sent.
2. ``launch.json`` (argv, environment, cwd; 0600) is read.
3. The delegate is forked and held at a gate; a second line in ``claim.N`` names both processes;
   ``launch.json`` is emptied; then the gate opens. A shim that dies before leaves a delegate that sees
   the gate close and never starts, and, without that line, what the next attempt needs.
4. ``exit.json`` says how it ended; what it left running is ended; then the shim leaves.

Every step is hinted to the supervisor through the FIFO, if one reads it; the files are the truth. Few
files are made and none is removed: on some file systems that is what a short job costs most.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

LAUNCH_LIMIT = 64 * 1024 * 1024
PIECE = 1 << 13
"""Bytes that are read at once: a larger buffer is pages that the system must clear first."""
PR_SET_CHILD_SUBREAPER = 36
PR_GET_DUMPABLE = 3
LEFTOVER_GRACE_S = 0.3
TERM_GRACE_S = 2.0
FIRST_PAUSE_S, LONGEST_PAUSE_S, PATIENCE_S = 0.2, 30.0, 3 * 86400.0
"""How often, and for how long, it is tried to write the exit record."""
HELD_OPEN_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if os.name == "nt" else ()
"""Windows replaces no file that somebody reads, which takes a moment: how long is waited before each new try."""
LINUX = sys.platform == "linux"
NOFOLLOW, NONBLOCK, BINARY = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_UNHEARD = frozenset(getattr(signal, name) for name in ("SIGKILL", "SIGSTOP") if hasattr(signal, name))
"""What no process can heed otherwise; Windows lacks it, as it lacks most signals."""
_CHILDREN = (signal.SIGCHLD,) if hasattr(signal, "SIGCHLD") else ()
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGXFSZ")
IGNORED = tuple(getattr(signal, name) for name in _ENDING if hasattr(signal, name))
"""What would end a shim before its delegate. No delegate inherits it."""
_set_signal: Callable[[int, int], object] = getattr(signal.signal, "__wrapped__", signal.signal)
"""The system call without the enums around it: in a fork, every object that is touched is a page to be copied."""
_decode = json.JSONDecoder().raw_decode
_SEP = os.fsencode(os.sep)


def main(fifo: str) -> None:
    """Fork a shim for each request until stdin ends."""
    set_signals()
    os.umask(0o077)
    boot, control = boot_id(), process_control()
    gc.disable()  # collecting in a fork copies every page it touches
    gc.freeze()
    buffer = b""
    while True:
        try:
            chunk = os.read(0, 65536)
        except InterruptedError:
            continue
        if not chunk:
            return
        buffer += chunk
        while b"\n" in buffer:
            line, buffer = buffer.split(b"\n", 1)
            request = json.loads(line)
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    run_shim(os.fsencode(request["folder"]), request["attempt"], fifo, boot, control)
                    status = 0
                finally:
                    os._exit(status)


def process_control() -> Callable[..., int] | None:
    """Return Linux's ``prctl``, ready to be called; None where it can't be had."""
    if LINUX:
        with contextlib.suppress(OSError, AttributeError):
            found: Callable[..., int] = ctypes.CDLL(None, use_errno=True).prctl
            found(PR_GET_DUMPABLE, 0, 0, 0, 0)  # the first call prepares it: not in each fork again
            return found
    return None


def set_signals() -> None:
    """Ignore what would end a shim, and nothing else that whoever started us ignored."""
    for number in signal.valid_signals() - _UNHEARD:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for number in _CHILDREN + IGNORED:
        signal.signal(number, signal.SIG_IGN)


def run_shim(folder: bytes, attempt: int, fifo: str, boot: str, control: Callable[..., int] | None) -> None:
    """Be the shim of one attempt. ``control`` is ``process_control()``'s."""
    os.setsid()
    devnull = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(devnull, descriptor)
    _set_signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir("/")
    job = folder[folder.rfind(b"/") + 1 :].decode("ascii", "replace")
    me = identity(os.getpid(), boot)
    claimed = claim(folder, attempt, me)
    if claimed is None:
        return
    if control is not None:
        control(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        delegate, report = start_delegate(folder, attempt, me, claimed)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        empty(os.path.join(folder, b"launch.json"))
        write_exit(folder, exit_record(attempt, error=describe(error)))
        notify(fifo, job, attempt, "exited")
        notify(fifo, job, attempt, "gone")
        return
    notify(fifo, job, attempt, "spawned")
    failure = read_all(report)
    status = wait_for(delegate)
    if failure:
        record = exit_record(attempt, error=failure.decode("utf-8", "replace"))
    elif os.WIFSIGNALED(status):
        record = exit_record(attempt, signal=os.WTERMSIG(status))
    else:
        record = exit_record(attempt, code=os.WEXITSTATUS(status))
    conclude(
        folder,
        record,
        lambda: any_left(delegate),
        lambda: end_leftovers(delegate),
        lambda what, survivors: notify(fifo, job, attempt, what, survivors),
    )


def conclude(
    folder: bytes,
    record: dict[str, object],
    left: Callable[[], list[int]],
    end: Callable[[], list[int]],
    tell: Callable[[str, Sequence[int]], None],
) -> None:
    """Write how the delegate ended, end what it left, tell."""
    written = try_exit(folder, record)
    survivors: list[int] = []
    if left():
        tell("exited", ())
        survivors = end()
    if not written:
        write_exit(folder, record)
        tell("exited", ())
    tell("gone", survivors)


def claim(folder: bytes, attempt: int, me: dict[str, object]) -> int | None:
    """Take the attempt: its open file, or None when somebody has it."""
    path = b"%b%bclaim.%d" % (folder, _SEP, attempt)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    except OSError:
        return None
    try:  # noqa: SIM105  a fork copies every page that is touched: what is cheap elsewhere is not here
        os.write(descriptor, encoded(dict(me, by="shim")) + b"\n")
    except OSError:
        pass  # an empty claim is a claim
    return descriptor


def start_delegate(folder: bytes, attempt: int, me: dict[str, object], claimed: int) -> tuple[int, int]:
    """Fork the delegate behind the gate, write the spawn record, open the gate.

    Returns its pid and a descriptor on which a failed exec is reported.
    """
    descriptor = os.open(folder + b"/launch.json", os.O_RDWR | os.O_NOFOLLOW)
    text = read_all(descriptor, close=False).decode()
    launch, end = _decode(text)
    if end != len(text):
        raise ValueError("there is more in it than one launch")
    argv, env, umask = launch["argv"], launch["env"], launch.get("umask")
    place = str(launch["cwd"]), umask if isinstance(umask, int) else 0o022
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    out = os.open(folder + b"/out.log", append, 0o600)
    err = os.open(folder + b"/err.log", append, 0o600)
    stdin = os.open(os.path.join(folder, os.fsencode(launch["stdin"])) if launch["stdin"] else os.devnull, os.O_RDONLY)
    gate_read, gate_write = os.pipe()
    report_read, report_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        become_delegate(argv, env, place, (stdin, out, err), (gate_read, gate_write, report_write))
    for unneeded in (gate_read, report_write, stdin, out, err):
        os.close(unneeded)
    delegate = identity(pid, str(me["boot_id"]))
    at = f"{time.time()!r}".encode()
    named = encoded(me), encoded(delegate)
    try:
        write_all(claimed, b'{"attempt": %d, "shim": %b, "delegate": %b, "at": %b}\n' % (attempt, *named, at))
        os.close(claimed)
        os.ftruncate(descriptor, 0)
        os.close(descriptor)
    except OSError:
        os.close(gate_write)
        os.waitpid(pid, 0)
        raise
    try:  # noqa: SIM105  as in ``claim``
        os.write(gate_write, b"g")
    except BrokenPipeError:
        pass  # it was killed at the gate: its status says so
    os.close(gate_write)
    return pid, report_read


def become_delegate(
    argv: list[str],
    env: dict[str, str],
    place: tuple[str, int],
    streams: tuple[int, int, int],
    pipes: tuple[int, int, int],
) -> None:
    """In the child: own session, own folder, default signals; exec when the gate opens. Never returns.

    ``place`` is its folder and its umask; ``streams``, all above 2, are its own; ``pipes`` are the gate's two ends and
    where a failure is reported.
    """
    gate_read, gate_write, report = pipes
    try:
        os.setsid()
        for number in IGNORED:
            _set_signal(number, signal.SIG_DFL)
        os.close(gate_write)
        if os.read(gate_read, 1) != b"g":
            os._exit(126)
        os.chdir(place[0])
        for target, source in enumerate(streams):
            os.dup2(source, target)
        os.umask(place[1])
        os.execve(argv[0], argv, env)
    except Exception as error:  # noqa: BLE001  whatever it is, nobody else will ever tell it
        os.write(report, describe(error).encode("utf-8", "replace"))
    finally:
        os._exit(127)


def wait_for(delegate: int) -> int:
    """Reap whatever ends; return the delegate's status."""
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except InterruptedError:
            continue
        if pid == delegate:
            return status


def end_leftovers(delegate: int) -> list[int]:
    """End what the delegate left behind; return the pids that would not go."""
    deadline = time.monotonic() + LEFTOVER_GRACE_S
    while any_left(delegate) and time.monotonic() < deadline:
        time.sleep(0.02)
    for number, grace_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, TERM_GRACE_S)):
        left = any_left(delegate)
        if not left:
            return []
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        deadline = time.monotonic() + grace_s
        while any_left(delegate) and time.monotonic() < deadline:
            time.sleep(0.02)
    return any_left(delegate)


def any_left(delegate: int) -> list[int]:
    """Return the pids of our living descendants, and of members of the delegate's session; reap on the way."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        childless = False
    except OSError:
        childless = True
    if not LINUX:
        try:
            os.killpg(delegate, 0)
        except OSError:
            return []
        return [-delegate]
    if childless and not session_alive(delegate):
        return []
    rows = living()
    found: list[int] = []
    level = [os.getpid()]
    while level:
        level = [pid for pid, row in rows.items() if int(row[1]) in level and pid not in found]
        found += level
    if stat_of(delegate) is not None:
        return found  # it was waited for: whoever has its pid now, and that session, is a stranger
    return found + [pid for pid, row in rows.items() if int(row[3]) == delegate and pid not in found]


def living() -> dict[int, list[bytes]]:
    """Return every process that is no zombie, as ``stat_of`` has it."""
    rows = {int(name): stat_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: row for pid, row in rows.items() if row is not None and row[0] != b"Z"}


def session_alive(delegate: int) -> bool:
    """Whether the delegate's process group has members (cheap: no scan)."""
    try:
        os.killpg(delegate, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def stat_of(pid: int) -> list[bytes] | None:
    """Return /proc/PID/stat from the state on: state, ppid, pgrp, session ... start time is [19], [20] the rest."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.read(descriptor, 1024)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data[data.rfind(b")") + 2 :].split(None, 20)


def boot_id() -> str:
    """Return what names this boot of the machine."""
    if LINUX:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    import psutil  # noqa: PLC0415  not there under -S; started without that where there is no /proc

    return f"boot-{int(psutil.boot_time())}"


def identity(pid: int, boot: str) -> dict[str, object]:
    """Name a process for good: pid, start time, boot."""
    if LINUX:
        row = stat_of(pid)
        return {"pid": pid, "started": int(row[19]) if row else 0, "boot_id": boot}
    import psutil  # noqa: PLC0415  as above

    return {"pid": pid, "started": psutil.Process(pid).create_time(), "boot_id": boot}


def exit_record(
    attempt: int, code: int | None = None, signal: int | None = None, error: str | None = None
) -> dict[str, object]:
    """Return how it ended, as of now."""
    return {"attempt": attempt, "code": code, "signal": signal, "error": error, "at": time.time()}


def write_exit(folder: bytes, record: dict[str, object]) -> None:
    """Write the exit record; on a full disk keep trying: it is the one thing only we know.

    Tried for days, at least every 30 s, and for as long as the job's folder is there.
    """
    pause_s = FIRST_PAUSE_S
    deadline = time.monotonic() + PATIENCE_S
    while not try_exit(folder, record):
        if not os.path.isdir(folder) or time.monotonic() > deadline:
            return
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def try_exit(folder: bytes, record: dict[str, object]) -> bool:
    """Try once to write the exit record."""
    try:
        write_json(folder, "exit.json", record)
    except OSError:
        return False
    return True


def write_json(folder: bytes, name: str, value: dict[str, object]) -> None:
    """Write whole or not at all: a temporary file, then a rename."""
    path = b"%b%b%b" % (folder, _SEP, name.encode())
    temporary = b"%b%b.%b.%d.tmp" % (folder, _SEP, name.encode(), os.getpid())
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY, 0o600)
    try:
        write_all(descriptor, encoded(value))
        os.close(descriptor)
        put(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def encoded(value: dict[str, object]) -> bytes:
    """Return a flat object as JSON: ``json.dumps``, without all that a fork would have to copy for it."""
    parts = []
    for name, item in value.items():
        if item is None:
            word = "null"
        elif type(item) is int or type(item) is float:
            word = repr(item)
        elif type(item) is str and item.isascii() and item.isprintable() and '"' not in item and "\\" not in item:
            word = f'"{item}"'
        else:
            word = json.dumps(item)
        parts.append(f'"{name}": {word}')
    return f"{{{', '.join(parts)}}}".encode()


def put(temporary: bytes, path: bytes) -> None:
    """Rename over what may be read at this moment."""
    for pause_s in HELD_OPEN_S:
        try:
            os.replace(temporary, path)
        except PermissionError:
            time.sleep(pause_s)
        else:
            return
    os.replace(temporary, path)


def write_all(descriptor: int, data: bytes) -> None:
    """Write to the end."""
    while data:
        data = data[os.write(descriptor, data) :]


def empty(path: bytes) -> None:
    """Leave nothing in a file, if there is one."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | NOFOLLOW | NONBLOCK)
        os.close(descriptor)


def read_all(descriptor: int, *, close: bool = True) -> bytes:
    """Read to the end."""
    parts: list[bytes] = []
    size = 0
    while part := os.read(descriptor, PIECE):
        size += len(part)
        if size > LAUNCH_LIMIT:
            break
        parts.append(part)
    if close:
        os.close(descriptor)
    return b"".join(parts)


def notify(fifo: str, job: str, attempt: int, what: str, survivors: Sequence[int] = ()) -> None:
    """Hint to whoever listens; nobody may be."""
    try:
        descriptor = os.open(fifo, os.O_WRONLY | NONBLOCK)
    except OSError:
        return
    try:  # noqa: SIM105  as in ``claim``
        os.write(descriptor, hint(job, attempt, what, survivors))
    except OSError:
        pass  # nobody may be
    os.close(descriptor)


def hint(job: str, attempt: int, what: str, survivors: Sequence[int]) -> bytes:
    """Return the line that is said of a step."""
    said: dict[str, object] = {"job": job, "attempt": attempt, "what": what, "survivors": list(survivors)[:64]}
    if not survivors:
        del said["survivors"]
    return encoded(said) + b"\n"


def describe(error: Exception) -> str:
    """Return a sentence for a failed start."""
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        shown = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name or "")
        return f"{error.strerror}: {shown}" if shown else error.strerror
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(sys.argv[1])
