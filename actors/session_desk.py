"""What the session commands do: from a command to its reply. Runs in a thread that may block."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import Any, assert_never

from ..lanes.secrets.values import redact
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import IsGiven, Plan, Planned, Reply, SessionIsAccepted, SessionViews
from ..messages.session import (
    Answer,
    SessionCommand,
    SessionRecord,
    SessionRelaunch,
    SessionRequest,
    SessionSend,
    SessionStart,
    SessionSteer,
    SessionStop,
    SetMode,
    SetModel,
    ViewSessions,
)
from ..messages.vocabulary import Effort
from ..state.errors import StateError
from ..state.ids import new_job_id
from ..state.session_folder import SessionFolder
from ..state.session_views import session_object
from ..state.store import Reader
from .base import ask
from .caller import caller_of, settings_of
from .denylist import check_denied
from .gate import Passed, Scope, pass_answer, pass_gate
from .host import decode_environment
from .in_flight import Flight, Flights, is_unknown
from .job_writing import read_plan_file
from .lane_book import LaneBook
from .leftovers import make_room
from .limit_book import refusal
from .model_book import known_models
from .recheck import GATE, Asks, dispatch_again
from .services import Services
from .session_anew import why_not_anew
from .session_asks import Give, Given, StopSession, ended
from .session_intake import SessionDraft, create_session, draft_session, preview_session, write_launch
from .session_mode import may_answer, may_set
from .session_names import session_actor
from .sessions import AdoptSession, RelaunchSession, StartSession

ASK_S = 30.0
END_S = 20.0
"""How long a session may take to end before it is started anew; the client waits a little longer."""
SHOWN_CHARS = 4000
"""So much of what was sent is kept in the journal."""
MARGIN_CHARS = 8192
"""So much behind it is looked at, too: a secret that is cut in two would not be known for one."""
PLAN = "plan.json"
STOPPED = "stopped on request"
"""Why a session that somebody ended by a command has ended."""
_GIVEN = "SELECT 1 FROM facts WHERE job_id = ? AND kind = 'session.given' AND json_extract(body, '$.send_id') = ?"


class SessionDesk:
    """See the module."""

    def __init__(self, services: Services, book: LaneBook) -> None:
        self.services = services
        self._book = book
        self._root = os.fspath(services.home.root)
        self._flights = Flights(services.directory, "sessions")

    def answer(self, command: SessionCommand) -> Reply:
        """Return the reply to one command."""
        match command:
            case SessionStart(request=request):
                return self._start(request, dry_run=command.dry_run)
            case SessionSend():
                return self._send(command)
            case SessionSteer():
                return self._steer(command)
            case SessionRelaunch():
                return self._relaunch(command)
            case SessionStop(session=session):
                return self._stop(session)
            case ViewSessions():
                return self._views(command)
            case _:
                assert_never(command)

    def live(self) -> int:
        """Return how many sessions are in the middle of something."""
        with Reader(self.services.home.database) as reader:
            busy = sum(row.get("state") not in ("idle", "unknown") for row in reader.live_sessions())
        return busy + self._flights.waiting()

    # --- starting

    def _start(self, request: SessionRequest, *, dry_run: bool) -> Reply:
        if self.services.stopping.is_set():
            return Refused(code=RefusalCode.STOPPING, message="the supervisor is stopping", hint="try again")
        if dry_run:
            services, weigh = self.services, self.services.budgets.weighing()
            lanes, models, limits = self._book.registry(), services.models, services.limits
            return planned(preview_session(request, services.home, lanes, models=models, limits=limits, weigh=weigh))
        asked = request.session_id or new_job_id(time.time(), os.urandom(6))
        request = request.model_copy(update={"session_id": asked})
        return self._flights.once(
            asked,
            lambda: self._asked_before(asked),
            lambda flight: (
                make_room(SessionFolder(self.services.home.session_dir(asked)), self.services)
                or self._started(request, flight)
            ),
        )

    def _started(self, request: SessionRequest, flight: Flight) -> Reply:
        home, lanes, models = self.services.home, self._book.registry(), self.services.models
        limits = self.services.limits
        draft = draft_session(request, home, lanes, models=models, limits=limits)
        if not isinstance(draft, Refused):
            draft = self.services.admission.admit(draft.settings) or draft
        if isinstance(draft, Refused):
            return draft
        if request.task is None:
            return self._begin(draft, flight)
        held = request.session_id or os.urandom(8).hex()
        model, book = draft.resolved.model, self.services.budgets
        try:
            full = book.admit(held, draft.billing.kind, model, request.task, draft.settings)
            return full or self._room(held, draft.lane.name, model) or self._begin(draft, flight)
        finally:
            limits.give_back(held)  # from its commit on, the store counts it
            book.drop(held)

    def _room(self, held: str, lane: str, model: str | None) -> Refused | None:
        """Hold one run of the model's quotas for one prompt, or refuse."""
        full = self.services.limits.take(held, lane, model)
        return None if full is None else refusal(full, lane, model, pinned=False, waits=False)

    def _begin(self, draft: SessionDraft, flight: Flight) -> Reply:
        request = draft.request
        record, folder = create_session(draft, self.services.home, umask=self.services.umask, road=self.services.road)
        try:
            folder.write_json(PLAN, draft.plan.model_dump(mode="json"))
        except StateError:
            folder.remove()
            raise
        named = request.name is not None
        self.services.heartbeat_watch.launched(draft.settings, draft.environment)
        answer = ask(self.services.directory.find("sessions"), StartSession(record, named), ASK_S, flight.port)
        if isinstance(answer, Refused):
            if is_unknown(answer):  # it may be taken yet
                flight.undo, flight.taken = folder.remove, lambda: self._row(record.session_id) is not None
            else:
                folder.remove()
            return answer
        return self._accepted(answer, draft)

    def _accepted(self, record: SessionRecord, draft: SessionDraft) -> Reply:
        return SessionIsAccepted(session=self._object(record.model_dump(mode="json")), plan=draft.plan)

    def _asked_before(self, session_id: str) -> Reply | None:
        """Return the answer to a request that was taken already, though the client never heard of it."""
        row = self._row(session_id)
        if row is None:
            return None
        plan = read_plan_file(self.services.home.session_dir(session_id) / PLAN)
        if plan is None:
            message = f"session {session_id} was taken, but its plan can't be read"
            return Refused(code=RefusalCode.STATE_DAMAGED, message=message, hint="osrc session list")
        return SessionIsAccepted(session=self._object(row), plan=plan)

    def _row(self, session_id: str) -> dict[str, Any] | None:
        with Reader(self.services.home.database) as reader:
            return reader.session(session_id)

    def _relaunch(self, command: SessionRelaunch) -> Reply:
        record = self._record(command.session)
        if not isinstance(record, Refused) and not record.state.ended and command.effort is not None:
            record = self._ended_for(record, command.effort)
        if isinstance(record, Refused):
            return record
        if not record.state.ended:
            message = f"the session {record.name} runs"
            return Refused(code=RefusalCode.NOT_FINISHED, message=message, hint=f"osrc session stop {record.name}")
        request = SessionRequest(
            lane=record.lane,
            transport=record.transport,
            model=record.model,
            effort=command.effort or record.effort,
            cwd=record.cwd,
            continues=record.session_id if record.conversation is not None else None,
            captain=record.captain,
            environment=command.environment,
        )
        draft = draft_session(request, self.services.home, self._book.registry(), models=self.services.models)
        if isinstance(draft, Refused):
            return draft
        folder = SessionFolder(self.services.home.session_dir(record.session_id))
        attempt = record.attempt + 1
        write_launch(
            folder,
            draft,
            self.services.home,
            attempt=attempt,
            first=record.given + 1,
            umask=self.services.umask,
            road=self.services.road,
        )
        again = RelaunchSession(record.session_id, attempt, command.effort)
        self.services.heartbeat_watch.launched(draft.settings, draft.environment)
        answer = ask(self.services.directory.find("sessions"), again, ASK_S)
        return answer if isinstance(answer, Refused) else self._accepted(answer, draft)

    def _ended_for(self, record: SessionRecord, effort: Effort) -> SessionRecord | Refused:
        """End a session that is to go on in its conversation with another effort; refuse one that could not."""
        lane = self._book.registry().get(record.lane)
        refused = lane if isinstance(lane, Refused) else why_not_anew(record, lane, effort)
        if refused is not None:
            return refused
        asked = self._ask(record.session_id, StopSession(f"started anew with effort {effort}"))
        if isinstance(asked, Refused):
            return asked
        deadline = time.monotonic() + END_S
        while time.monotonic() < deadline:
            found = self._record(record.session_id)
            # Its actor is gone last: then its name is free.
            gone = self.services.directory.find(session_actor(record.session_id)) is None
            if isinstance(found, Refused) or (found.state.ended and gone):
                return found
            time.sleep(0.05)
        message = f"the session {record.name} is slow to end"
        hint = f"osrc session relaunch {record.session_id} --effort {effort}  (once it has)"
        return Refused(code=RefusalCode.NOT_FINISHED, message=message, hint=hint)

    # --- giving

    def _send(self, command: SessionSend) -> Reply:
        permit = self._pass(command)
        if isinstance(permit, Refused):
            return permit
        entry = {"text": command.text, "interrupt": command.interrupt}
        give = Give(command.send_id, "send", entry, shown_text(command.text), len(command.text))
        try:
            given = self._full(command) or self._give(command.session, give)
        finally:
            self.services.limits.give_back(command.send_id)
        return given.model_copy(update={"disclosure": permit.disclosure}) if isinstance(given, IsGiven) else given

    def _full(self, command: SessionSend) -> Refused | None:
        """Refuse what a quota or the budget has no room for, unless it was given before: it is not given again."""
        record = self._record(command.session)
        if isinstance(record, Refused):
            return record
        settings = settings_of(decode_environment(command.environment))  # they were read before, at the gate
        money = self.services.budgets.admit(record.session_id, record.paid, record.model, command.text, settings)
        refused = money or self._room(command.send_id, record.lane, record.model)
        if refused is None:
            return None
        with Reader(self.services.home.database) as reader:
            known = reader.select(_GIVEN, (command.session, command.send_id))
        return None if known else refused

    def _pass(self, command: SessionSend) -> Passed | Refused:
        """Let what is sent pass the gate: its words, and what the session may read by now."""
        record = self._record(command.session)
        if isinstance(record, Refused):
            return record
        lane = self._book.registry().get(record.lane)
        if isinstance(lane, Refused):
            return lane
        caller = caller_of(command.environment)
        if isinstance(caller, Refused):
            return caller
        home = self.services.home
        kept = SessionFolder(home.session_dir(record.session_id)).read_json(GATE) or {}
        again = dispatch_again(kept, Asks.session(record, 0), lane, home)
        return pass_gate(
            replace(
                again,
                scope=replace(again.scope, texts=(command.text,)),
                environment=caller.environment or again.environment,
                settings=caller.settings,
                cloud_ack=command.cloud_ack,
                keep=True,
            )
        )

    def _may_answer(self, session_id: str, words: str) -> Refused | None:
        record = self._record(session_id)
        if isinstance(record, Refused):
            return record
        lane = self._book.registry().get(record.lane)
        if isinstance(lane, Refused):
            return lane
        home = self.services.home
        kept = SessionFolder(home.session_dir(record.session_id)).read_json(GATE) or {}
        again = dispatch_again(kept, Asks.session(record, 0), lane, home)
        return pass_answer(replace(again, scope=Scope(texts=(words,))))

    def _may_switch(self, command: SessionSteer) -> Refused | None:
        """Refuse to switch to a model of the person's denylist."""
        record = self._record(command.session)
        if isinstance(record, Refused) or not isinstance(command.action, SetModel):
            return record if isinstance(record, Refused) else None
        caller = caller_of(command.environment)
        if isinstance(caller, Refused):
            return caller
        known = known_models(self.services.models, self._book.registry().tiers(record.lane), caller.settings)
        return check_denied(record.lane, command.action.model, caller.settings, known)

    def _steer(self, command: SessionSteer) -> Reply:
        fields = command.action.model_dump(mode="json")
        op = str(fields.pop("op"))
        if isinstance(command.action, SetModel) and (wrong := self._may_switch(command)) is not None:
            return wrong
        if isinstance(command.action, SetMode) and (wrong := may_set(command.action, command.environment)) is not None:
            return wrong
        if isinstance(command.action, Answer) and (wrong := may_answer(command.environment)) is not None:
            return wrong
        words = command.action.choice if isinstance(command.action, Answer) else ""
        if words and (refused := self._may_answer(command.session, words)) is not None:
            return refused
        shown = shown_text(words) if words else json.dumps(fields)
        return self._give(command.session, Give(command.send_id, op, fields, shown=shown, chars=len(words)))

    def _give(self, session_id: str, give: Give) -> Reply:
        answer = self._ask(session_id, give)
        if not isinstance(answer, Given):
            return answer
        return IsGiven(session_id=session_id, number=answer.number, send_id=give.send_id, repeated=answer.repeated)

    def _stop(self, session_id: str) -> Reply:
        record = self._record(session_id)
        if isinstance(record, Refused):
            return record
        if not record.state.ended:
            answer = self._ask(session_id, StopSession(STOPPED))
            if isinstance(answer, Refused) and answer.code is not RefusalCode.SESSION_ENDED:
                return answer
        return self._views(ViewSessions(session=session_id))

    def _ask(self, session_id: str, body: object) -> Given | Refused:  # noqa: PLR0911 - one refusal after the other
        """Ask a session's actor; one that nobody looks after is taken up first."""
        record = self._record(session_id)
        if isinstance(record, Refused):
            return record
        if record.state.ended:
            return ended(record)
        handle = self.services.directory.find(session_actor(session_id))
        if handle is None:
            adopted = ask(self.services.directory.find("sessions"), AdoptSession(session_id), ASK_S)
            if isinstance(adopted, Refused):
                return adopted
            handle = self.services.directory.find(session_actor(session_id))
        if handle is None and (over := self._over(session_id)) is not None:
            return over
        if handle is None:
            message = f"another supervisor looks after the session {record.name}"
            return Refused(code=RefusalCode.SUPERVISOR_BUSY, message=message, hint="osrc supervisor status")
        answer: Given | Refused = ask(handle, body, ASK_S)
        if isinstance(answer, Refused) and answer.code is RefusalCode.STOPPING:
            return self._over(session_id) or answer
        return answer

    def _over(self, session_id: str) -> Refused | None:
        """Say that it has ended, if it has: its actor leaves with it, and may do so while it is asked."""
        now = self._record(session_id)
        return ended(now) if isinstance(now, SessionRecord) and now.state.ended else None

    # --- looking

    def _views(self, command: ViewSessions) -> Reply:
        with Reader(self.services.home.database) as reader:
            if command.session is None:
                rows, omitted = reader.sessions(command.limit)
                return SessionViews(sessions=tuple(map(self._object, rows)), omitted=omitted)
            found = reader.resolve_session(command.session)
        if len(found) > 1:
            some = ", ".join(str(row["session_id"]) for row in found[:5])
            message = f"{command.session!r} could be any of {len(found)} sessions: {some}"
            return Refused(code=RefusalCode.AMBIGUOUS_SESSION, message=message, hint="give more of the id")
        if not found:
            return no_such_session(command.session)
        return SessionViews(sessions=(self._object(found[0]),))

    def _object(self, row: dict[str, object]) -> dict[str, object]:
        return session_object(row, self._root, time.time())

    def _record(self, session_id: str) -> SessionRecord | Refused:
        with Reader(self.services.home.database) as reader:
            row = reader.session(session_id)
        return no_such_session(session_id) if row is None else SessionRecord.model_validate(row)


def planned(plan: Plan | Refused) -> Reply:
    """Return the reply to a dry run."""
    return plan if isinstance(plan, Refused) else Planned(plan=plan)


def shown_text(text: str) -> str:
    """Return what the journal may keep of a text: its beginning, without secret values."""
    return redact(text[: SHOWN_CHARS + MARGIN_CHARS])[0][:SHOWN_CHARS]


def no_such_session(token: str) -> Refused:
    """Return the refusal for what names no session."""
    message = f"there is no session {token!r}"
    return Refused(code=RefusalCode.NO_SUCH_SESSION, message=message, hint="osrc session list")
