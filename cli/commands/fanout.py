"""``osrc fanout``: many jobs as one group."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import click

from .. import exit_codes, groups
from ..fanout_sources import members, refuse_unusable
from ..groups import Group
from ..interrupts import heard
from ..options import Command, Duration, Globals, Whole, check_options, task_options
from ..options import Group as GroupCommand
from ..output import answer, answer_json, flush, is_terminal, may_colour, say, terminal_width
from ..reach import Reach
from ..render.group import GroupDisplay, counts, group_lines, group_table
from ..render.plain import one_line
from ..render.plan import would_begin
from ..submit import job_request
from ..submit_group import submit_group
from ..task import checked, read_task
from ..unwatched import supervise

VERBS = ("run", "explore", "research", "edit", "yolo")
TASKS = "outsourcerer.fanout.tasks"
_MOST = 1000


_MEMBERS = (
    click.option("--agents", metavar="DIR", help="One member for each role file (*.md, not _*.md) of a folder."),
    click.option(
        "--tasks", metavar="FILE", help="One member a line: text, or JSON with task, label, model ...; -: stdin."
    ),
    click.option("--task", "task_text", metavar="T", help="What every role is given to do."),
    click.option("--preamble", metavar="FILE", help="A text put in front of every member's."),
    click.option("--sub", "subs", metavar="K=V", multiple=True, help="Put V for {K} in every member's text."),
    click.option("--route", "routes", metavar="GLOB=MODEL,...", multiple=True, help="Models for labels that match."),
    click.option("--max", "most", type=Whole(), metavar="N", help="At most N at a time (default: OSRC_FANOUT_MAX, 6)."),
    click.option(
        "--label-prefix", default="task", metavar="P", help="Labels of plain tasks: P-01, P-02 (default: task)."
    ),
)


class TaskGroup(GroupCommand):
    """A group whose own words are tasks: they stand after ``--``, so that no task is read as a command."""

    others = "status|wait|collect|cancel GID | list"
    """Its commands, as the usage names them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what stands after ``--`` as tasks, where no command stands before it."""
        if "--" in args:
            place = args.index("--")
            before, tasks = args[:place], args[place + 1 :]
            if not self.make_parser(ctx).parse_args(list(before))[1]:
                ctx.meta[TASKS] = tuple(tasks)
                args = before
        return super().parse_args(ctx, args)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names; a word that is none may have been meant as a task."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            words = f"{args[0][:40]!a} is none of {', '.join(self.commands)}; tasks stand after --"
            raise click.UsageError(f'{words}: {context.command_path} -- "..." "..."', context)
        return super().resolve_command(context, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say where the tasks stand."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] --agents DIR | --tasks FILE | -- TASK...")
        formatter.write_usage(ctx.command_path, self.others, "   or: ")


def member_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say who the members of a group are."""
    for decorator in reversed(_MEMBERS):
        function = decorator(function)
    return function


@click.group(cls=TaskGroup, invoke_without_command=True)
@member_options
@click.option("--verb", type=click.Choice(VERBS), default="run", help="What members may do (default: run).")
@click.option("--skip-refused", is_flag=True, help="Start the others where some members are refused.")
@click.option("--wait", "waits", is_flag=True, help="Wait for the end of all, as fanout wait does.")
@check_options
@task_options
@click.pass_context
def fanout(context: click.Context, /, **flags: Any) -> int | None:  # noqa: ANN401 - click's values
    """Run many jobs as one group, on any lanes. The group's id is on stdout.

    Members come from role files, from a list, or from the command line after --. Every one is checked before the
    first starts; where one is refused, nothing starts, unless --skip-refused.

    A role file is Markdown; its front matter may say model, effort, tier and lane. Precedence of the model: -m,
    --route, the front matter, the default. Texts of _*.md files are put in front of every member's own.

    Next: osrc fanout wait GID, then osrc fanout collect GID.
    """
    options = context.ensure_object(Globals)
    if context.invoked_subcommand is not None:
        if _given(flags):
            raise click.UsageError(f"{_given(flags)} is of the fan-out itself, not of {context.invoked_subcommand}.")
        return None
    return _start(options, flags, context.meta.get(TASKS, ()))


