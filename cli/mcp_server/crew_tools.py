"""Tools for work of several models: second_opinion, crew, best_of, image. Each begins an errand and returns its id."""

from __future__ import annotations

import time
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from ...messages.vocabulary import Verb
from ..commands import best_of as tries
from ..commands import crew as crews
from ..commands import image as images
from ..commands import second_opinion as opinions
from ..image_file import checked_target
from ..opinion_view import facts
from ..reach import Reach
from ..submit import job_request
from .asking import POLL_S, Telling, ask
from .choices import OneOf
from .desk import Desk, flags, members, task_text, until
from .errands import Errand
from .job_tools import STARTS, DryRun, Effort, Folder, Lane, Model, Task, Timeout, plan_row

TAKES_S = 20.0
"""So long it is waited until an errand's jobs are taken, or refused."""

Check = Annotated[str, Field(min_length=1, description="A command; exit status 0 means that the work is good.")]
MaybeCheck = Annotated[str | None, Field(description="A command; a try for which it fails can't win.")]
CheckTime = Annotated[float, Field(gt=0, le=86400, description="How long it may take, in seconds.")]
MayChange = Annotated[bool, Field(description="Also work counts that changes what the check consists of.")]
Edits = Annotated[
    str, OneOf(verb for verb in Verb if verb.may_write), Field(description="What they may do in their work trees.")
]
Label = Annotated[str | None, Field(description="A name for it.")]
Resume = Annotated[str | None, Field(description="The group_id of one whose server ended: it is brought to its end.")]


def add(server: MCPServer, desk: Desk) -> None:
    """Register them."""
    _opinion(server, desk)
    _crew(server, desk)
    _best_of(server, desk)
    _image(server, desk)


def _opinion(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=STARTS)
    async def second_opinion(  # noqa: PLR0913 - by name
        question: Annotated[str, Field(description="The whole question: they know nothing of this conversation.")],
        context: Context,
        *,
        models: Annotated[
            list[str] | None, Field(min_length=2, max_length=7, description="Who is asked; else by advice.")
        ] = None,
        panel: Annotated[int | None, Field(ge=2, le=7, description="How many are asked (2).")] = None,
        judge: Annotated[str | None, Field(description="Who decides where they differ; else the strongest.")] = None,
        no_judge: Annotated[bool, Field(description="Decide nothing where they differ.")] = False,
        contract: Annotated[
            str | None, Field(description="What an answer looks like: json, keys:a,b or regex:PATTERN.")
        ] = None,
        effort: Effort = None,
        cwd: Folder = None,
        timeout_s: Timeout = None,
        dry_run: DryRun = False,
    ) -> dict[str, Any]:
        """Ask several models of different makers the same question, read-only, and say what stands and who dissents.

        Returns an errand's id at once; wait and result take it.
        """
        given: dict[str, Any] = {"judge_anyway": False, "effort": effort, "cwd": cwd, "timeout": timeout_s}
        given |= {"models": ",".join(models) if models else None, "panel": panel, "judge": judge, "no_judge": no_judge}

        def work(reach: Reach) -> dict[str, Any]:
            text, form = task_text(question), opinions.contract_of(contract)
            return facts(opinions.opinion(reach.options, reach, text, form, given))

        def look(reach: Reach) -> dict[str, Any]:
            text, form = task_text(question), opinions.contract_of(contract)
            return opinions.planned(reach.options, reach, text, form, given)

        if dry_run:
            steps = (await ask(desk.look, look))["steps"]
            return {"steps": [{"step": one["step"], "plan": plan_row(one["plan"])} for one in steps]}
        return await _begun(desk, context, "second_opinion", work)


def _crew(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=STARTS)
    async def crew(  # noqa: PLR0913 - by name
        context: Context,
        *,
        tasks: Annotated[
            list[Task] | None,
            Field(max_length=1000, description="Each a text, or an object: task, label, model, lane, effort, tier."),
        ] = None,
        check: Check | None = None,
        check_timeout_s: CheckTime = crews.CHECK_S,
        red: Annotated[bool, Field(description="The check may be red before: a member is to make it green.")] = False,
        may_change_check: MayChange = False,
        integrate: Annotated[bool, Field(description="Move the person's branch forward to what was kept.")] = True,
        verb: Edits = "edit",
        model: Model = None,
        lane: Lane = None,
        effort: Effort = None,
        cwd: Folder = None,
        max_at_once: Annotated[int | None, Field(ge=1, le=1000, description="At most so many at a time.")] = None,
        label: Label = None,
        timeout_s: Timeout = None,
        resume: Resume = None,
    ) -> dict[str, Any]:
        """Have several delegates change one git repository at once, each in its own work tree; keep what is green.

        The check runs on the commit first, then after each member's work. Give tasks and check, or resume. Returns an
        errand's id; wait and result take it.
        """
        if (resume is None) != (bool(tasks) and check is not None):
            raise ToolError("Give tasks and check, or resume alone (usage)")
        given = {"model": model, "lane": lane, "effort": effort, "cwd": cwd, "label": label, "timeout": timeout_s}
        terms = {"check": check, "check_timeout": check_timeout_s, "red": red, "may_change_check": may_change_check}
        terms |= {"integrate": integrate, "most": max_at_once}

        def work(reach: Reach) -> dict[str, Any]:
            if resume is not None:
                found = crews.known(reach, resume)
            else:
                common = job_request(reach.options, verb, "", flags({**given, "worktree": True}))
                del common["task"]
                found = crews.begin(reach, common, members(tasks or (), given), terms)
            return crews.facts(*crews.finish(reach.options, reach, found))

        return await _begun(desk, context, "crew", work)


