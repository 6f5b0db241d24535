"""``osrc loop``: work that is checked outside every model, and repeated until it is right or a bound is met."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import click

from .. import exit_codes, looping, loops
from ..options import Command, Duration, Globals, Group, Whole, task_options
from ..output import answer, answer_json, say
from ..reach import Reach
from ..render.loop import loop_table

LADDER = "haiku,glm-5.2,fable"
_VERBS = ("run", "explore", "research", "edit", "yolo")

GUIDE = """Which loop do you want?

  A command can say whether it is right (tests, a build, a linter):
    osrc loop verify --check "make test" "fix the failing tests"
        One delegate; the failure goes into its next lap; stops at green, at a bound, or where nothing moves.
    osrc loop escalate --check "make test" --ladder haiku,glm-5.2,fable "..."
        The same, cheap model first, a dearer one only after a failed check.
    osrc loop council --seats A,B --judge C -m D --check "make test" "..."
        Models debate to a plan, you launch it, a cheap one builds it, an advisor compares. For what is hard to undo.

  With --session (verify, escalate, council, optimize) it is a live session from lap to lap, which you watch and steer.

  You are looking for things, and don't know how many there are (bugs, dead code, unclear docs):
    osrc loop sweep "find places where errors are swallowed"
        Rounds until two in a row find nothing new.

  Quality can be judged, but not by a command (a text, a design):
    osrc loop optimize --rubric rubric.md --judge fable "write the release notes"
        A writer and another model with your rubric, until its bar is reached.

  No loop: one answer that matters (osrc second-opinion), many tasks at once (osrc fanout), anything else (osrc run).

osrc loop SHAPE -h says more. osrc loop list shows those there are.
"""


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def loop(context: click.Context) -> int | None:
    """Work that is checked, and repeated until the check passes or a bound is met.

    Without a word: which shape fits, in plain words. Exit code of a loop: 0 success, 3 blocked, 2 out of turns, time
    or money, 130 canceled.
    """
    options = context.ensure_object(Globals)
    if context.invoked_subcommand is None:
        if options.json:
            shapes = ("verify", "escalate", "sweep", "optimize", "council")
            answer_json({"shapes": {name: loop.commands[name].get_short_help_str(200) for name in shapes}})
        else:
            answer(GUIDE.rstrip("\n"))
    return None


class _Bound(click.FloatRange):
    """A number above 0, and no more than its most. What is no number (nan) is within nothing."""

    def __init__(self, most: float) -> None:
        """Take what is more than 0 and at most ``most``."""
        super().__init__(min=0, max=most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's values
        """Read the number. Raises click.BadParameter."""
        found = super().convert(value, param, ctx)
        return self.fail(f"{value} is no number.", param, ctx) if math.isnan(found) else found


_PERCENT = _Bound(100)
_MINUTES = _Bound(30 * 24 * 60)
_DOLLARS = _Bound(1_000_000)


def _task(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a task; a loop comes after no job, so that is not offered."""
    function = task_options(function)
    for one in getattr(function, "__click_params__", ()):
        if one.name == "after":
            one.hidden = True
    return function


def _bounds(default: int, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the options that every shape has."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--bg", "detached", is_flag=True, help="Print the loop's id and leave it running."),
            click.option("--max-plan", type=_PERCENT, metavar="P", help="No lap once P % of the plan are used."),
            click.option("--max-usd", type=_DOLLARS, metavar="X", help="Most cash in USD."),
            click.option("--max-minutes", type=_MINUTES, metavar="M", help="Most minutes in all."),
            click.option("--max", "laps", type=click.IntRange(1, 1000), metavar="N", help=f"Most {what} ({default})."),
        ):
            function = option(function)
        return function

    return add


