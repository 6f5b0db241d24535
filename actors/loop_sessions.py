"""The slow half of a loop whose laps are turns of a session: starting it, sending to it, seeing what came of it.

All of it goes through the same desk as a person's own commands, and so through the same gate. Everything here can be
repeated: a session is known by its id, and what is sent by an id of the loop's step, so that it is given once.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from ..messages.job import JobRequest
from ..messages.loop import LoopRecord, LoopStep
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Planned, Reply
from ..messages.session import (
    Interrupt,
    SessionRecord,
    SessionRelaunch,
    SessionRequest,
    SessionSend,
    SessionStart,
    SessionSteer,
    SessionStop,
    SetMode,
)
from ..messages.vocabulary import JobState, SessionMode, SessionState, Verb
from ..state.home import Home
from ..state.ledger import NANO
from ..state.reader import Reader
from ..state.session_folder import EVENTS, SessionFolder
from .base import log
from .leftovers import is_in_the_way
from .loop_turn import Turn
from .services import Services
from .session_desk import STOPPED, SessionDesk
from .session_intake import draft_session
from .session_names import session_actor
from .session_reading import Tail

POLL_S = 0.25
WATCH_S = 20.0
"""How long one thread watches a turn before it looks at the loop's record again."""
LEAVE_S = 10.0
STOP_AFTER_S = 20.0
"""A turn that was interrupted for its time and goes on for so long has its session stopped."""
MODES = {Verb.EDIT: SessionMode.EDITS, Verb.YOLO: SessionMode.YOLO}
"""What a verb lets a session do unasked. Other verbs: it asks, as every session does."""
_POSTURES = {
    Verb.EDIT: "MUTATING (edits files unasked where its program has a mode for that; else it asks you)",
    Verb.YOLO: "EVERYTHING (asks nothing where its program has a mode for that; else it asks you)",
}
_GIVEN = "SELECT 1 FROM facts WHERE job_id = ? AND kind = 'session.given' AND json_extract(body, '$.send_id') = ?"
_SPENT = "SELECT spent, cash_nano FROM ledger WHERE job_id = ? AND attempt > ? AND attempt <= ?"


def send_id(record: LoopRecord, step: LoopStep) -> str:
    """Return by what the session knows a step's prompt again."""
    return f"{record.loop_id}:{step.number}"


def session_request(request: JobRequest, step: LoopStep | None = None) -> SessionRequest:
    """Return the session that a step's job would have been."""
    return SessionRequest(
        session_id=None if step is None else step.session_id,
        model=request.model,
        lane=request.lane,
        effort=request.effort,
        cwd=request.cwd,
        label=request.label,
        trust_lane=request.trust_lane,
        cloud_ack=request.cloud_ack,
        environment=request.environment,
    )


@dataclass(frozen=True, slots=True)
class Came:
    """What a turn came to."""

    state: JobState
    detail: str | None
    text: str
    session: SessionRecord | None
    turns: int
    taken: bool = False
    """Whether what was sent may have reached the program."""


