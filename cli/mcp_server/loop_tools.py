"""The tool for loops: work that is checked outside every model, and repeated until it is right."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from ...messages.loop import Shape as LoopShape
from ...messages.vocabulary import Verb
from .. import loops
from ..commands.loop import LADDER
from ..submit import job_request
from .asking import ask
from .bounds import loop_row
from .choices import OneOf
from .desk import Desk, flags, task_text
from .job_tools import STARTS, Effort, Folder, Lane, Model, Worktree

PER_RUNG = 2
SWEEP_LAPS = 10
"""As the commands have it, where nobody says how many."""

Shape = Annotated[
    str,
    OneOf(shape for shape in LoopShape if shape is not LoopShape.OPINION),
    Field(
        description="verify: one delegate until check passes. escalate: up the ladder in models, cheap first. sweep: "
        "look until nothing new turns up. optimize: writer and judge with a rubric. council: models debate to a plan."
    ),
]
VERBS = {"sweep": "explore", "optimize": "run"}
"""What the delegate may do, where nobody says it: else ``edit``. As the commands have it."""


def add(server: MCPServer, desk: Desk) -> None:
    """Register it."""

    @server.tool(annotations=STARTS)
    async def loop(  # noqa: PLR0913 - by name
        shape: Shape,
        task: Annotated[str, Field(description="The whole task.")],
        *,
        check: Annotated[
            str | None,
            Field(description="A command; exit status 0 is the goal. It must fail now, for the right reason."),
        ] = None,
        models: Annotated[
            list[str] | None, Field(description="escalate: the ladder, cheap first. council: who debates.")
        ] = None,
        judge: Annotated[str | None, Field(description="optimize: who judges. council: who decides, else you.")] = None,
        rubric: Annotated[str | None, Field(description="optimize: by what it is judged.")] = None,
        bar: Annotated[float | None, Field(ge=0, le=100, description="optimize: the score that is enough.")] = None,
        max_laps: Annotated[int | None, Field(ge=1, le=1000)] = None,
        max_minutes: Annotated[float | None, Field(gt=0, le=43200)] = None,
        max_usd: Annotated[float | None, Field(gt=0)] = None,
        verb: Annotated[str, OneOf(Verb)] | None = None,
        model: Model = None,
        lane: Lane = None,
        effort: Effort = None,
        cwd: Folder = None,
        worktree: Worktree = None,
        label: Annotated[str | None, Field(description="A name for it.")] = None,
        session: Annotated[
            bool, Field(description="Laps are turns of one live session, which can be steered.")
        ] = False,
    ) -> dict[str, Any]:
        """Start a loop: a delegate works, a check judges, what failed goes into the next lap. Returns its id at once.

        It ends in one way: success, blocked, max_turns, max_time, max_usd, canceled. wait, status, cancel take its id.
        """
        given = {"model": model, "lane": lane, "effort": effort, "cwd": cwd, "worktree": worktree, "label": label}
        terms: dict[str, Any] = {
            "shape": shape,
            "check": check,
            "models": models,
            "judge": judge,
            "rubric": rubric,
            "bar": bar,
            "session": session or None,
        }
        minutes = None if max_minutes is None else max_minutes * 60.0
        if shape == "escalate":
            terms["models"] = models = models or LADDER.split(",")
        laps = {"sweep": SWEEP_LAPS, "escalate": PER_RUNG * len(models or ())}.get(shape)
        limits = {"laps": max_laps or laps, "seconds": minutes, "usd": max_usd}
        found = await ask(_start, desk, verb or VERBS.get(shape, "edit"), task, given, terms, limits)
        return {**loop_row(found), "next": "wait for it"}


def _start(  # noqa: PLR0913, PLR0917 - the parts of a request
    desk: Desk,
    verb: str,
    task: str,
    given: dict[str, Any],
    terms: dict[str, Any],
    limits: dict[str, Any],
) -> loops.Loop:
    request = {
        "terms": {key: value for key, value in terms.items() if value is not None},
        "limits": {key: value for key, value in limits.items() if value is not None},
        "common": job_request(desk.options, verb, task_text(task), flags(given)),
        "launch": False,
    }
    with desk.reach() as reach:
        return dict(loops.start(reach, request, dry_run=False)["loop"])
