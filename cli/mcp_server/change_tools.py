"""Tools that change how a session goes on: its model, effort or mode, the turn that runs, its program."""

from __future__ import annotations

import time
from typing import Annotated, Any

import click
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from ...messages.vocabulary import SessionMode
from .. import exit_codes
from ..session_events import Event, Events
from ..session_parts import STEERED_S, Start
from ..sessions import Session, live
from ..submit import environment, word_of
from .asking import Telling, ask, failed
from .bounds import session_row
from .choices import OneOf
from .desk import Desk, until
from .job_tools import Effort
from .session_tools import SENDS, Name, given_to, named_session, not_started, note

UP_S = 45.0

Mode = Annotated[
    Annotated[str, OneOf(SessionMode)] | None,
    Field(description="plan: it reads. ask: it asks before a change. edits, yolo: unasked; they need unasked."),
]


def add(server: MCPServer, desk: Desk) -> None:
    """Register them."""

    @server.tool(annotations=SENDS)
    async def session_set(  # noqa: PLR0913 - by name
        session: Name,
        context: Context,
        *,
        model: Annotated[str | None, Field(description="Another model.")] = None,
        effort: Effort = None,
        mode: Mode = None,
        unasked: Annotated[bool, Field(description="The person wants that it changes things without asking.")] = False,
    ) -> dict[str, Any]:
        """Switch a session's model, effort or mode, one of them, for this session only. Declined while it works."""
        action = await ask(_action, model, effort, mode, unasked)
        if effort is not None and await ask(_in_terminal, desk, session):
            return await _anew(desk, session, effort, Telling(context, UP_S))
        body: dict[str, Any] = {"kind": "session.steer", "action": action}
        if mode is not None:
            body["environment"] = environment()
        return await given_to(desk, session, body, Telling(context, STEERED_S), takes_s=STEERED_S)

    @server.tool(annotations=SENDS)
    async def session_interrupt(session: Name, context: Context) -> dict[str, Any]:
        """End the turn that a session is at; the session stays."""
        body: dict[str, Any] = {"kind": "session.steer", "action": {"op": "interrupt"}}
        return await given_to(desk, session, body, Telling(context, STEERED_S), takes_s=STEERED_S)

    @server.tool(annotations=SENDS)
    async def session_relaunch(session: Name, context: Context, *, effort: Effort = None) -> dict[str, Any]:
        """Start an ended or lost session's program anew, in its conversation where its tool can take that up."""
        found = await ask(named_session, desk, session)
        if live(found):
            raise ToolError(f"the session {found['name']} runs (not_finished). What helps: session_stop")
        return await _anew(desk, session, effort, Telling(context, UP_S))


def _action(model: str | None, effort: str | None, mode: str | None, unasked: bool) -> dict[str, Any]:
    """Return the one change that is asked for. Raises click.UsageError."""
    if sum(word is not None for word in (model, effort, mode)) != 1:
        raise click.UsageError("Give one of model, effort and mode.")
    if model is not None:
        return {"op": "model", "model": word_of(model, "model", 1024)}
    if effort is not None:
        return {"op": "effort", "effort": effort}
    if mode in ("edits", "yolo") and not unasked:
        raise click.UsageError(f"mode {mode} changes things without asking; only if the person wants that: unasked.")
    return {"op": "mode", "mode": mode, "yolo": unasked}


def _in_terminal(desk: Desk, token: str) -> bool:
    return named_session(desk, token)["transport"] in ("pty", "tmux")


async def _anew(desk: Desk, token: str, effort: str | None, telling: Telling) -> dict[str, Any]:
    """Have a session's program started anew; return it once it is up, or ``up`` false."""
    session, events, seen = await ask(_relaunch, desk, token, effort)
    start, deadline = Start(task=False), time.monotonic() + UP_S
    for event in seen:
        start.note(event)
    while start.exit_code == exit_codes.UNVERIFIED and start.trouble is None and until(deadline):
        await ask(note, start, events)
        await telling.tell(f"{session['name']} is starting")
    found = await ask(named_session, desk, str(session["session_id"]))
    if start.trouble is not None:
        raise failed(not_started(found, start.trouble))
    return {"session": session_row(found), "up": start.exit_code == exit_codes.DONE}


def _relaunch(desk: Desk, token: str, effort: str | None) -> tuple[Session, Events, list[Event]]:
    with desk.reach() as reach:
        found = named_session(desk, token)
        body = {"kind": "session.relaunch", "session": found["session_id"], "environment": environment()}
        events = Events(str(found["events_path"]), at_end=True)
        ran = live(found)
        reply = reach.request(body | ({"effort": effort} if effort is not None else {}))
    seen = events.more()
    if ran:  # what the ended program did last is none of the new one's
        last = max((place for place, event in enumerate(seen) if event.get("type") == "exited"), default=-1)
        seen = seen[last + 1 :]
    return dict(reply["session"]), events, seen
