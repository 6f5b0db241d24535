"""``osrc session``: a live delegate that is read and steered."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from ...messages.vocabulary import Effort, SessionMode
from ...state.ids import new_job_id
from .. import exit_codes
from .. import session_parts as parts
from ..errors import CliError
from ..options import Command, Duration, Globals, Group, Whole
from ..output import answer, answer_json, say
from ..reach import Reach
from ..render.plan import banner, disclosure, plan_lines, would_begin
from ..render.session import session_table
from ..session_events import Events
from ..session_giving import give, see, see_end
from ..sessions import captain, listed, live, meant, named
from ..submit import environment, folder_of, lane_of, word_of
from ..task import read_task
from ..unwatched import supervise
from .session_claims import claim, release, reply

STOP_S = 30.0
SHOWN = 200
"""Events that are shown without ``--since``."""


@click.group(cls=Group)
def session() -> None:
    """A live delegate: start it, send to it, read it, answer what it asks, switch its model, stop it.

    NAME may be left out where you have one session in this folder.
    """


@session.command("start", cls=Command)
@click.argument("words", metavar="[TASK]", nargs=-1)
@click.option("-m", "--model", metavar="MODEL", help="Model or alias; the lane follows from it.")
@click.option("--lane", metavar="LANE", help="Who runs it and who is billed (osrc lanes).")
@click.option(
    "--transport",
    type=click.Choice(["native", "acp", "pty", "tmux"]),
    help="How it is talked with (tmux: see session claim).",
)
@click.option("--name", metavar="N", help="A name; one that a live session bears is refused (exit 4).")
@click.option("--effort", type=click.Choice([word.value for word in Effort]), help="Reasoning effort.")
@click.option("--cwd", metavar="DIR", help="Folder the delegate works in (default: this one).")
@click.option("--label", metavar="L", help="A remark kept with it.")
@click.option("--continue", "continues", metavar="ID", help="Go on with an ended job's or session's conversation.")
@click.option("--trust-lane", metavar="L", help="Trust this lane for this session.")
@click.option("--detach", is_flag=True, help="Return once it is recorded; do not wait until it is up.")
@click.option("--dry-run", is_flag=True, help="Print the plan; start nothing.")
@click.pass_obj
def start(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Start a session, and give it TASK when it is ready. Its name is on stdout.

    Waits until it is up and has taken the task, or shows a dialog of its own first (trust, sign-in: its state says
    so): it gets the task once that is answered. Exit code 2: it was recorded, but that was not seen in time.

    Next: osrc session read NAME, osrc session send NAME "...", osrc session stop NAME.
    """
    task = read_task(words, None) if words else None
    reach = Reach(options)
    request = {
        "session_id": new_job_id(time.time(), os.urandom(6)),
        "name": word_of(flags["name"], "--name", 64),
        "model": word_of(flags["model"], "--model", 1024),
        "lane": lane_of(options, flags),
        "transport": flags["transport"],
        "effort": flags["effort"],
        "cwd": folder_of(flags["cwd"]),
        "task": task,
        "label": word_of(flags["label"], "--label", 80),
        "continues": parts.continued(reach, flags["continues"]),
        "captain": captain(os.environ),
        "trust_lane": flags["trust_lane"] is not None,
        "cloud_ack": options.cloud_ack,
        "environment": environment(),
    }
    reply = reach.request({"kind": "session.start", "request": request, "dry_run": flags["dry_run"]})
    plan = reply.get("plan") or {}
    if flags["dry_run"]:
        if options.json:
            answer_json({"plan": plan})
        else:
            answer("\n".join(plan_lines(plan)))
        return exit_codes.DONE if would_begin(plan) else exit_codes.REFUSED
    if leaves := disclosure(plan, short=options.quiet):
        say(leaves)
    if not options.quiet:
        say(banner(plan))
    if not reach.in_process:
        supervise(reach.root, quiet=options.quiet)
    return parts.started(options, reach, dict(reply["session"]), detach=flags["detach"], task=task is not None)


@session.command("send", cls=Command)
@click.argument("words", metavar="[NAME] TEXT", nargs=-1, required=True)
@click.option("--wait", is_flag=True, help="Wait until the turn has ended; the final message is on stdout.")
@click.option("--interrupt", is_flag=True, help="End the turn that runs first.")
@click.option(
    "--for", "seconds", type=Duration(), metavar="S", help="How long to wait (default: 20 s, with --wait no limit)."
)
@click.pass_obj
def send(options: Globals, words: tuple[str, ...], wait: bool, interrupt: bool, seconds: float | None) -> int:
    """Give a session words, and begin a turn. One that is at work gets them when its turn has ended.

    Without --wait it returns once the delegate has taken them: the delivery is on stdout. Exit code 2: recorded,
    but not taken yet. With --wait, 3 is "it asks something".
    """
    token, rest = (words[0], words[1:]) if len(words) > 1 else (None, words)
    reach = Reach(options)
    text = read_task(rest, None)
    found = meant(reach, token)
    body = {"kind": "session.send", "text": text, "interrupt": interrupt, "cloud_ack": options.cloud_ack}
    body["environment"] = environment()
    receipt, events = give(reach, found, body)
    busy = found.get("state") in ("working", "waiting-approval") and not interrupt
    limit = seconds if seconds is not None else (2.0 if busy else 20.0)
    over = parts.Ended(reach, str(found["session_id"]))
    receipt = see_end(receipt, events, seconds, over) if wait else see(receipt, events, limit, over)
    return parts.receipt(options, found, receipt, wait=wait)


