"""A program in a pseudo-terminal, by pexpect.

pexpect starts it, sizes and closes its terminal. Reading and waiting are ours: after the end of the output pexpect
4.9 waits for the process and blocks, so that a program which closes its terminal and goes on would stop its holder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import signal
import struct
import sys
import termios
from collections.abc import Mapping, Sequence

import pexpect

from .engine import EngineError

_RESET = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGCHLD", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGWINCH")
_LINUX_NUMBER, _DARWIN_NAME = 0x80045430, 0x40807453
"""TIOCGPTN and TIOCPTYGNAME: which terminal a master end belongs to."""


class PosixProcess:
    """See ``TerminalProcess``."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: tuple[int, int], umask: int
    ) -> None:
        """Start it. Raises EngineError with the system's reason."""

        def prepare() -> None:
            # In the child. What pexpect's own ``cwd`` raises there would escape into a second holder.
            for name in _RESET:
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            os.umask(umask)
            os.chdir(cwd)

        columns, rows = size
        words = [str(word) for word in argv]
        try:
            self._child = pexpect.spawn(
                words[0] if words[1:] else _quoted(words[0]),
                words[1:],
                env=dict(env),
                timeout=None,
                dimensions=(rows, columns),
                preexec_fn=prepare,
            )
        except pexpect.ExceptionPexpect:
            reason = os.strerror(errno.EACCES if os.path.exists(words[0]) else errno.ENOENT)
            raise EngineError(f"{words[0]}: {reason}") from None
        except (OSError, ValueError) as error:
            raise EngineError(f"{words[0]}: {getattr(error, 'strerror', None) or error}") from None
        self._child.ptyproc.delayafterclose = 0
        self.pid: int = self._child.pid
        self._master: int = self._child.child_fd
        self.descriptor: int | None = self._master
        self.terminal = _name_of(self._master)
        self.fixed: tuple[int, int] | None = None
        self._over: tuple[int | None, int | None] | None = None
        os.set_blocking(self._master, False)

    def read_nonblocking(self, size: int) -> bytes | None:
        """See ``TerminalProcess``."""
        try:
            return os.read(self._master, size)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        """Type what the terminal takes at once; its owner writes to ``descriptor`` behind what waits."""
        with contextlib.suppress(OSError):
            os.write(self._master, data)

    def resize(self, columns: int, rows: int) -> None:
        """See ``TerminalProcess``."""
        with contextlib.suppress(OSError):
            self._child.setwinsize(rows, columns)

    def ended(self) -> tuple[int | None, int | None] | None:
        """See ``TerminalProcess``."""
        if self._over is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._over = (None, None)
            else:
                if pid == 0:
                    return None
                ended = os.WIFSIGNALED(status)
                self._over = (None, os.WTERMSIG(status)) if ended else (os.WEXITSTATUS(status), None)
            # pexpect would signal this number, which may be another's by now.
            self._child.ptyproc.terminated = self._child.terminated = True
        return self._over

    def terminate(self) -> None:
        """See ``TerminalProcess``. One that has not ended is left to whoever ends its tree: pexpect would wait."""
        terminal = self._child.ptyproc
        terminal.terminated = self._child.terminated = True
        with contextlib.suppress(OSError, pexpect.ExceptionPexpect):
            self._child.close(force=False)


def _quoted(word: str) -> str:
    """A program's path as pexpect reads one that has no arguments: as a command line."""
    return re.sub(r"([\s\\'\"])", r"\\\1", word)


def unread(terminal: str) -> int | None:
    """As in ``pty_process``."""
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


def _name_of(master: int) -> str | None:
    """Return the path of a terminal's other end; None on a system where it is not known how to ask."""
    try:
        if sys.platform == "linux":
            return f"/dev/pts/{struct.unpack('I', fcntl.ioctl(master, _LINUX_NUMBER, bytes(4)))[0]}"
        if sys.platform == "darwin":
            return os.fsdecode(fcntl.ioctl(master, _DARWIN_NAME, bytes(128)).split(b"\0")[0])
    except OSError:
        pass
    return None
