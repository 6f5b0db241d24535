"""wexpect's interface (4.0.0) over a real pseudo-terminal of POSIX, so that an interface can be run through it here.

Put in place of the module ``wexpect``. Like the real one it gives a program the environment of this process and a
terminal of 80 by 25, reads blockingly, and knows no descriptor. Unlike it, it passes on what the program writes.
"""

from __future__ import annotations

import contextlib
import os
import types

import ptyprocess


class ExceptionPexpect(Exception):  # noqa: N818 - its name
    """What it raises."""


class EOF(ExceptionPexpect):
    """The end of the output."""


class Spawn:
    """One program."""

    def __init__(self, command, args=(), timeout=30, cwd=None, env=None, safe_exit=True):
        assert (env, timeout, safe_exit) == (None, None, False)
        self._terminal = ptyprocess.PtyProcess.spawn(
            [command, *args], cwd=cwd, env=dict(os.environ), dimensions=(25, 80)
        )
        self.child_pid, self.exitstatus, self.flag_eof, self.delaybeforesend = self._terminal.pid, None, False, 0.1

    def read_nonblocking(self, size=1):
        try:
            return self._terminal.read(size).decode("utf-8", "replace")
        except (EOFError, OSError):
            self.flag_eof = True
            raise EOF("the end") from None

    def send(self, s):
        self._terminal.write(s.encode())

    def isalive(self, trust_console=True, timeout=0):
        if self._terminal.isalive():
            return True
        self.exitstatus = self._terminal.exitstatus
        return False

    def terminate(self, force=False):
        with contextlib.suppress(OSError):
            self._terminal.close(force=True)


def module() -> types.ModuleType:
    """The module, to be put under its name."""
    made = types.ModuleType("wexpect")
    made.spawn, made.EOF, made.ExceptionPexpect = Spawn, EOF, ExceptionPexpect
    return made