@session.command("read", cls=Command)
@click.argument("name", required=False)
@click.option("--since", type=Whole(), metavar="N", help="Only events after number N.")
@click.option("--state", "only_state", is_flag=True, help="Only its state, and what it asks.")
@click.option("--screen", is_flag=True, help="What its terminal shows (pty and tmux sessions).")
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on until it has ended.")
@click.pass_obj
def read(  # noqa: PLR0913, PLR0917 - click's
    options: Globals, name: str | None, since: int | None, only_state: bool, screen: bool, follows: bool
) -> int:
    """What a session says and does. Works without a supervisor; --since resumes without a gap."""
    reach = Reach(options)
    found = meant(reach, name, ended=True)
    events = Events(str(found["events_path"]))
    there = events.more()
    if only_state:
        return parts.state(options, found, there)
    if screen:
        return parts.screen(options, found)
    shown = [row for row in there if row["seq"] > since] if since is not None else there[-SHOWN:]
    cursor = there[-1]["seq"] if there else since or 0
    if options.json and not follows:
        answer_json({"session": found, "events": shown, "cursor": cursor})
        return exit_codes.DONE
    parts.show(options, shown)
    if follows:
        ended = parts.Ended(reach, str(found["session_id"]))
        for event in events.follow(ended):
            cursor = event["seq"]
            parts.show(options, [event])
        found = named(reach, str(found["session_id"]))
    if not options.quiet and not options.json:
        say(f"state: {found['state']}; go on with --since {cursor}")
    return exit_codes.DONE


@session.command("answer", cls=Command)
@click.argument("words", metavar="[NAME] [CHOICE]", nargs=-1)
@click.option("--request", metavar="ID", help="Only if this is what it asks.")
@click.pass_obj
def answer_(options: Globals, words: tuple[str, ...], request: str | None) -> int:
    """Answer what a session asks: an option's number or label, yes, always or no; words where they are asked for.

    Without CHOICE, prints what it asks. It is never answered with anything that is not one of its options.
    """
    reach = Reach(options)
    token, choice = parts.split(reach, words)
    found = meant(reach, token)
    if choice is None:
        return parts.state(options, found, Events(str(found["events_path"])).more(), question=True)
    action = {"op": "answer", "choice": choice, "request": request}
    return parts.steer(options, reach, found, action, environment=environment())


@session.command("model", cls=Command)
@click.argument("words", metavar="[NAME] [MODEL]", nargs=-1)
@click.pass_obj
def model(options: Globals, words: tuple[str, ...]) -> int:
    """Switch a session's model, for this session only; without MODEL, print what it runs on.

    Declined while it works: try again when it is idle.
    """
    reach = Reach(options)
    token, wanted = parts.split(reach, words)
    found = meant(reach, token)
    if wanted is not None:
        return parts.steer(options, reach, found, {"op": "model", "model": wanted})
    if options.json:
        answer_json({"name": found["name"], "model": found["model"], "model_observed": found["model_observed"]})
    else:
        answer(f"asked for {found['model'] or 'its own default'}; observed {found['model_observed'] or 'unknown'}")
    return exit_codes.DONE


@session.command("effort", cls=Command)
@click.argument("words", metavar="[NAME] EFFORT", nargs=-1, required=True)
@click.pass_obj
def effort(options: Globals, words: tuple[str, ...]) -> int:
    """Switch a session's reasoning effort, for this session only.

    A session in a terminal is started anew with it, in the same conversation, where its CLI can do that; otherwise it
    is refused. Declined while it works.
    """
    word = words[-1].lower()
    if len(words) > 2 or word not in [known.value for known in Effort]:
        raise click.UsageError(f"{word[:40]!r} is no effort: {', '.join(known.value for known in Effort)}.")
    reach = Reach(options)
    found = meant(reach, words[0] if len(words) == 2 else None)
    if found["transport"] not in ("pty", "tmux"):
        return parts.steer(options, reach, found, {"op": "effort", "effort": word})
    return _anew(options, reach, found, word)