def _given(flags: dict[str, Any]) -> str | None:
    return next((f"--{name}" for name in ("agents", "tasks", "preamble", "model", "lane") if flags[name]), None)


def _start(options: Globals, flags: dict[str, Any], tasks: tuple[str, ...]) -> int:
    if flags["most"] is not None and not 1 <= flags["most"] <= _MOST:
        raise click.UsageError(f"--max is from 1 to {_MOST}.")
    lane_given = flags["lane"] is not None or options.provider is not None or flags["trust_lane"] is not None
    made, bad = members({**flags, "lane_given": lane_given}, tasks, shared_task(flags))
    if bad and (not flags["skip_refused"] or not made):
        raise refuse_unusable(bad, len(made))
    common = job_request(options, flags["verb"], "", flags)
    del common["task"]
    request = {
        "common": common,
        "members": made,
        "refused": bad,
        "most": flags["most"],
        "skip_refused": flags["skip_refused"],
    }
    reach = Reach(options)
    reply = submit_group(reach, request, dry_run=flags["dry_run"])
    if reply.get("kind") == "group_planned":
        return show_planned(options, reply)
    return accepted(options, reach, dict(reply["group"]), waits=flags["waits"])


def shared_task(flags: dict[str, Any]) -> str:
    """Return the text that every role is given. Raises click.UsageError."""
    if flags["task_text"] is None:
        return read_task((), flags["task_file"]) if flags["task_file"] is not None else ""
    if flags["task_file"] is not None:
        raise click.UsageError("Give --task or --task-file, not both.")
    return checked(os.fsencode(flags["task_text"]), "--task")


def show_planned(options: Globals, reply: dict[str, Any], **more: object) -> int:
    """Print what a group would be, and ``more`` of it in JSON.

    Exit code 1 where a member is refused, or would be by the gate or the budget.
    """
    refused = list(reply.get("refused") or ())
    plans = [one["plan"] for one in reply.get("members") or ()]
    if options.json:
        answer_json({**more, "members": reply.get("members"), "refused": refused})
    else:
        for one in reply.get("members") or ():
            plan = one["plan"]
            answer(f"{one['label']}: {plan['lane']} {plan['model'] or 'default'} ({plan['posture']}; {plan['cost']})")
            if not would_begin(plan):
                why = f"the budget has no room: {plan['budget']}" if plan.get("budget") else str(plan["gate"])
                answer(f"{one['label']}: REFUSED: {one_line(why, 300)}")
        for one in refused:
            answer(f"{one['label']}: REFUSED: {one_line(str(one['message']), 300)}")
    return exit_codes.DONE if not refused and all(map(would_begin, plans)) else exit_codes.REFUSED


@heard()
def accepted(options: Globals, reach: Reach, group: Group, *, waits: bool) -> int:
    """Print a group that was taken, and with ``waits`` wait for its end; return the exit code."""
    group_id = str(group["group_id"])
    if options.json and not waits:
        answer_json(group)
    elif not options.json:
        answer(group_id)
        flush()
    if not options.quiet:
        say(f"{counts(group)}; at most {group['max']} at a time")
        say(f"wait: osrc fanout wait {group_id}   all results: osrc fanout collect {group_id}")
    for one in group["refused"]:
        say(f"refused: {one['label']}: {one_line(str(one['message']), 300)}")
    if not (waits or reach.in_process):
        supervise(reach.root, quiet=options.quiet)
    if waits:
        return _wait(options, reach, group_id, None, final=options.json)
    if reach.in_process:
        say("without a supervisor the group is supervised by this command: leave it running")
        groups.wait_for(reach, group_id, None, lambda _group: None)
    reach.close()
    return exit_codes.REFUSED if group["refused"] else exit_codes.DONE


# --- an existing group


@fanout.command("status", cls=Command)
@click.argument("group_id", metavar="GID")
@click.pass_obj
def status(options: Globals, group_id: str) -> None:
    """A group and its members as they are now. Nothing is started for it."""
    reach = Reach(options)
    group = groups.fresh(reach, groups.one_group(reach, group_id))
    _show(options, group)