def _checks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a check."""
    for option in (
        click.option("--allow-check-edits", is_flag=True, help="Let the delegate change what the check consists of."),
        click.option("--allow-green", is_flag=True, help="Begin although the check passes already."),
        click.option(
            "--stall",
            metavar="N",
            type=click.IntRange(0, 100),
            default=2,
            help="So many equal failures end it; 0: none (2).",
        ),
        click.option("--guard", "guards", metavar="PATH", multiple=True, help="More files or folders of the check."),
        click.option(
            "--check-timeout", type=Duration(days=30), metavar="S", help="How long the check may run (300 s)."
        ),
        click.option("--check", metavar="CMD", help="Exit status 0 of this command is the goal."),
    ):
        function = option(function)
    return function


_WRITING = click.option("--verb", type=click.Choice(("edit", "yolo")), default="edit", help="What it may do (edit).")
_SESSION = click.option("--session", is_flag=True, help="Laps are turns of a live session (osrc session read -f).")
_KEEP = click.option("--keep-conversation", is_flag=True, help="Each lap goes on with the last one's conversation.")


@loop.command("verify", cls=Command)
@click.argument("words", metavar="TASK", nargs=-1)
@_checks
@_bounds(6, "laps")
@_WRITING
@_KEEP
@_SESSION
@_task
@click.pass_obj
def verify(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """One delegate until a check passes.

    With --session it is one live session that you watch and steer (osrc session read, attach, send, answer) while it
    goes from lap to lap; each lap is a send to it, and it is stopped when the loop ends. The --verb is what it may do
    unasked, where its program has a mode for that; else it asks, and the lap waits for your answer.

    The check runs outside the model, once before anything is done and once after each lap; what it printed goes into
    the next lap. The state is on stdout: success, blocked, max_turns, max_time, max_usd or canceled.

    Next: osrc loop status shows its laps, osrc loop resume LOOP goes on with higher bounds.
    """
    given = {"keep_conversation": flags["keep_conversation"], "session": flags["session"]}
    return looping.start(options, "verify", flags["verb"], words, flags, given)


@loop.command("escalate", cls=Command)
@click.argument("words", metavar="TASK", nargs=-1)
@click.option("--ladder", metavar="A,B,...", default=LADDER, help=f"2 to 4 models, cheap first ({LADDER}).")
@click.option("--per-tier", metavar="N", type=click.IntRange(1, 1000), default=2, help="Failed laps on one rung (2).")
@_checks
@_bounds(6, "laps")
@_WRITING
@_SESSION
@_task
@click.pass_obj
def escalate(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Up a ladder of models, cheap first, until a check passes.

    The next rung is taken only after failed checks: when a rung's laps are used up, or a failure repeats.
    """
    if flags["model"] is not None:
        raise click.UsageError("-m is one model; --ladder names those of an escalation.")
    given = {"models": looping.names(flags["ladder"], "--ladder"), "per_rung": flags["per_tier"]}
    given["session"] = flags["session"]
    flags["laps"] = flags["laps"] or min(1000, given["per_rung"] * len(given["models"]))
    return looping.start(options, "escalate", flags["verb"], words, flags, given)


