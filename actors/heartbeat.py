"""Watches all work for whoever is in charge, and wakes them: once for each thing, and again while it stands.

It follows the journal, decides by ``state/alarm_machine.py``, journals what it decided, and only then hands a push to
the notifier's threads. Killed at any instant, the next one finds the alarms in the store, makes the pushes that are
owed, and none twice: each has a claim. Nothing waits for it: it is told of nothing that others depend on.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ..lanes.secrets.wording import guarded
from ..messages.alarm import (
    FLEET,
    AlarmAcknowledged,
    AlarmEnded,
    AlarmFact,
    AlarmRaised,
    AlarmRecord,
    AlarmTold,
    HeartbeatArmed,
    HeartbeatStopped,
    SinkTold,
)
from ..messages.internal import FactsCommitted, FactsRefused
from ..state.alarm_machine import Condition, End, Moment, Policy, applied, decide, fresh, next_due, worth_pushing
from ..state.alarms_reader import Beat, all_alarms, beat
from ..state.errors import StateError
from ..state.heartbeat_file import Arming, armed_by, joined, read_arming, replaced, write_arming
from ..state.job_machine import Now
from ..state.reader import Reader
from .alarm_watch import Watch
from .base import Actor, Query, ReplyPort, log
from .bearings_snapshot import BearingsSnapshot
from .feed import Feed
from .heartbeat_watch import Launched, watches
from .journal_writer import RESTARTING, JournalWriter
from .pushes import Pushes
from .services import Services
from .sinks import SINKS, Push

BREATH_S = 0.2
"""Least time between two looks at the journal: what comes together is looked at together."""
LOOK_SHARE, LONGEST_BREATH_S = 20.0, 2.0
"""Looking takes no more than a twentieth of a processor, as long as the pause for that is not too long."""
BEAT_S = 60.0
"""Longest time between two looks while anything lives, so that a sleep of the machine is noticed."""
ASLEEP_S = 30.0
"""When the clocks part by more than this, the machine slept."""
KEPT_ENDED_S = 86400.0
"""How long an alarm that has ended is kept in memory."""


@dataclass(frozen=True, slots=True)
class StartHeartbeat:
    """Gateway → Heartbeat: watch, and wake these. Answered ``True`` once journalled, or refused."""

    brought: Arming


@dataclass(frozen=True, slots=True)
class StopHeartbeat:
    """Gateway → Heartbeat: wake nobody. Answered ``True`` once journalled, or refused."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Gateway → Heartbeat: somebody knows of these alarms. Answered ``True`` once journalled, or refused."""

    alarm_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _LookDue:
    """The journal has something new, or it is time."""

    timed: bool = False