def _best_of(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=STARTS)
    async def best_of(  # noqa: PLR0913 - by name
        context: Context,
        *,
        task: Annotated[str | None, Field(description="The whole task.")] = None,
        number: Annotated[int, Field(ge=2, le=7, description="How many tries.")] = 3,
        check: MaybeCheck = None,
        check_timeout_s: CheckTime = crews.CHECK_S,
        may_change_check: MayChange = False,
        allow_green: Annotated[bool, Field(description="The check may pass already, before anybody began.")] = False,
        judge: Annotated[str | None, Field(description="The model that chooses among the good ones.")] = None,
        rubric: Annotated[str | None, Field(description="What it judges by; without judge the strongest does.")] = None,
        models: Annotated[list[str] | None, Field(max_length=7, description="Who tries, in turn.")] = None,
        verb: Edits = "edit",
        lane: Lane = None,
        effort: Effort = None,
        cwd: Folder = None,
        label: Label = None,
        timeout_s: Timeout = None,
        resume: Resume = None,
    ) -> dict[str, Any]:
        """Have one task done several times, each in its own git work tree, and name the best; nothing is merged.

        Give task and one of check, judge, rubric; or resume. Returns an errand's id; wait and result take it.
        """
        if (resume is None) != (task is not None and bool(check or judge or rubric)):
            raise ToolError("Give task and one of check, judge and rubric; or resume alone (usage)")
        given = {"lane": lane, "effort": effort, "cwd": cwd, "label": label, "timeout": timeout_s}
        terms = {"check": check, "check_timeout": check_timeout_s, "may_change_check": may_change_check}
        terms |= {
            "allow_green": allow_green,
            "judge": judge,
            "rubric": (rubric or "")[: 64 * 1024],
            "verb": verb,
            "dry_run": False,
        }

        def work(reach: Reach) -> dict[str, Any]:
            options = reach.options
            if resume is not None:
                folder, record = tries.known(reach, resume)
            else:
                wanted = {**flags(given), **terms, "model": ",".join(models or ()) or None}
                folder, record = tries.begin(options, reach, number, task_text(task or ""), wanted)
            return tries.facts(tries.decide(options, reach, folder, record))

        return await _begun(desk, context, "best_of", work)


def _image(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=STARTS)
    async def image(  # noqa: PLR0913 - by name
        prompt: Annotated[str, Field(description="What is to be seen.")],
        context: Context,
        *,
        out: Annotated[str | None, Field(description="The file, absolute; else one in the state home.")] = None,
        model: Annotated[str | None, Field(description="Image model, such as gpt-image or nano-banana.")] = None,
        backend: Annotated[
            Annotated[images.Backend, OneOf(images.BACKENDS)] | None,
            Field(description="Who makes it; else who is ready."),
        ] = None,
        force: Annotated[bool, Field(description="Overwrite a file that is there.")] = False,
        timeout_s: Timeout = None,
    ) -> dict[str, Any]:
        """Have an image made. Returns an errand's id at once; result then has the path of its file."""

        def work(reach: Reach) -> dict[str, Any]:
            words, target = task_text(prompt), checked_target(out, force=force)
            studio, plan = images.chosen(reach.options, model, backend)
            return images.drawn(reach, studio, plan, words, {"timeout": timeout_s, "force": force, "target": target})

        return await _begun(desk, context, "image", work)


async def _begun(desk: Desk, context: Context, kind: str, work: Any) -> dict[str, Any]:  # noqa: ANN401 - see Desk.errand
    """Begin an errand; return it once its jobs were taken, or it takes its time. Raises ToolError where refused."""
    errand: Errand = await ask(desk.errand, kind, work)
    telling, deadline = Telling(context, TAKES_S), time.monotonic() + TAKES_S
    while not errand.begun.is_set() and until(deadline):
        await telling.tell(errand.notes[-1] if errand.notes else f"{kind} begins")
        await anyio.sleep(min(POLL_S, until(deadline)))
    if errand.trouble is not None:
        raise ToolError(errand.trouble)
    return {**errand.row(), "next": "wait for it, then result"}
