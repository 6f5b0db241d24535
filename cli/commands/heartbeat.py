"""``osrc heartbeat``: who is woken when something needs them, and what does."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from ..errors import CliError
from ..in_delegate import refuse_delegate
from ..options import Command, Duration, Globals, Group
from ..output import answer, answer_json
from ..place import full_home, read_supervisor_file
from ..reach import Reach
from ..render.lines import age
from ..render.plain import one_line
from ..render.table import columns
from ..submit import environment


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def heartbeat(context: click.Context) -> None:
    """Watch all jobs and sessions, and wake you when something needs you.

    It is armed with the first job or session (OSRC_FLEET_SUPERVISION=0 opts out) and wakes whoever was named with that
    launch: OSRC_HEARTBEAT_WAKE, _SINK, _WEBHOOK or _DESKTOP. Each thing is told once, and again after 5 m, 15 m, 1 h,
    4 h and 12 h while it stands and nobody acknowledged it. What is dead is told once.
    """
    if context.invoked_subcommand is None:
        _show(context.ensure_object(Globals))


@heartbeat.command("start", cls=Command)
@click.option("--wake", metavar="CMD", help="Command for sh: $1 is a summary, the event is on stdin.")
@click.option("--sink", metavar="PATH", help="Existing file, FIFO or terminal; a line for each event.")
@click.option("--webhook", metavar="URL", help="Address that events are posted to.")
@click.option("--desktop", is_flag=True, help="Show a notice on the desktop.")
@click.option("--cadence", metavar="S", type=Duration(), help="Time between two digests (default: heartbeat_cadence).")
@click.option("--digest/--no-digest", default=None, help="Also tell how all work stands, when that changed.")
@click.pass_obj
def start(options: Globals, /, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Watch all work from here on, and wake these.

    What is not named here is taken from the environment and config.toml.
    Without any of them those that were known are woken. A webhook is signed with OSRC_HEARTBEAT_WEBHOOK_SECRET.
    """
    refuse_delegate("say who is woken")
    names = {"cadence": "heartbeat_cadence", "digest": "heartbeat_wake_digest"}
    said = {names.get(key, f"heartbeat_{key}"): _word(value) for key, value in given.items() if value not in (None, "")}
    if not given["desktop"]:
        said.pop("heartbeat_desktop", None)
    if given["sink"]:
        said["heartbeat_sink"] = os.path.abspath(given["sink"])  # noqa: PTH100 - a plain string is at hand
        if not os.path.exists(said["heartbeat_sink"]):  # noqa: PTH110 - as above
            raise CliError("usage", f"there is no {given['sink']}", "make it first: mkfifo, or touch")
        if os.path.isdir(said["heartbeat_sink"]):  # noqa: PTH112 - as above
            raise CliError("usage", f"{given['sink']} is a folder", "give a file, FIFO or terminal in it")
    watch(options, said)


def watch(options: Globals, said: dict[str, str]) -> None:
    """Start it with these settings, by key, beside those of the environment; print how it stands."""
    _ask(options, {"kind": "heartbeat.start", "given": said, "environment": environment()})


@heartbeat.command("stop", cls=Command)
@click.pass_obj
def stop(options: Globals) -> None:
    """Wake nobody until it is started again. Jobs and sessions go on, and osrc bearings still shows them."""
    refuse_delegate("say who is woken")
    _ask(options, {"kind": "heartbeat.stop"})


@heartbeat.command("ack", cls=Command)
@click.argument("words", metavar="[JOB|SESSION|ALARM]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every open alarm.")
@click.pass_obj
def ack(options: Globals, words: tuple[str, ...], everything: bool) -> None:
    """Acknowledge alarms: they are not told again while they stand as they are."""
    if everything == bool(words):
        raise click.UsageError("Name what you know of, or give --all.")
    _ask(options, {"kind": "heartbeat.acknowledge", "words": list(words)})


@heartbeat.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> None:
    """Say whether it watches, whom it wakes and how that went, and what is open. Starts nothing."""
    _show(options)


def _word(value: object) -> str:
    return {True: "on", False: "off"}.get(value, "") if isinstance(value, bool) else str(value)


def _ask(options: Globals, body: dict[str, Any]) -> None:
    reach = Reach(options)
    try:
        _print(options, reach.request(body)["heartbeat"])
    finally:
        reach.close()


def _show(options: Globals) -> None:
    _print(options, seen(options))


def seen(options: Globals) -> dict[str, Any]:
    """Return how the heartbeat stands, as ``--json`` has it. Starts nothing."""
    from ...state.heartbeat_view import heartbeat_object  # noqa: PLC0415 - not for the other three
    from ...state.reader import Reader  # noqa: PLC0415 - as above
    from ..launch import alive  # noqa: PLC0415 - as above

    root = Reach(options).root
    file = read_supervisor_file(root)
    running = file is not None and alive(file)
    with Reader(f"{root}/state.db") as reader:
        return heartbeat_object(reader, full_home(os.environ, options.home), time.time(), running=running)


def _print(options: Globals, shown: dict[str, Any]) -> None:
    if options.json:
        answer_json(shown)
        return
    words = {
        "watching": "it watches",
        "not armed": "not armed: the first job or session arms it, or osrc heartbeat start",
        "stopped": "stopped: osrc heartbeat start",
        "no supervisor": "armed, but no supervisor runs: the next command that needs one starts it",
    }
    lines = [words.get(shown["state"], str(shown["state"]))]
    for sink in shown["sinks"]:
        last = f"{sink['result']}{': ' + sink['why'] if sink['why'] else ''}" if sink["result"] else "not used yet"
        lines.append(one_line(f"wakes: {sink['sink']} {sink['target']} (last: {last})", 300))
    if not shown["sinks"]:
        lines.append("wakes: nobody; name a command with --wake or OSRC_HEARTBEAT_WAKE")
    rows = [("SINCE", "WHAT", "TOLD", "SUMMARY")]
    for alarm in shown["alarms"]:
        told = "known" if alarm["acknowledged_at"] is not None else f"{alarm['told']}x"
        old = age(alarm["age_s"]) if alarm["age_s"] is not None else "?"
        rows.append((old, str(alarm["state"]), told, one_line(str(alarm["summary"]), 160)))
    lines += columns(rows) if len(rows) > 1 else ["nothing needs you"]
    answer("\n".join(lines))
