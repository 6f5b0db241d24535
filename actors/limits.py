"""Lane health and quotas: the one writer of what limits are known, and the one verifier of those that are met.

However many jobs meet the limit of one pool together, it is verified once, marked once, and each of them is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ..messages.facts import LaneDown, LaneUp, LimitFact, QuotaCleared, QuotaExhausted, QuotaSet
from ..messages.internal import FactsCommitted, FactsRefused, LimitSettled
from ..state.limits import ANY, day_of
from .base import Actor, Handle, Query, ReplyPort, log
from .journal_writer import RESTARTING, JournalWriter
from .services import Services
from .tree import in_background

STATED_GRACE_S = 60.0
"""How long after the reset that a vendor named a lane is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitMet:
    """Job → Limits: the delegate ended with its plan's limit. Answered by ``limit.settled``."""

    to: Handle
    key: str
    lane: str
    model: str
    """The model's key."""
    reason: str
    until: float | None
    """Epoch seconds of the reset that was named, if one was."""
    own_word: bool
    """Whether the CLI's own final event said so, and not only words on its way out."""
    gauge: float | None = None
    """How far the fullest window of the plan was used (1.0 is all), as the stream told it."""
    short_s: float = 300.0
    """How long an unverified mark lasts."""
    estimate_s: float = 3600.0
    """How long one lasts that names no reset."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What is true of a limit that somebody met."""

    verdict: Literal["confirmed", "unverified", "answered"]
    until: float | None = None
    """Epoch seconds, where the check found a better time than the one that was named."""


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """Gateway → Limits: journal these facts. Answered ``True`` once they are on disk, or refused."""

    facts: tuple[LimitFact, ...]


@dataclass(frozen=True, slots=True)
class _Checked:
    """The verification of a key has ended."""

    key: str
    found: Verified


Verifier = Callable[[LimitMet], Verified]


def verify(met: LimitMet) -> Verified:
    """Judge by what the vendor itself said: its final event or its gauge; words alone are not verified.

    Nothing is sent to find out: that would spend what may be left.
    """
    if met.own_word or (met.gauge is not None and met.gauge >= 1.0):
        return Verified("confirmed")
    if met.gauge is not None:
        return Verified("answered")
    return Verified("unverified")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """Who waits for facts on their way to the disk."""

    port: ReplyPort | None = None
    key: str | None = None
    """Whose mark it is: those who met that limit."""


class Limits(Actor):
    """See the module."""

    def __init__(self, *, services: Services, check: Verifier = verify, **common: Any) -> None:  # noqa: ANN401  the base class's
        super().__init__(**common)
        self.services = services
        self._check = check
        self._writer: JournalWriter[_Waiting] = JournalWriter(self, next(services.epochs))
        self._waiting: dict[str, list[LimitMet]] = {}
        """Key → who waits for its verification, the first of them being what is verified."""
        self._found: dict[str, LimitSettled] = {}

    def receive(self, message: object) -> None:
        """One flat match over what Limits can be told."""
        match message:
            case LimitMet():
                self._met(message)
            case _Checked(key=key, found=found):
                self._checked(key, found)
            case ChangeLimits(facts=facts):
                port = self.query.port if isinstance(self.query, Query) else None
                if not self._writer.append(facts, _Waiting(port=port), may_wait=False) and port is not None:
                    port.set(RESTARTING)
            case FactsCommitted(token=token):
                self._committed(token)
            case FactsRefused(token=token, refusal=refusal):
                waiting = self._writer.settled(token)
                if waiting is not None and waiting.port is not None:
                    waiting.port.set(refusal)
            case _:
                super().receive(message)

    def _met(self, met: LimitMet) -> None:
        if met.key in self._waiting:
            self._waiting[met.key].append(met)
            return
        known = self.services.limits.mark(met.key)
        if known is not None and (met.until is None or met.until <= known.until):
            met.to.tell(LimitSettled(key=met.key, verdict=known.evidence, until=known.until))
            return
        self._waiting[met.key] = [met]
        in_background(
            f"limit:{met.key}",
            self.handle,
            lambda: _Checked(met.key, self._check(met)),
            otherwise=_Checked(met.key, Verified("unverified")),
        )

    def _checked(self, key: str, found: Verified) -> None:
        """Journal one mark for all who wait, or tell them at once that there is none."""
        waiting = self._waiting.get(key)
        if not waiting:
            return
        first, now = waiting[0], self.services.clock.now().wall
        if found.verdict == "answered":
            log.info("%s: words of a limit, but its gauge is not full: not marked", key)
            self._settle(key, LimitSettled(key=key, verdict="answered", until=None))
            return
        stated = found.until or max((met.until for met in waiting if met.until is not None), default=None)
        if found.verdict == "confirmed":
            until = stated + STATED_GRACE_S if stated is not None else now + first.estimate_s
        else:
            until = now + first.short_s
        facts: list[LimitFact] = [
            LaneDown(key=key, lane=first.lane, until=until, reason=first.reason, evidence=found.verdict)
        ]
        facts += self._exhausted({(met.lane, met.model) for met in waiting}, stated, now)
        self._found[key] = LimitSettled(key=key, verdict=found.verdict, until=until)
        self._writer.append(facts, _Waiting(key=key))

    def _exhausted(self, runs: set[tuple[str, str]], stated: float | None, now: float) -> list[LimitFact]:
        """Return what a real refusal says of the quotas that these runs fall under."""
        facts: list[LimitFact] = []
        for quota in self.services.limits.quotas():
            lanes = [lane for lane, model in runs if quota.covers(lane, model)]
            if lanes and quota.lane != ANY:  # one lane's refusal says nothing of the model's other lanes
                _, ends = day_of(now, *((self.services.limits.zone,) if quota.zone == "local" else ()))
                facts.append(QuotaExhausted(lane=quota.lane, model=quota.model, until=stated or ends))
        return facts

    def _committed(self, token: int) -> None:
        self.services.limits.forget()
        waiting = self._writer.settled(token)
        if waiting is None:
            return
        if waiting.port is not None:
            waiting.port.set(True)
        if waiting.key is not None and (settled := self._found.pop(waiting.key, None)) is not None:
            self._settle(waiting.key, settled)

    def _settle(self, key: str, settled: LimitSettled) -> None:
        for met in self._waiting.pop(key, ()):
            met.to.tell(settled)


def cleared(keys: list[str], quotas: list[tuple[str, str]]) -> ChangeLimits:
    """Return the change that takes back marks and quotas."""
    marks = [LaneUp(key=key, why="cleared on request") for key in keys]
    return ChangeLimits((*marks, *(QuotaCleared(lane=lane, model=model) for lane, model in quotas)))


def quota(lane: str, model: str, per_day: int, zone: Literal["utc", "local"]) -> ChangeLimits:
    """Return the change that sets a quota."""
    return ChangeLimits((QuotaSet(lane=lane, model=model, per_day=per_day, zone=zone),))
