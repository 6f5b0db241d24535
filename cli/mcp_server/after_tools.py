"""Tools for what comes after and beside a job: retry, outcome, rundown, heartbeat, acknowledge."""

from __future__ import annotations

import time
from typing import Annotated, Any, get_args

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from ...messages.vocabulary import Told
from ..commands.bearings import drawn
from ..commands.heartbeat import seen
from ..submit import word_of
from .asking import POLL_S, Telling, ask, bound
from .bounds import UNTRUSTED, event_rows
from .choices import OneOf
from .desk import Desk, until
from .job_tools import READS, STARTS, Effort, Lane, Model, accepted, group_taken

NOTES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def add(server: MCPServer, desk: Desk) -> None:
    """Register them."""
    _again(server, desk)
    _around(server, desk)


def _again(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=STARTS)
    async def retry(
        job: Annotated[str, Field(description="The ended job, or fan-out: then its members that did not end well.")],
        *,
        model: Model = None,
        lane: Lane = None,
        effort: Effort = None,
        label: Annotated[str | None, Field(description="A name for the new one.")] = None,
    ) -> dict[str, Any]:
        """Have an ended job's task done anew: the same verb, folder and terms, or others that are given here.

        Returns the new job's or fan-out's id at once. To go on with its conversation instead: delegate with continues.
        """
        reply = await ask(desk.retry, job, {"model": model, "lane": lane, "effort": effort, "label": label})
        return group_taken(reply) if "group" in reply else accepted(reply)

    @server.tool(annotations=NOTES)
    async def outcome(
        job: Annotated[str, Field(description="The job, by its id, a prefix of it or its label.")],
        became: Annotated[str, OneOf(get_args(Told)), Field(description="What you saw, not what it said.")],
    ) -> dict[str, Any]:
        """Keep what became of an ended job's result, once you checked it; advise learns from it."""
        kept = await ask(desk.request, {"kind": "job.tell_outcome", "job": job, "outcome": became})
        return {key: kept.get(key) for key in ("job_id", "outcome", "task_kind", "project", "model")}


def _around(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=READS)
    async def rundown() -> dict[str, Any]:
        """All delegated work in four sections: what needs you, what landed, what is under way, what comes next."""
        return {**event_rows([await ask(desk.look, drawn)])[0], "what_it_is": UNTRUSTED}

    @server.tool(annotations=READS)
    async def heartbeat(
        context: Context,
        *,
        seconds: Annotated[float, Field(description="Wait so long for something that needs you; at most 50.")] = 0.0,
    ) -> dict[str, Any]:
        """What needs somebody now, over all jobs and sessions; or wait until something does. Whom it wakes besides."""
        limit = bound(seconds)
        deadline, telling = time.monotonic() + limit, Telling(context, limit)
        while True:
            shown = await ask(seen, desk.options)
            open_now = [one for one in shown["alarms"] if one["acknowledged_at"] is None]
            if open_now or not until(deadline):
                return {**event_rows([shown])[0], "needs_you": bool(open_now), "what_it_is": UNTRUSTED}
            await telling.tell("nothing needs you")
            await anyio.sleep(min(max(POLL_S, 1.0), until(deadline)))

    @server.tool(annotations=NOTES)
    async def acknowledge(
        words: Annotated[list[str], Field(min_length=1, description="Jobs, sessions or alarms that you know of.")],
    ) -> dict[str, Any]:
        """Say that you know what heartbeat tells of these: they are not told again while they stand as they are."""
        known = [await ask(word_of, word, "words", 200) for word in words]
        reply = await ask(desk.request, {"kind": "heartbeat.acknowledge", "words": known})
        return {**event_rows([reply["heartbeat"]])[0], "what_it_is": UNTRUSTED}