@dataclass(frozen=True, slots=True)
class _Told:
    """The notifier → us: what became of a push at one sink."""

    push: Push
    told: SinkTold


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Facts on their way to the disk, and who waits for that."""

    port: ReplyPort | None
    facts: tuple[AlarmFact, ...]


class Heartbeat(Actor):
    """See the module."""

    def __init__(
        self,
        *,
        services: Services,
        sinks: Mapping[str, Callable[[Push], SinkTold]] = SINKS,
        policy: Policy | None = None,
        environ: Mapping[str, str] = os.environ,
        **common: Any,  # noqa: ANN401 - the base class's
    ) -> None:
        super().__init__(**common)
        self.services = services
        self._environ = environ
        self._policy = policy or Policy()
        self._writer: JournalWriter[_Waiting] = JournalWriter(self, next(services.epochs))
        self._over = threading.Event()
        self._pushes = Pushes(services.home.root, self._hear, sinks)
        self._snapshot = BearingsSnapshot(services.home.root, self._word)
        self._watch = Watch(self._word)
        self._book: dict[str, AlarmRecord] = {}
        self._conditions: list[Condition] = []
        self._arming = Arming()
        self._beat: Beat | None = None
        self._wanted = watches(services.settings)
        """Whether settings let it watch."""
        self._upto = 0
        self._timer: int | None = None
        self._last: Now | None = None
        self._awake_since = 0.0
        self._breath_s = BREATH_S

    @property
    def _armed(self) -> bool:
        return self._wanted and self._beat is not None and self._beat.armed

    def started(self) -> None:
        """Take up what the last supervisor left: alarms, pushes that are owed, whom to wake."""
        services = self.services
        services.heartbeat_watch.heard = None
        services.heartbeat_watch.waiting = False
        self._arming = self._first_arming()
        with Reader(services.home.database) as reader:
            self._beat = beat(reader)
            for row in all_alarms(reader):
                with contextlib.suppress(ValidationError):
                    record = AlarmRecord.model_validate(row)
                    self._book[record.alarm_id] = record
            newest = reader.last_seq()
            self._upto = newest if self._beat is None else min(self._beat.upto, newest)
            self._watch.begin(reader, self._book, services.clock.now().wall)
        if self._beat is None and self._wanted:
            self._arm()
        self._resume()
        follower = threading.Thread(
            target=_follow,
            args=(services.feed, self._upto, self._over, lambda: self.handle.tell(_LookDue()), lambda: self._breath_s),
            name="heartbeat",
            daemon=True,
        )
        follower.start()
        self._look()

    def receive(self, message: object) -> None:
        """One flat match over what Heartbeat can be told."""
        match message:
            case _LookDue(timed=timed):
                self._timer = None if timed else self._timer
                self._look()
            case _Told(push=push, told=told):
                self._note(push, told)
            case Launched(brought=brought):
                self._launched(brought)
            case StartHeartbeat() | StopHeartbeat() | Acknowledge():
                self._asked(message)
            case FactsCommitted(token=token):
                self._committed(token)
            case FactsRefused(token=token, refusal=refusal):
                waiting = self._writer.settled(token)
                if waiting is not None and waiting.port is not None:
                    waiting.port.set(refusal)
            case _:
                super().receive(message)

    def stopping(self, reason: str) -> None:  # noqa: ARG002 - the same for every reason
        """Begin nothing more. Pushes that are owed stay so."""
        self.crashed()
        self.services.heartbeat_watch.waiting = False
        self.services.heartbeat_watch.seen.close()
        self.finished()

    def crashed(self) -> None:
        """End our threads. What all share stays: a successor may have set it already."""
        self._over.set()
        self._pushes.close()

    # --- looking

    def _look(self) -> None:
        now, began = self.services.clock.now(), time.thread_time()
        if self._last is not None and (now.wall - self._last.wall) - (now.mono - self._last.mono) > ASLEEP_S:
            log.info("the machine slept: soft alarms must hold anew")
            self._awake_since = now.wall
        self._last = now
        with Reader(self.services.home.database) as reader:
            self._upto, news = self._watch.follow(reader, self._upto, now.wall)
            self._conditions = self._watch.conditions(now.wall)
            self._snapshot.stale = self._snapshot.stale or news
            self._snapshot.draw(reader, now)
        self.services.heartbeat_watch.seen.running(self._watch.running, now.wall)
        if self._armed:
            self._decide(now)
        self._prune(now.wall)
        self._breath_s = min(max(BREATH_S, LOOK_SHARE * (time.thread_time() - began)), LONGEST_BREATH_S)
        self._schedule(now)

    def _decide(self, now: Now) -> None:
        moment = self._moment(now)
        made: list[AlarmFact] = []
        for decision in decide(self._book, self._conditions, moment, self._policy):
            if isinstance(decision, End):
                made.append(AlarmEnded(alarm_id=decision.alarm_id, why=decision.why))
            else:
                made.append(AlarmRaised(record=decision.record, upto=self._upto))
        told = self._arming.digest and moment.sinks
        if told and self._snapshot.due(self._last_digest(), self._arming.cadence_s, now):
            made.append(AlarmRaised(record=fresh(self._digest(now.wall), moment), upto=self._upto))
        if made:
            self._append(made)

    def _digest(self, now: float) -> Condition:
        return Condition(
            entity=FLEET,
            state="digest",
            kind="heartbeat-digest",
            since=now,
            once=True,
            passing=True,
            label="digest",
            summary=self._snapshot.pulse,
        )

    def _last_digest(self) -> tuple[str, float]:
        digests = (one for one in self._book.values() if one.state == "digest")
        newest = max(digests, key=lambda one: one.raised_at, default=None)
        if newest is None:
            return "", self._beat.at if self._beat is not None else 0.0
        return newest.generation, newest.raised_at

    def _schedule(self, now: Now) -> None:
        """Look again when something is due; and now and then while anything lives."""
        if self.actor_stopped.is_set():
            return  # set aside in the middle of a look: that is the successor's to say
        waits: list[float] = []
        if self._armed:
            due = next_due(self._book, self._conditions, self._moment(now), self._policy)
            waits += [max(0.05, due - now.wall)] if due is not None else []
        owed = any(record.owed for record in self._book.values())
        self.services.heartbeat_watch.waiting = self._armed and bool(waits or owed) and bool(self._arming.sinks)
        told = self._armed and self._arming.digest and bool(self._arming.sinks)
        last = self._last_digest() if told else (self._snapshot.generation, now.wall)
        waits += self._snapshot.waits(last, self._arming.cadence_s, now)
        opened = any(record.open for record in self._book.values())
        if opened or self._watch.running or self._snapshot.at_work:
            waits.append(BEAT_S)
        if self._timer is not None:
            self.services.clock.forget(self._timer)
        message = _LookDue(timed=True)
        least_s = self._breath_s if self._breath_s > BREATH_S else 0.0
        wait_s = max(min(*waits, BEAT_S), least_s) if waits else 0.0
        self._timer = self.services.clock.later(wait_s, self.handle, message) if waits else None

    def _moment(self, now: Now) -> Moment:
        return Moment(
            now=now.wall,
            awake_since=self._awake_since,
            sinks=bool(self._arming.sinks),
            generation=self._snapshot.generation,
        )

    def _prune(self, now: float) -> None:
        self._book = {
            name: record
            for name, record in self._book.items()
            if record.ended_at is None or record.owed or now - record.ended_at <= KEPT_ENDED_S
        }

    # --- whom to wake

    def _first_arming(self) -> Arming:
        """Return whom the last supervisor woke, and what this one's own settings say."""
        kept = self.services.heartbeat_watch.arming or read_arming(self.services.home) or Arming()
        try:
            return joined(kept, armed_by(self.services.settings, self._environ))
        except StateError as error:
            log.warning("the heartbeat's settings: %s", error.refusal.message)
            return kept

    def _launched(self, brought: Arming) -> None:
        """A job or session was taken: the first one arms us; its caller's sinks hold from now on."""
        self._wanted = True
        if self._beat is None:
            self._arm()
        self._take(joined(self._arming, brought))
        self.services.heartbeat_watch.heard = brought

    def _take(self, taken: Arming) -> None:
        if taken == self._arming:
            return
        self._arming = self.services.heartbeat_watch.arming = taken
        try:
            write_arming(self.services.home, taken)
        except StateError as error:
            log.warning("whom to wake can't be kept: %s", error.refusal.message)
        self._look()

    def _asked(self, message: StartHeartbeat | StopHeartbeat | Acknowledge) -> None:
        self.services.heartbeat_watch.heard = None
        match message:
            case StartHeartbeat(brought=brought):
                self._look()  # what happened before is not told, and this is how far before goes
                self._wanted = True
                self._take(replaced(self._arming, brought))
                self._arm(may_wait=False)
            case StopHeartbeat():
                self._append((HeartbeatStopped(),), may_wait=False)
            case Acknowledge(alarm_ids=alarm_ids):
                known = [name for name in alarm_ids if name in self._book]
                self._append([AlarmAcknowledged(alarm_id=name) for name in known], may_wait=False)

    def _arm(self, *, may_wait: bool = True) -> None:
        armed = self._beat is not None and self._beat.armed
        self._append(() if armed else (HeartbeatArmed(upto=self._upto),), may_wait=may_wait)

    # --- pushing

    def _resume(self) -> None:
        """Make the pushes that are owed and still worth it; forget the rest."""
        owed = [record for record in self._book.values() if record.owed]
        self._pushes.begin(owed)
        for record in owed:
            if worth_pushing(record) and self._armed:
                self._send(record)
            else:
                self._append((AlarmTold(alarm_id=record.alarm_id, push=record.pushes),))

    def _send(self, record: AlarmRecord) -> None:
        done = self._pushes.send(record, self._arming)
        if done is not None:
            self._append((done,))

    def _hear(self, push: Push, told: SinkTold) -> None:
        """In a thread of the notifier's: hand on what a sink said."""
        self.handle.tell(_Told(push, told))

    def _note(self, push: Push, told: SinkTold) -> None:
        now = self.services.clock.now()
        done = self._pushes.note(push, told)
        if done is not None:
            self._append((done,))
        trouble = self._pushes.trouble(told, self._arming, now.wall)
        if trouble is not None and self._armed:
            self._append((AlarmRaised(record=fresh(trouble, self._moment(now)), upto=self._upto),))
        self._schedule(now)  # what waited for this push has its time now

    # --- the journal

    def _append(self, facts: Sequence[AlarmFact], *, may_wait: bool = True) -> None:
        """Journal facts. What we decided holds at once, so that it is not decided twice; pushes wait for the disk.

        With ``may_wait`` False somebody waits for an answer, and it holds once it is on the disk.
        """
        port = self.query.port if isinstance(self.query, Query) and not may_wait else None
        if not facts:
            self.reply(True)
            return
        if may_wait:
            self._apply(facts)
        told = self._writer.append(facts, _Waiting(port, tuple(facts)), may_wait=may_wait)
        if not told and port is not None:
            port.set(RESTARTING)

    def _committed(self, token: int) -> None:
        waiting = self._writer.settled(token)
        if waiting is None:
            return
        port, facts = waiting.port, waiting.facts
        for fact in facts:
            if isinstance(fact, AlarmRaised) and fact.record.owed:
                self._send(fact.record)
            elif isinstance(fact, AlarmTold):
                self._pushes.done(fact)
        if port is not None:
            self._apply(facts)
            port.set(True)
            self._snapshot.stale = True
            self._look()

    def _apply(self, facts: Sequence[AlarmFact]) -> None:
        now = self.services.clock.now().wall
        for fact in facts:
            if isinstance(fact, HeartbeatArmed | HeartbeatStopped):
                self._beat = Beat(armed=isinstance(fact, HeartbeatArmed), upto=self._upto, at=now)
                continue
            name = fact.record.alarm_id if isinstance(fact, AlarmRaised) else fact.alarm_id
            changed = applied(self._book.get(name), fact, now)
            if changed is not None:
                self._book[name] = changed

    def _word(self, sentence: str) -> str:
        settings = self.services.settings
        return guarded(sentence, guard=settings.flag("vocab_guard"), aggressive=settings.flag("vocab_guard_aggressive"))


def _follow(
    feed: Feed, seq: int, over: threading.Event, ring: Callable[[], object], breath_s: Callable[[], float]
) -> None:
    """Ring whenever the journal has something new, with a breath in between. Runs until it is over."""
    while not over.is_set() and not feed.closed:
        newest = feed.wait(seq, 30.0)
        if newest > seq:
            seq = newest
            ring()
            over.wait(breath_s())
