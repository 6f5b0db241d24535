"""Tools for sessions: a live delegate that is read and steered as it works."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Annotated, Any, get_args

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from ...messages.session import Transport
from ...state.ids import new_job_id
from .. import exit_codes
from ..errors import CliError
from ..render.plan import disclosure
from ..session_events import Event, Events, open_question
from ..session_giving import NOT_TAKEN, Receipt, concluded, give, see, see_end, settled
from ..session_parts import Start, continued, screen_text
from ..sessions import Session, captain, live, named
from ..submit import environment, folder_of, lane_of, word_of
from .asking import POLL_S, Telling, ask, bound, failed
from .bounds import EVENTS, UNTRUSTED, event_rows, session_row
from .choices import OneOf
from .desk import Desk, flags, task_text, until
from .job_tools import ENDS, READS, STARTS, Effort, Folder, Lane, Model

SENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)
STEP_S = 1.0
STOP_S = 30.0
TAKES_S = 20.0
"""How long it is watched until a session has what it was given."""

BUSY_S = 2.0
"""The same for one that is at work: it gets it later."""

Name = Annotated[str, Field(description="The session's name or id, as session_start returned it.")]
Wait = Annotated[
    float, Field(description="Wait for the end of the turn, at most so many seconds (50). 0: until it is taken.")
]


def add(server: MCPServer, desk: Desk) -> None:
    """Register them."""
    _starting(server, desk)
    _reading(server, desk)
    _steering(server, desk)


def _starting(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=STARTS)
    async def session_start(  # noqa: PLR0913 - by name
        context: Context,
        *,
        task: Annotated[str | None, Field(description="The first task; more are sent with session_send.")] = None,
        name: Annotated[str | None, Field(description="A name for it.")] = None,
        model: Model = None,
        lane: Lane = None,
        effort: Effort = None,
        cwd: Folder = None,
        transport: Annotated[
            Annotated[str, OneOf(get_args(Transport))] | None, Field(description="Usually left out.")
        ] = None,
        continues: Annotated[
            str | None, Field(description="An ended job or session whose conversation goes on.")
        ] = None,
    ) -> dict[str, Any]:
        """Start a live delegate: read what it does, send it words, answer what it asks. The usual way to delegate.

        Returns once it is up, or after some 45 s with up false: then read it. Read it again every minute or two.
        """
        given = {"model": model, "lane": lane, "effort": effort, "cwd": cwd, "name": name}
        made = await ask(_start, desk, given, task, transport, continues)
        plan, session, events = made
        start, telling = Start(task=task is not None), Telling(context, TAKES_S + 25)
        deadline = time.monotonic() + TAKES_S + 25
        while start.exit_code == exit_codes.UNVERIFIED and start.trouble is None and until(deadline):
            await ask(note, start, events)
            await telling.tell(f"{session['name']} is starting")
        found = await ask(named_session, desk, str(session["session_id"]))
        if start.trouble is not None:
            raise failed(not_started(found, start.trouble))
        if start.exit_code == exit_codes.REFUSED:
            raise failed(CliError("bad_request", f"{found['name']} is up, but its task was refused", "session_read"))
        row = {"session": session_row(found), "up": start.exit_code == exit_codes.DONE}
        leaves = disclosure(plan)
        return row | ({"disclosure": leaves} if leaves else {})


def _reading(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=READS)
    async def session_read(
        session: Name,
        *,
        since: Annotated[int, Field(ge=0, description="Only events after this number: the cursor of last time.")] = 0,
        screen: Annotated[bool, Field(description="Also what its terminal shows (terminal sessions).")] = False,
    ) -> dict[str, Any]:
        """What a session says, does and asks, as events; cursor is what to give as since the next time.

        ask is a question that waits for session_answer: unanswered, the session stands still.
        """
        found, events, shown = await ask(_read, desk, session, screen)
        news = [event for event in events if event["seq"] > since]
        cursor = events[-1]["seq"] if events else since
        row = {"session": session_row(found), "events": event_rows(news[-EVENTS:]), "cursor": cursor}
        row |= {"left_out": max(0, len(news) - EVENTS), "what_it_is": UNTRUSTED}
        asked = open_question(events) if live(found) else None
        row["ask"] = event_rows([asked])[0] if asked else None
        return row | ({"screen": shown} if shown is not None else {})


def _steering(server: MCPServer, desk: Desk) -> None:
    @server.tool(annotations=SENDS)
    async def session_send(
        session: Name,
        text: Annotated[str, Field(description="What to say to it: a task, an answer, a correction.")],
        context: Context,
        *,
        interrupt: Annotated[bool, Field(description="End the turn that runs first.")] = False,
        wait_s: Wait = 0.0,
    ) -> dict[str, Any]:
        """Give a session words, and begin a turn. One that is at work gets them when its turn has ended."""
        body = {"kind": "session.send", "text": await ask(task_text, text), "interrupt": interrupt}
        return await given_to(desk, session, body, Telling(context, max(TAKES_S, bound(wait_s))), wait_s=wait_s)

    @server.tool(annotations=SENDS)
    async def session_answer(
        session: Name,
        choice: Annotated[
            str, Field(description="An option's number or label; yes, always or no; or words asked for.")
        ],
        context: Context,
        *,
        request: Annotated[str | None, Field(description="Only if this is what it asks.")] = None,
    ) -> dict[str, Any]:
        """Answer what a session asks: a permission, a choice, a question. Read what it asks first."""
        action = {"op": "answer", "choice": choice, "request": request}
        body = {"kind": "session.steer", "action": action, "environment": environment()}
        return await given_to(desk, session, body, Telling(context, TAKES_S))

    @server.tool(annotations=ENDS)
    async def session_stop(session: Name) -> dict[str, Any]:
        """End a session and every process it started. Harmless for one that has ended."""
        found, deadline = await ask(_stop, desk, session), time.monotonic() + STOP_S
        while live(found) and until(deadline):
            await anyio.sleep(POLL_S)
            found = await ask(named_session, desk, str(found["session_id"]))
        return {"session": session_row(found)}


def _start(
    desk: Desk, given: dict[str, Any], task: str | None, transport: str | None, continues: str | None
) -> tuple[dict[str, Any], Session, Events]:
    values = flags(given)
    with desk.reach() as reach:
        request = {
            "session_id": new_job_id(time.time(), os.urandom(6)),
            "name": word_of(given["name"], "name", 64),
            "model": word_of(values["model"], "model", 1024),
            "lane": lane_of(desk.options, values),
            "transport": transport,
            "effort": values["effort"],
            "cwd": folder_of(values["cwd"]),
            "task": None if task is None else task_text(task),
            "label": None,
            "continues": continued(reach, continues),
            "captain": captain(os.environ),
            "trust_lane": False,
            "cloud_ack": desk.options.cloud_ack,
            "environment": environment(),
        }
        reply = reach.request({"kind": "session.start", "request": request, "dry_run": False})
    session = dict(reply["session"])
    return reply.get("plan") or {}, session, Events(str(session["events_path"]))


def note(start: Start, events: Events) -> None:
    """Take what was news of a session into account, how its start goes; waits a moment where there is none."""
    news = events.more()
    for event in news:
        start.note(event)
    if not news:
        time.sleep(0.1)


def not_started(found: Session, trouble: str) -> CliError:
    """Return the failure of a session that did not start."""
    log = f"{os.path.dirname(str(found['events_path']))}/err.log"  # noqa: PTH120 - no pathlib in the front end
    return CliError("session_ended", f"the session {found['name']} did not start: {trouble}", f"its stderr is in {log}")


def named_session(desk: Desk, token: str) -> Session:
    """Return the session that a name or id means. Raises CliError."""
    with desk.reach() as reach:
        return named(reach, token)


def _read(desk: Desk, token: str, screen: bool) -> tuple[Session, list[Event], str | None]:
    found = named_session(desk, token)
    events = Events(str(found["events_path"])).more()
    return found, events, screen_text(found) if screen else None


async def given_to(  # noqa: PLR0913 - by name
    desk: Desk, token: str, body: dict[str, Any], telling: Telling, *, wait_s: float = 0.0, takes_s: float = TAKES_S
) -> dict[str, Any]:
    """Give a session one thing; return what became of it, as far as was seen within the time. Raises ToolError."""
    found, receipt, events = await ask(_give, desk, token, body)
    busy = found.get("state") in ("working", "waiting-approval") and not body.get("interrupt")
    takes_s = BUSY_S if busy and body["kind"] == "session.send" else takes_s
    began, limit = time.monotonic(), bound(wait_s)
    await _watch(receipt, telling, lambda step: see(receipt, events, step), began + max(takes_s, limit), settled)
    if limit:
        await _watch(receipt, telling, lambda step: see_end(receipt, events, step), began + limit, concluded)
    shown: dict[str, Any] = {"session": found["name"], "number": receipt.number, "delivery": receipt.delivery}
    shown |= {"reason": receipt.reason, "end": None, "ask": None}
    for key, event in (("end", receipt.end), ("ask", receipt.ask)):
        shown[key] = event_rows([event])[0] if event else None
    if receipt.delivery in NOT_TAKEN:
        reason = receipt.reason or "no reason was given"
        raise failed(CliError("bad_request", f"{found['name']}: {receipt.delivery}: {reason}", "session_read"))
    return shown


async def _watch(
    receipt: Receipt,
    telling: Telling,
    step: Callable[[float], Receipt],
    deadline: float,
    done: Callable[[Receipt], bool],
) -> None:
    while not done(receipt) and until(deadline):
        await ask(step, min(STEP_S, until(deadline)))
        await telling.tell(receipt.delivery)


def _give(desk: Desk, token: str, body: dict[str, Any]) -> tuple[Session, Receipt, Events]:
    with desk.reach() as reach:
        found = named(reach, token)
        if body["kind"] == "session.send":
            body |= {"cloud_ack": desk.options.cloud_ack, "environment": environment()}
        receipt, events = give(reach, found, body)
        return found, receipt, events


def _stop(desk: Desk, token: str) -> Session:
    with desk.reach() as reach:
        session_id = str(named(reach, token)["session_id"])
        reach.request({"kind": "session.stop", "session": session_id})
        return named(reach, session_id)
