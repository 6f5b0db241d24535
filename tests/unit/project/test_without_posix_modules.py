"""Nothing that Windows reaches needs what only POSIX has: every module loads without it, and every use of it is known."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import outsourcerer
import pytest

ROOT = Path(outsourcerer.__path__[0])
FAKES = Path(__file__).parents[2] / "fakes"
PARTS = ("actors", "cli", "lanes", "messages", "state")

ONLY_POSIX = {"outsourcerer.actors.transports.pty_posix", "outsourcerer.actors.transports.pty_tmux"}
"""Loaded by whoever has a pseudo-terminal, or tmux."""

LOAD = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
from without_posix import take_away
import mcp.server.mcpserver  # there it is made of pywin32
import outsourcerer
take_away()
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except Exception as error:
        print(name, repr(error))
"""

LACKS = {
    module: frozenset(names.split())
    for module, names in {
        "os": "chown fchmod fchown fork forkpty getegid geteuid getgid getloadavg getpgid getpgrp getsid getuid killpg "
        "mkfifo nice openpty posix_spawn posix_spawnp pread pwrite setpgid setsid statvfs sysconf tcgetpgrp ttyname uname "
        "wait wait3 wait4 waitid WNOHANG WEXITSTATUS WIFEXITED WIFSIGNALED WTERMSIG O_CLOEXEC O_DIRECTORY O_NOCTTY "
        "O_NOFOLLOW O_NONBLOCK pidfd_open",
        "signal": "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGUSR1 SIGUSR2 "
        "SIGWINCH SIG_BLOCK SIG_SETMASK SIG_UNBLOCK alarm pause pidfd_send_signal pthread_sigmask setitimer sigwait",
        "socket": "AF_UNIX SO_PEERCRED",
    }.items()
}
"""What Windows' own modules have not, of all that is used or might be."""
NAMED = re.compile(r"\b_?(os|signal|socket)\.(\w+)")

POSIX_ONLY = "only runs on POSIX"
GUARDED = "behind a look whether it is there"
KNOWN = {
    "actors/admission.py": GUARDED,
    "actors/check_keeper.py": "POSIX's keeper; plain_keeper.py overrides what needs it",
    "actors/daemon.py": GUARDED,
    "actors/delegates/chat.py": GUARDED,
    "actors/delegates/local_agent.py": GUARDED,
    "actors/fleet_panes.py": GUARDED,
    "actors/gateway.py": "for local sockets",
    "actors/holder.py": GUARDED,
    "actors/holder_door.py": "for local sockets",
    "actors/holder_main.py": "forks a holder; plain_main.py starts one elsewhere",
    "actors/holders.py": "for local sockets",
    "actors/host.py": GUARDED,
    "actors/lane_book.py": GUARDED,
    "actors/model_book.py": GUARDED,
    "actors/notices.py": "named pipes; whoever makes one without is told by AttributeError, and heeds it",
    "actors/plain_shim.py": GUARDED,
    "actors/rehearsal_turn.py": GUARDED,
    "actors/scope_scan.py": GUARDED,
    "actors/secrets.py": GUARDED,
    "actors/shim.py": "forks shims; of it plain_shim.py uses what is everywhere",
    "actors/signals.py": GUARDED,
    "actors/socket_place.py": "for local sockets",
    "actors/tmux.py": GUARDED,
    "actors/transports/child.py": "AttributeError is caught",
    "actors/transports/pty_posix.py": POSIX_ONLY,
    "actors/transports/version.py": "VersionAsked; VersionAskedPlainly asks elsewhere",
    "actors/wake_child.py": GUARDED,
    "cli/attaching.py": "refused on Windows before",
    "cli/checks/surroundings.py": GUARDED,
    "cli/client.py": GUARDED,
    "cli/interrupts.py": GUARDED,
    "cli/prose.py": GUARDED,
    "cli/sessions.py": "AttributeError is caught",
    "cli/statusline.py": GUARDED,
    "state/consent.py": GUARDED,
    "state/files.py": GUARDED,
    "state/home.py": GUARDED,
    "state/processes.py": GUARDED,
    "state/trusted_lanes.py": GUARDED,
}
"""File that names what Windows lacks → why that does no harm there."""


def modules() -> list[str]:
    """Every module of the program, by its dotted name."""
    found = [path.relative_to(ROOT) for part in PARTS for path in (ROOT / part).rglob("*.py")]
    names = ["outsourcerer." + ".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in found]
    return [name for name in names if not name.endswith("__main__")]


def test_every_module_loads_where_posix_s_own_are_missing():
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(FAKES)],
        input="\n".join(modules()),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    failed = {line.split()[0] for line in done.stdout.splitlines()}
    assert failed == ONLY_POSIX, done.stdout + done.stderr


def posix_names(source: str) -> set[str]:
    """What a module takes from ``os``, ``signal`` or ``socket`` that Windows lacks: ``os.fork``."""
    found: set[str] = set()
    if not any(name in LACKS.get(module, ()) for module, name in NAMED.findall(source)):
        return found  # most files, without being parsed
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = node.value.id.removeprefix("_")
            if node.attr in LACKS.get(module, ()):
                found.add(f"{module}.{node.attr}")
    return found


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import os\nif os.fork(): pass", {"os.fork"}),
        ("signal.signal(signal.SIGHUP, x)", {"signal.SIGHUP"}),
        ("made = _socket.socket(_socket.AF_UNIX)", {"socket.AF_UNIX"}),
        ("getattr(os, 'O_NOFOLLOW', 0) | os.O_RDONLY", set()),
    ],
)
def test_a_use_is_found(source, names):
    assert posix_names(source) == names


def test_every_use_of_what_windows_lacks_is_known():
    found = {
        path.relative_to(ROOT).as_posix(): names
        for part in PARTS
        for path in (ROOT / part).rglob("*.py")
        if (names := posix_names(path.read_text(encoding="utf-8")))
    }
    assert {name: names for name, names in found.items() if name not in KNOWN} == {}
    assert sorted(set(KNOWN) - set(found)) == []
