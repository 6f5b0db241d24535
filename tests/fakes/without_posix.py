"""A command in a process that lacks what Windows lacks: POSIX's modules, ``os.fork``, local sockets, flags of ``open``.

    python without_posix.py < COMMANDS     # each line as ``osrc WORD...``

With ``--processes-of-linux`` as its only word it looks at processes as on Linux, as the shims do that it starts: they are
processes of their own, from which nothing was taken away.

It is still Linux below: paths, modes and links are. Of what only exists on Windows there are
msvcrt's locks, and an empty registry.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import shutil
import signal
import socket
import sys
import sysconfig
import types
from collections.abc import Container

NEEDED = (
    "asyncio",
    "concurrent.futures",
    "getpass",
    "httpx",
    "logging.handlers",
    "platform",
    "platformdirs",
    "psutil",
    "selectors",
    "shutil",
    "sqlite3",
    "subprocess",
    "tempfile",
    "uuid",
    "zoneinfo",
)
"""Parts of the standard library and of dependencies that on this system are made of what is taken away."""
MODULES = ("fcntl", "termios", "tty", "pty", "pwd", "grp", "resource", "pexpect", "ptyprocess")
OS = (
    "fork",
    "forkpty",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getpgid",
    "killpg",
    "setsid",
    "fchmod",
    "mkfifo",
    "posix_spawn",
    "waitid",
    "uname",
    "sysconf",
    "statvfs",
    "getloadavg",
    "O_NOFOLLOW",
    "O_NONBLOCK",
    "O_CLOEXEC",
    "O_DIRECTORY",
)
SIGNALS = ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGSTOP", "SIGCONT", "SIGCHLD", "SIGTSTP", "SIGWINCH", "pthread_sigmask")


def take_away(kept: Container[str] = ()) -> None:
    """Make this process lack all of it but for what is ``kept``."""
    for name in NEEDED:
        importlib.import_module(name)
    sysconfig.get_config_vars()
    room = os.statvfs("/")
    shutil.disk_usage = lambda _path: shutil._ntuple_diskusage(room.f_blocks, 0, room.f_bavail * room.f_frsize)  # type: ignore[assignment]
    sys.modules["msvcrt"], sys.modules["winreg"] = _msvcrt(), _winreg()
    signal.SIGBREAK = 21  # type: ignore[attr-defined]
    for name in MODULES:
        for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[loaded]
        sys.modules[name] = None  # type: ignore[assignment]
    for holder, names in ((os, OS), (signal, SIGNALS), (socket, ("AF_UNIX",)), (sys.modules["_socket"], ("AF_UNIX",))):
        for name in names:
            if name not in kept and hasattr(holder, name):
                delattr(holder, name)
    sys.platform = "win32"


def _msvcrt() -> types.ModuleType:
    """Windows' locks, by Linux's."""
    lock, how = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
    made = types.ModuleType("msvcrt")
    made.LK_NBLCK = 2  # type: ignore[attr-defined]
    made.locking = lambda descriptor, _mode, _count: lock(descriptor, how)  # type: ignore[attr-defined]
    return made


def _winreg() -> types.ModuleType:
    """A registry in which nothing is."""

    def nothing(*_: object) -> None:
        raise FileNotFoundError(2, "there is no such key")

    made = types.ModuleType("winreg")
    made.HKEY_LOCAL_MACHINE = 0  # type: ignore[attr-defined]
    made.OpenKey = nothing  # type: ignore[attr-defined]
    return made


def main() -> None:
    """Run the commands of stdin, one a line; before each answer its words, behind it its exit code."""
    commands = sys.stdin.read().splitlines()
    if sys.argv[1:] == ["--processes-of-linux"]:
        importlib.import_module("outsourcerer.state.processes")
        take_away(kept=("sysconf",))
    else:
        take_away()
    from outsourcerer.cli.main import run  # noqa: PLC0415 - in a world that lacks them

    for line in commands:
        sys.stdout.write(f"== {line}\n")
        sys.stdout.flush()
        code = run(line.split())
        sys.stdout.write(f"-- {code}\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