@fanout.command("wait", cls=Command)
@click.argument("group_id", metavar="GID")
@click.option("--for", "bound", metavar="S", type=Duration(zero=True), help="Wait no longer than this; 0 is one check.")
@click.pass_obj
def wait(options: Globals, group_id: str, bound: float | None) -> int:
    """Wait until every member has ended, then print the group.

    The exit code is the gravest of the members': 0 only where all are done. 124 when the time was up first.
    Ctrl-C stops the waiting, not the members.
    """
    reach = Reach(options)
    deadline = None if bound is None else time.monotonic() + bound
    found = str(groups.one_group(reach, group_id)["group_id"])
    return _wait(options, reach, found, deadline, final=True)


@fanout.command("collect", cls=Command)
@click.argument("group_id", metavar="GID")
@click.option("--out", metavar="DIR", help="Write there instead of into the state home.")
@click.pass_obj
def collect(options: Globals, group_id: str, out: str | None) -> int:
    """Write every member's final message to findings/NN-label.md, and all of them to COLLECTED.md.

    The path of COLLECTED.md is on stdout; COLLECTED.json beside it has the same as data. The exit code is that of
    wait; 124 where some have not ended, whose findings are missing.
    """
    from ..collecting import collect as write  # noqa: PLC0415 - beside its only use

    reach = Reach(options)
    group = groups.one_group(reach, group_id)
    path, findings = write(group, groups.folder_for(reach, str(group["group_id"]), out))
    if options.json:
        answer_json({**{key: group[key] for key in ("group_id", "summary")}, "collected": path, "findings": findings})
    else:
        answer(path)
    if not options.quiet:
        say(counts(group))
    return groups.exit_code(group)


@fanout.command("cancel", cls=Command)
@click.argument("group_id", metavar="GID")
@click.option("--now", is_flag=True, help="Do not leave them time to clean up.")
@click.pass_obj
def cancel(options: Globals, group_id: str, now: bool) -> int:
    """End every member that lives; those that wait for their turn never start. Harmless when all have ended.

    Returns once the request is recorded; osrc fanout wait GID waits for the end.
    """
    reach = Reach(options)
    group = groups.cancel(reach, groups.one_group(reach, group_id), now=now)
    reach.close()
    if options.json:
        answer_json(group)
    else:
        answer(f"{group['group_id']} {group['state']}: {counts(group)}")
    return exit_codes.DONE


@fanout.command("list", cls=Command)
@click.option("--all", "everything", is_flag=True, help="Every group, not only the newest.")
@click.option("--limit", type=Whole(), metavar="N", help="At most N groups (default 40; 0: no limit).")
@click.pass_obj
def list_(options: Globals, everything: bool, limit: int | None) -> None:
    """The groups there are, newest first."""
    most = limit if limit is not None else 0 if everything else 40
    found = groups.all_groups(Reach(options), most)
    if options.json:
        answer_json({"groups": [{key: value for key, value in one.items() if key != "jobs"} for one in found]})
    elif not found:
        say("no groups")
    else:
        answer("\n".join(group_table(found)))


@heard()
def _wait(options: Globals, reach: Reach, group_id: str, deadline: float | None, *, final: bool) -> int:
    display = GroupDisplay(quiet=options.quiet or options.json)
    try:
        group = groups.wait_for(reach, group_id, deadline, display.show)
    except KeyboardInterrupt:
        display.clear()
        say(f"the group goes on: osrc fanout wait {group_id}")
        raise
    finally:
        display.clear()
        reach.close()
    if final:
        _show(options, group)
    elif not options.quiet:
        say(counts(group))
    return groups.exit_code(group)


def _show(options: Globals, group: Group) -> None:
    if options.json:
        answer_json(group)
        return
    width = terminal_width(1) if is_terminal(sys.stdout) else None
    answer("\n".join(group_lines(group, width=width, colour=may_colour(sys.stdout))), styled=True)