@session.command("mode", cls=Command)
@click.argument("words", metavar="[NAME] [MODE]", nargs=-1)
@click.option("--yolo", is_flag=True, help="You mean it: it may change things without asking you.")
@click.pass_obj
def mode(options: Globals, words: tuple[str, ...], yolo: bool) -> int:
    """Switch what a session may do without asking; without MODE, print it.

    plan: it reads and plans. ask: it asks before it changes anything, as every session does at first. edits: it changes
    files in its folder unasked. yolo: it asks nothing. The last two need --yolo. What its program has no mode for, or
    does not grant, is refused with the reason; a session in a terminal has its own keys. Declined while it works.
    """
    known = [word.value for word in SessionMode]
    reach = Reach(options)
    token, wanted = (words[0], None) if len(words) == 1 and words[0].lower() not in known else parts.split(reach, words)
    found = meant(reach, token)
    if wanted is None:
        now = found["mode"] or SessionMode.ASK.value
        answer_json({"name": found["name"], "mode": now}) if options.json else answer(now)
        return exit_codes.DONE
    wanted = wanted.lower()
    if wanted not in known:
        raise click.UsageError(f"{wanted[:40]!r} is no mode: {', '.join(known)}.")
    action = {"op": "mode", "mode": wanted, "yolo": yolo}
    return parts.steer(options, reach, found, action, environment=environment())


@session.command("interrupt", cls=Command)
@click.argument("name", required=False)
@click.pass_obj
def interrupt(options: Globals, name: str | None) -> int:
    """End a session's turn; the session stays."""
    reach = Reach(options)
    return parts.steer(options, reach, meant(reach, name), {"op": "interrupt"})


@session.command("relaunch", cls=Command)
@click.argument("name", required=False)
@click.option("--effort", type=click.Choice([word.value for word in Effort]), help="With another reasoning effort.")
@click.pass_obj
def relaunch(options: Globals, name: str | None, effort: str | None) -> int:
    """Start an ended or lost session's program anew, in its conversation where its CLI can take it up."""
    reach = Reach(options)
    found = meant(reach, name, ended=True)
    if live(found):
        raise CliError("not_finished", f"the session {found['name']} runs", f"osrc session stop {found['name']}")
    return _anew(options, reach, found, effort)


def _anew(options: Globals, reach: Reach, found: dict[str, Any], effort: str | None) -> int:
    """Have a session's program started anew, and wait until it is up. One that runs is ended by that."""
    ran = live(found)
    body = {"kind": "session.relaunch", "session": found["session_id"], "environment": environment()}
    events = Events(str(found["events_path"]), at_end=True)
    reply = reach.request(body | ({"effort": effort} if effort is not None else {}))
    seen = events.more()
    if ran:  # what the ended program did last is none of the new one's
        last = max((place for place, event in enumerate(seen) if event.get("type") == "exited"), default=-1)
        seen = seen[last + 1 :]
        say(f"{found['name']}: started anew with effort {effort}, in the same conversation")
    return parts.started(options, reach, dict(reply["session"]), detach=False, task=False, events=events, seen=seen)


@session.command("stop", cls=Command)
@click.argument("name", required=False)
@click.pass_obj
def stop(options: Globals, name: str | None) -> int:
    """End a session and every process it started. Harmless for one that has ended."""
    reach = Reach(options)
    found = meant(reach, name, ended=True)
    session_id = str(found["session_id"])
    reach.request({"kind": "session.stop", "session": session_id})
    deadline = time.monotonic() + STOP_S
    while live(found := named(reach, session_id)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if options.json:
        answer_json({"session": found})
    else:
        answer(f"{found['name']} {found['state']}" + (f" ({found['reason']})" if found.get("reason") else ""))
    if live(found):
        say(f"its end was asked for, and not seen within {STOP_S:.0f} s: osrc doctor says what is in the way")
    return exit_codes.UNVERIFIED if live(found) else exit_codes.DONE


@session.command("attach", cls=Command)
@click.argument("name", required=False)
@click.pass_obj
def attach(options: Globals, name: str | None) -> int:
    """Show a session's live terminal on this one (pty sessions). Ctrl-] leaves it; the session goes on.

    Several may be attached at once. What you type goes to its program as it is.
    """
    from ..attaching import attach as show  # noqa: PLC0415 - beside its only use

    found = meant(Reach(options), name)
    how = show(found)
    if not options.quiet:
        say(f"{how} from {found['name']}" if how == "detached" else f"{found['name']} has ended")
    return exit_codes.DONE


@session.command("list", cls=Command)
@click.option("--limit", type=Whole(), default=40, metavar="N", help="At most N sessions (default 40; 0: no limit).")
@click.option("--all", "everything", is_flag=True, help="Ended ones too.")
@click.pass_obj
def list_(options: Globals, limit: int, everything: bool) -> None:
    """Sessions and their states, newest first."""
    reach = Reach(options)
    found, omitted = listed(reach, limit)
    shown = found if everything else [row for row in found if live(row)]
    if options.json:
        answer_json({"sessions": shown, "omitted": omitted})
        return
    if not shown:
        say("no sessions" if everything or not found else "no live sessions (--all shows ended ones)")
        return
    answer("\n".join(session_table(shown)))
    if omitted:
        say(f"{omitted} more: osrc session list --limit 0")


session.add_command(claim)
session.add_command(reply)
session.add_command(release)
