"""A program in a pseudo-terminal of its own: started, sized, waited for. Standard library only (POSIX)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Mapping, Sequence

from .engine import EngineError

_RESET = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGCHLD", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGWINCH")


class PtyProcess:
    """One program and the master end of its terminal, which never blocks."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: tuple[int, int], umask: int
    ) -> None:
        """Start it, ``size`` being columns and rows. Raises EngineError with the system's reason."""
        report_read, report_write = os.pipe()
        self.master, slave = os.openpty()
        self.terminal = os.ttyname(slave)
        set_size(slave, *size)
        self.pid = os.fork()
        if self.pid == 0:
            os.umask(umask)
            _become(argv, env, cwd, slave, report_write)
        os.close(slave)
        os.close(report_write)
        failure = _read_all(report_read)
        if failure:
            os.close(self.master)
            os.waitpid(self.pid, 0)
            raise EngineError(failure.decode("utf-8", "replace"))
        os.set_blocking(self.master, False)

    def resize(self, columns: int, rows: int) -> None:
        """Tell the terminal, and with it the program, its new size."""
        set_size(self.master, columns, rows)

    def ended(self) -> tuple[int | None, int | None] | None:
        """Return exit code and signal once it has ended (it is waited for then), else None."""
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return None, None
        if pid == 0:
            return None
        if os.WIFSIGNALED(status):
            return None, os.WTERMSIG(status)
        return os.WEXITSTATUS(status), None

    def close(self) -> None:
        """Close the terminal: what still runs in it is hung up on."""
        with contextlib.suppress(OSError):
            os.close(self.master)


def unread(terminal: str | None) -> int | None:
    """How many bytes typed into a terminal its program has not read yet; None where that can't be asked."""
    if terminal is None:
        return None
    try:
        descriptor = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if termios.tcgetattr(descriptor)[3] & termios.ICANON:
            return None  # not raw: a line under edit is not counted
        return int(struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0])
    except (OSError, termios.error):
        return None
    finally:
        os.close(descriptor)


def set_size(descriptor: int, columns: int, rows: int) -> None:
    """Set a terminal's size."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _become(argv: Sequence[str], env: Mapping[str, str], cwd: str, slave: int, report: int) -> None:
    """In the child: become the program, or report why not. Never returns."""
    try:
        for name in _RESET:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.login_tty(slave)
        os.chdir(cwd)
        os.execve(argv[0], list(argv), {os.fsencode(k): os.fsencode(v) for k, v in env.items()})  # noqa: S606 - its purpose
    except BaseException as error:  # noqa: BLE001 - nothing may get out of the child
        with contextlib.suppress(OSError):
            os.write(report, f"{argv[0]}: {getattr(error, 'strerror', None) or error}".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _read_all(descriptor: int) -> bytes:
    data = b""
    while chunk := os.read(descriptor, 4096):
        data += chunk
    os.close(descriptor)
    return data