@dataclass(frozen=True, slots=True)
class LoopSessions:
    """See the module. What blocks is called in threads of the loop's."""

    services: Services
    desk: SessionDesk

    def look(self, request: JobRequest) -> Reply:
        """Return the plan of such a session, or why there can't be one; nothing is started."""
        wanted = session_request(request)
        reply = self.desk.answer(SessionStart(request=wanted, dry_run=True))
        if not isinstance(reply, Planned):
            return reply
        if reply.plan.gate_open:
            posture = _POSTURES.get(request.verb, reply.plan.posture)
            return Planned(plan=reply.plan.model_copy(update={"posture": posture}))
        home, lanes = self.services.home, self.services.registry()
        shut = draft_session(wanted, home, lanes, models=self.services.models, limits=self.services.limits)
        if isinstance(shut, Refused):
            return shut
        return Refused(code=RefusalCode.STOPPING, message="the gate has just opened", hint="try again")

    def record(self, session_id: str | None) -> SessionRecord | None:
        """Return a session's record; None where there is none (any more)."""
        with Reader(self.services.home.database) as reader:
            row = reader.session(session_id or "")
        return None if row is None else SessionRecord.model_validate(row)

    # --- giving it a lap

    def is_given(self, record: LoopRecord, step: LoopStep) -> bool:
        """Whether a step's prompt was given already: then nothing is to be done but to watch."""
        with Reader(self.services.home.database) as reader:
            return bool(reader.select(_GIVEN, (step.session_id or "", send_id(record, step))))

    def is_in_the_way(self, step: LoopStep) -> bool:
        """Whether another id is to be taken, because what is in its folder is not the step's to use."""
        return is_in_the_way(_folder(self.services.home, step), lambda: self.record(step.session_id) is not None)

    def up(self, record: LoopRecord, step: LoopStep, request: JobRequest) -> SessionRecord | Refused:
        """Have the step's session there, in the mode that its verb grants; one that has ended is started anew."""
        found = self.record(step.session_id)
        if found is None:
            reply = self.desk.answer(SessionStart(request=session_request(request, step)))
        elif found.state.ended:
            self._until_left(found.session_id)
            reply = self.desk.answer(
                SessionRelaunch(session=found.session_id, environment=request.environment, effort=request.effort)
            )
        else:
            reply = None
        if isinstance(reply, Refused):
            return reply
        found = self.record(step.session_id)
        if found is None:
            return Refused(code=RefusalCode.STOPPING, message="the session is not there yet", hint="try again")
        if (mode := MODES.get(request.verb)) is not None and found.mode is not mode:
            self._allow(record, found, mode, request)
        return found

    def _until_left(self, session_id: str) -> None:
        """Wait until an ended session's actor has left: its name is free then."""
        deadline = time.monotonic() + LEAVE_S
        while self.services.directory.find(session_actor(session_id)) is not None and time.monotonic() < deadline:
            time.sleep(0.05)

    def _allow(self, record: LoopRecord, found: SessionRecord, mode: SessionMode, request: JobRequest) -> None:
        """Let it do what the loop's verb says. Where that is not granted it asks, and a person answers."""
        asked = SessionSteer(
            session=found.session_id,
            send_id=f"{record.loop_id}:mode:{found.attempt}",
            action=SetMode(mode=mode, yolo=True),
            environment=request.environment,
        )
        if isinstance(said := self.desk.answer(asked), Refused):
            log.warning("%s: its session stays in a mode that asks: %s", record.loop_id, said.message)

    def give(self, record: LoopRecord, step: LoopStep, text: str, request: JobRequest) -> Refused | None:
        """Send a lap's prompt, once."""
        reply = self.desk.answer(
            SessionSend(
                session=step.session_id or "",
                send_id=send_id(record, step),
                text=text,
                cloud_ack=request.cloud_ack,
                environment=request.environment,
            )
        )
        return reply if isinstance(reply, Refused) else None

    # --- watching it

    def watch(self, record: LoopRecord, step: LoopStep, until: float | None, stop: threading.Event) -> Came | None:
        """Return what a turn came to once it is over; None: it goes on. ``until`` (epoch seconds) is its bound."""
        turn = Turn(send_id(record, step))
        tail = Tail(_folder(self.services.home, step).path / EVENTS)
        began, late = time.monotonic(), False
        while True:
            events, more = tail.more()
            turn.read(events)
            if more:
                continue
            now = self.services.clock.now().wall
            found = self.record(step.session_id) if turn.over(now) or not events else None
            if found is None and (turn.over(now) or not events) and self._removed(step):
                return Came(JobState.CANCELED, "its session was removed", "", None, 0)
            if found is not None and _is_over(turn, found, now):
                return self._came(turn, found, late=until is not None and now >= until, canceled=stop.is_set())
            if until is not None and now >= until and not late:
                late = True
                self._cut(record, step, stopped=now - until > STOP_AFTER_S)
            if stop.is_set():
                self.stop(step.session_id)
            if time.monotonic() - began > WATCH_S or self.services.stopping.is_set():
                return None
            time.sleep(POLL_S)

    def _came(self, turn: Turn, found: SessionRecord, *, late: bool, canceled: bool) -> Came:
        state, why = turn.verdict()
        if found.state is SessionState.LOST and turn.end is None:
            why = found.reason or why
        cut = state in (JobState.INTERRUPTED, JobState.FAILED)
        if cut and canceled:
            state, why = JobState.CANCELED, "canceled on request"
        elif cut and late:
            state, why = JobState.TIMEOUT, "its time was over"
        elif cut and found.state.ended and found.reason == STOPPED:
            state, why = JobState.CANCELED, "its session was stopped"
        return Came(state, why, turn.text, found, turn.ends, turn.got)

    def _cut(self, record: LoopRecord, step: LoopStep, *, stopped: bool) -> None:
        """End a turn whose time is over; one that does not heed it has its session stopped."""
        if stopped:
            self.stop(step.session_id)
            return
        self.desk.answer(
            SessionSteer(
                session=step.session_id or "", send_id=f"{record.loop_id}:cut:{step.number}", action=Interrupt()
            )
        )

    def _removed(self, step: LoopStep) -> bool:
        return self.record(step.session_id) is None

    def spent(self, session_id: str, before: int, now: int) -> tuple[float | None, bool, int]:
        """Return the known cash of the turns after ``before`` up to ``now``, whether measured, and how many unknown."""
        with Reader(self.services.home.database) as reader:
            rows = reader.select(_SPENT, (session_id, before, now))
        known = [cash for spent, cash in rows if spent in ("measured", "estimated")]
        unknown = sum(spent == "unknown" for spent, _ in rows)
        measured = all(spent == "measured" for spent, _ in rows if spent in ("measured", "estimated"))
        return (sum(known) / NANO if known else None), measured, unknown

    # --- ending it

    def stop(self, session_id: str | None) -> bool:
        """Have a session ended, unless it has or is being ended. Whether it is ended, or going to be."""
        found = self.record(session_id)
        if found is None or found.state.ended or found.ending is not None:
            return True
        reply = self.desk.answer(SessionStop(session=found.session_id))
        return not isinstance(reply, Refused) or reply.code is RefusalCode.SESSION_ENDED

    def stop_others(self, record: LoopRecord, step: LoopStep) -> None:
        """Have those ended that a step's is not: a rung that was left, a seat that has spoken."""
        for session_id in {one.session_id for one in record.steps if one.session_id != step.session_id}:
            self.stop(session_id)

    def live(self, record: LoopRecord) -> list[str]:
        """Return the ids of the loop's sessions that still run."""
        ids = dict.fromkeys(step.session_id for step in record.steps if step.session_id is not None)
        found = [self.record(session_id) for session_id in ids]
        return [one.session_id for one in found if one is not None and not one.state.ended and one.ending is None]


def _folder(home: Home, step: LoopStep) -> SessionFolder:
    return SessionFolder(home.session_dir(step.session_id or ""))


def _is_over(turn: Turn, found: SessionRecord, now: float) -> bool:
    """Whether a turn is over, and its session's actor has read that far: what it spent is in the ledger then."""
    if found.state.ended:
        return True
    return turn.over(now) and found.turns >= turn.ends and not turn.exited
