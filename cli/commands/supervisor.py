"""``osrc supervisor``: the background process."""

from __future__ import annotations

import time
from typing import Any

import click

from .. import exit_codes
from ..client import Connection, NoConnectionError, ProtocolMismatchError
from ..errors import CliError, SupervisorLostError
from ..options import Command, Globals, Group, Whole
from ..output import answer, answer_json, say
from ..place import read_supervisor_file
from ..reach import Reach
from ..render.lines import age
from ..render.plain import one_line
from ..tailing import added, tail
from .logs import show

LEFT_S, LOOK_S = 60.0, 0.1
"""How long a process that holds the state home, and is no supervisor yet, is waited for; and between two looks."""


@click.group(cls=Group)
def supervisor() -> None:
    """The background process that runs the jobs. It starts by itself and leaves by itself when idle."""


@supervisor.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> int:
    """Say whether the supervisor runs, and how it is. Exit code 1 when it does not run."""
    reach = Reach(options)
    seen = read_supervisor_file(reach.root)
    reply = _ask(seen["socket"], {"kind": "supervisor.status"}) if seen else None
    if reply is None and seen is not None and _alive(seen):
        raise CliError(
            "supervisor_unavailable",
            f"it runs (pid {seen.get('pid')}) but can't be reached at {seen['socket']}",
            "osrc supervisor restart",
        )
    if reply is None:
        if options.json:
            answer_json({"running": False, "home": reach.root})
        else:
            answer("not running")
        return exit_codes.REFUSED
    shown = {name: value for name, value in reply.items() if name != "kind"}
    if options.json:
        answer_json({"running": True, **shown})
        return exit_codes.DONE
    up = age(time.time() - shown["started_at"])
    answer(f"running: pid {shown['pid']}, version {shown['version']} (protocol {shown['protocol']}), up {up}")
    answer(f"jobs: {shown['live_jobs']} live, {shown['queued_jobs']} queued, at most {shown['max_jobs']} at once")
    answer(f"home: {shown['home']}")
    answer(f"socket: {shown['socket']}")
    waiting = {name: count for name, count in (shown.get("actors") or {}).items() if count}
    if options.verbose or waiting:
        chosen = shown.get("actors") if options.verbose else waiting
        answer(
            "messages waiting: "
            + one_line(", ".join(f"{name} {count}" for name, count in (chosen or {}).items()), 2000)
        )
    return exit_codes.DONE


@supervisor.command("stop", cls=Command)
@click.option("--cancel", "end_all", is_flag=True, help="Also end the jobs and sessions that run, watched or not.")
@click.pass_obj
def stop(options: Globals, end_all: bool) -> int:
    """Stop the supervisor. Running delegates go on, and the next one takes them over, unless --cancel is given."""
    reach = Reach(options)
    stopped = _stop(reach, "cancel" if end_all else "shutdown")
    if end_all:
        stopped = _end_what_is_left(reach, stopped)
    if options.json:
        answer_json({"stopped": stopped is not None, "pid": stopped})
    else:
        answer("not running" if stopped is None else f"stopped: pid {stopped}")
    return exit_codes.DONE


@supervisor.command("restart", cls=Command)
@click.pass_obj
def restart(options: Globals) -> int:
    """Replace the supervisor by a new one; delegates go on. Starts one where none runs."""
    reach = Reach(options)
    if reach.no_daemon:
        raise CliError("supervisor_unavailable", "--no-daemon means that there is none", "leave out --no-daemon")
    before = _stop(reach, "restart")
    reach.channel()
    if reach.in_process:
        reach.close()
        raise CliError("supervisor_unavailable", "no supervisor process can be had here", "osrc doctor")
    seen = read_supervisor_file(reach.root) or {}
    reach.close()
    if options.json:
        answer_json({"pid": seen.get("pid"), "replaced": before})
    else:
        answer(f"running: pid {seen.get('pid')}" + (f" (was {before})" if before else ""))
    return exit_codes.DONE


@supervisor.command("logs", cls=Command)
@click.option("-n", "--lines", type=Whole(), default=60, metavar="N", help="Last N lines (default 60).")
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on with what is added.")
@click.pass_obj
def logs(options: Globals, lines: int, follows: bool) -> None:
    """Print the end of the supervisor's log."""
    path = f"{Reach(options).root}/supervisor.log"
    try:
        data, offset = tail(path, lines)
    except FileNotFoundError:
        data, offset = b"", 0
        say(f"no log yet: {path}")
    except OSError as error:
        raise CliError("state_unwritable", f"can't read {path}: {error.strerror}") from None
    if options.json:
        answer_json({"log_path": path, "lines": data.decode("utf-8", "replace").splitlines()})
        return
    show(data)
    if follows:
        for part in added(path, offset, lambda: False):
            show(part)


def _alive(seen: dict[str, Any]) -> bool:
    from .. import launch  # noqa: PLC0415 - processes are only looked at here

    return launch.alive(seen)


def _ask(socket: str, body: dict[str, str]) -> dict[str, Any] | None:
    """Return the reply to one command; None when nobody listens. A stuck one raises CliError."""
    try:
        connection = Connection(socket)
    except NoConnectionError:
        return None
    except ProtocolMismatchError as error:
        raise CliError("protocol", f"it speaks another protocol ({error.theirs})", "osrc supervisor restart") from None
    try:
        for reply in connection.exchange(body):
            if reply.get("kind") == "refused":
                raise CliError(str(reply.get("code")), str(reply.get("message")), reply.get("hint"))
            return reply
    finally:
        connection.close()
    raise SupervisorLostError("the supervisor gave no answer")


def _stop(reach: Reach, reason: str) -> int | None:
    """Stop it and wait until it is gone; return its pid, or None when none ran.

    One that does not answer, or speaks another protocol, gets TERM by pid and start time: then delegates go on.
    """
    from .. import launch  # noqa: PLC0415 - processes are only looked at here

    seen = read_supervisor_file(reach.root)
    if seen is None:
        return None
    try:
        reply = _ask(seen["socket"], {"kind": "supervisor.stop", "reason": reason})
    except CliError as error:
        if not isinstance(error, SupervisorLostError):  # one that is lost may have left before it answered
            say(f"osrc: {error.message}; ending it by its pid")
        launch.terminate(seen)
        reply = {}
    if reply is None:
        if not launch.alive(seen):
            return None
        launch.terminate(seen)
    launch.wait_until_gone(seen)
    return int(seen["pid"])


def _end_what_is_left(reach: Reach, stopped: int | None) -> int | None:
    """End what runs by the records although no supervisor ended it: none ran, or it could not look after all.

    Returns the pid of a supervisor that was stopped, also of one that only came meanwhile. Raises CliError for
    what still runs.
    """
    from .. import ending, launch  # noqa: PLC0415 - records and processes are only looked at here

    deadline = time.monotonic() + LEFT_S
    found = before = ending.legible(reach.root)
    while found is None or found:
        if launch.end_here(reach.root):
            found = ending.left(reach.root)
            if not found and before:
                say(f"osrc: ended what no supervisor looked after: {before.words()}")
            break
        again = _stop(reach, "cancel")  # another one has begun to look after it
        stopped = stopped or again
        if time.monotonic() > deadline:
            break
        time.sleep(LOOK_S)
        found = ending.legible(reach.root)
    if found is None or found:
        raise CliError(
            "supervisor_busy",
            f"not ended: {found.words() if found else 'what runs'}",
            "osrc supervisor logs says why; then again: osrc supervisor stop --cancel",
        )
    ending.tell_elsewhere(found)
    return stopped