@loop.command("sweep", cls=Command)
@click.argument("words", metavar="TASK", nargs=-1)
@click.option(
    "--dry", metavar="N", type=click.IntRange(1, 1000), default=2, help="So many rounds without news end it (2)."
)
@click.option("--verb", type=click.Choice(_VERBS[:3]), default="explore", help="What it may do (explore).")
@_bounds(10, "rounds")
@_task
@click.pass_obj
def sweep(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Look for things, round after round, until some rounds in a row find nothing new.

    Findings are kept by content, each once, in findings.txt of the loop's folder.
    """
    flags["laps"] = flags["laps"] or 10
    return looping.start(options, "sweep", flags["verb"], words, flags, {"dry_rounds": flags["dry"]})


@loop.command("optimize", cls=Command)
@click.argument("words", metavar="TASK", nargs=-1)
@click.option("--rubric", metavar="FILE", help="By what it is judged.")
@click.option("--judge", metavar="MODEL", help="Who judges: another model than the writer's.")
@click.option(
    "--bar",
    metavar="N",
    type=click.FloatRange(0, 100),
    default=90.0,
    help="The score that is good enough, of 100 (90).",
)
@click.option(
    "--patience",
    metavar="N",
    type=click.IntRange(1, 1000),
    default=2,
    help="So many laps without a better score end it (2).",
)
@click.option(
    "--verb",
    type=click.Choice(_VERBS),
    default="run",
    help="What it may do (run).",
)
@_checks
@_bounds(6, "laps")
@_KEEP
@_SESSION
@_task
@click.pass_obj
def optimize(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """A writer and a judge with a rubric, until its bar is reached.

    With --check, what fails that is not even judged.
    """
    given = {
        "rubric": None if flags["rubric"] is None else looping.text_of(flags["rubric"], "--rubric"),
        "judge": flags["judge"],
        "bar": flags["bar"],
        "patience": flags["patience"],
        "keep_conversation": flags["keep_conversation"],
        "session": flags["session"],
    }
    return looping.start(options, "optimize", flags["verb"], words, flags, given)


@loop.command("council", cls=Command)
@click.argument("words", metavar="TASK", nargs=-1)
@click.option("--seats", metavar="A,B,...", help="2 to 5 models that debate.")
@click.option("--rounds", metavar="N", type=click.IntRange(1, 10), default=2, help="Rounds of debate (2).")
@click.option("--judge", metavar="MODEL", help="Who decides on the plan; without one, you do.")
@click.option("--advisor", metavar="MODEL", help="Who compares plan and work (the judge, or the first seat).")
@click.option("--launch", is_flag=True, help="Build the plan as soon as it is decided.")
@_checks
@_bounds(6, "laps of the builder")
@_WRITING
@_KEEP
@_SESSION
@_task
@click.pass_obj
def council(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Models debate to a plan; once it is launched, -m builds it against a check, and an advisor compares.

    Without --launch the loop stops, blocked, where the plan waits for you: osrc loop resume ID --launch, or
    --plan-file FILE with a plan of your own.
    """
    given = {
        "models": looping.names(flags["seats"] or "", "--seats"),
        "rounds": flags["rounds"],
        "judge": flags["judge"],
        "advisor": flags["advisor"],
        "keep_conversation": flags["keep_conversation"],
        "session": flags["session"],
    }
    if flags["launch"] and flags["judge"] is None:
        raise click.UsageError("--launch needs --judge: without one, nobody decides on the plan but you.")
    return looping.start(options, "council", flags["verb"], words, flags, given)


# --- one that there is


@loop.command("status", cls=Command)
@click.argument("loop_id", metavar="[LOOP]", required=False)
@click.pass_obj
def status(options: Globals, loop_id: str | None) -> None:
    """A loop and its steps as they are now; without an id the newest. Nothing is started for it."""
    reach = Reach(options)
    looping.show(options, reach, loops.one_loop(reach, loop_id))


@loop.command("wait", cls=Command)
@click.argument("loop_id", metavar="[LOOP]", required=False)
@click.option("--for", "bound", metavar="S", type=Duration(zero=True), help="Wait no longer than this; 0 is one check.")
@click.pass_obj
def wait(options: Globals, loop_id: str | None, bound: float | None) -> int:
    """Wait for a loop to end: a line at each step on stderr, its state on stdout.

    The exit code is the loop's; 124 when the time was up first. Ctrl-C stops the waiting, not the loop.
    """
    reach = Reach(options)
    deadline = None if bound is None else time.monotonic() + bound
    found = str(loops.one_loop(reach, loop_id)["loop_id"])
    return looping.wait(options, reach, found, deadline, cancels=False)


loop.add_command(wait, "watch")


@loop.command("list", cls=Command)
@click.option("--all", "everything", is_flag=True, help="Every loop, not only the newest.")
@click.option("--limit", type=Whole(), metavar="N", help="At most N loops (default 40; 0: no limit).")
@click.pass_obj
def list_(options: Globals, everything: bool, limit: int | None) -> None:
    """The loops there are, newest first."""
    most = limit if limit is not None else 0 if everything else 40
    found = loops.all_loops(Reach(options), most)
    if options.json:
        answer_json({"loops": [{key: value for key, value in one.items() if key != "steps"} for one in found]})
    elif not found:
        say("no loops")
    else:
        answer("\n".join(loop_table(found)))


@loop.command("cancel", cls=Command)
@click.argument("loop_id", metavar="LOOP")
@click.pass_obj
def cancel(options: Globals, loop_id: str) -> int:
    """End a loop, with the job or the check that runs. Harmless when it has ended.

    Returns once the request is recorded; osrc loop wait LOOP waits for the end.
    """
    reach = Reach(options)
    found = loops.one_loop(reach, loop_id)
    if not loops.ended(found):
        found = loops.cancel(reach, str(found["loop_id"]))
    reach.close()
    if options.json:
        answer_json(found)
    else:
        answer(f"{found['loop_id']} {found['state']}")
    return exit_codes.DONE


@loop.command("resume", cls=Command)
@click.argument("loop_id", metavar="LOOP")
@click.option("--max", "laps", type=click.IntRange(1, 1000), metavar="N", help="A higher bound of laps.")
@click.option("--max-minutes", type=_MINUTES, metavar="M", help="A higher bound of minutes.")
@click.option("--max-usd", type=_DOLLARS, metavar="X", help="A higher bound of cash in USD.")
@click.option("--max-plan", type=_PERCENT, metavar="P", help="A higher bound of the plan's use, in percent.")
@click.option("--launch", is_flag=True, help="council: build the plan.")
@click.option("--plan-file", metavar="F", help="council: build this plan.")
@click.option("--bg", "detached", is_flag=True, help="Leave it running.")
@click.pass_obj
def resume(options: Globals, /, loop_id: str, **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Let a loop that did not succeed go on from the lap it stopped at. Bounds may only be raised.

    What its laps see of the environment is this command's from here on.
    """
    reach = Reach(options)
    found = loops.one_loop(reach, loop_id)
    given: dict[str, Any] = {
        "laps": flags["laps"],
        "seconds": None if flags["max_minutes"] is None else flags["max_minutes"] * 60.0,
        "usd": flags["max_usd"],
        "plan_percent": flags["max_plan"],
        "launch": flags["launch"] or None,
        "plan": None if flags["plan_file"] is None else looping.text_of(flags["plan_file"], "--plan-file"),
    }
    given = {key: value for key, value in given.items() if value is not None}
    resumed = loops.resume(reach, str(found["loop_id"]), given)
    return looping.followed(options, reach, resumed, detached=flags["detached"])
