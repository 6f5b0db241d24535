"""A program in a pseudo-terminal of its own, by one small interface: pexpect on POSIX, wexpect on Windows."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol


class TerminalProcess(Protocol):
    """One program and our end of its terminal. Nothing here blocks."""

    pid: int
    descriptor: int | None
    """What becomes readable when there is output; None where only asking tells."""
    terminal: str | None
    """The path of the program's end; None where it has none."""
    fixed: tuple[int, int] | None
    """Columns and rows, where they can't be changed."""

    def read_nonblocking(self, size: int) -> bytes | None:
        """At most ``size`` bytes of output; None while there is none, empty once all its ends are closed."""
        ...

    def write(self, data: bytes) -> None:
        """Type something. Where there is a ``descriptor`` its owner writes to that instead, behind what waits."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Tell the terminal, and with it the program, its new size."""
        ...

    def ended(self) -> tuple[int | None, int | None] | None:
        """Exit code and signal once it has ended (it is waited for then), else None."""
        ...

    def terminate(self) -> None:
        """Close our end: what still runs in the terminal is hung up on."""
        ...


def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str, size: tuple[int, int], umask: int) -> TerminalProcess:
    """Start a program, ``size`` being columns and rows. Raises EngineError with the system's reason."""
    if sys.platform == "win32":
        from .pty_windows import WindowsProcess  # noqa: PLC0415 - it needs what only Windows has

        return WindowsProcess(argv, env, cwd, size)
    from .pty_posix import PosixProcess  # noqa: PLC0415 - as above

    return PosixProcess(argv, env, cwd, size, umask)


def unread(terminal: str | None) -> int | None:
    """How many bytes typed into a terminal its program has not read yet; None where that can't be asked."""
    if sys.platform == "win32" or terminal is None:
        return None
    from . import pty_posix  # noqa: PLC0415 - as above

    return pty_posix.unread(terminal)
