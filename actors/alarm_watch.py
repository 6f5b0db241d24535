"""What needs somebody, kept up to date from the journal: facts say which records to look at again, records the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..messages.alarm import AlarmRecord
from ..state import views
from ..state.alarm_machine import Condition
from ..state.alarms_reader import STATE_FACTS, changed_at, drifted_at, loop_of
from ..state.attention import Word, job_condition, job_name, loop_condition, mark_condition, session_conditions
from ..state.limits import Mark
from ..state.limits_reader import marks
from ..state.loops_reader import loop
from ..state.reader import Reader

PAGE = 2000
_OTHER_FACTS = (
    "job.accepted", "job.launching", "job.ended", "job.outcome", "job.removed", "session.launching", "session.held",
    "session.observed", "session.ended", "session.removed", "limits.lane_down", "limits.lane_up", "store.rebuilt",
    "loop.ended",
)  # fmt: skip
KINDS = (*STATE_FACTS, *_OTHER_FACTS)
_RUNS = frozenset({"running", "stalled?", "exploring?", "no-progress-writes", "needs-answer"})


class Watch:
    """See the module. Belongs to one actor."""

    def __init__(self, word: Word) -> None:
        self._word = word
        self._held: dict[tuple[str, str], Condition] = {}
        self._passing: list[Condition] = []
        self._marks: list[Mark] = []
        self._running: dict[str, tuple[str, float]] = {}

    def begin(self, reader: Reader, book: Mapping[str, AlarmRecord], now: float) -> None:
        """Look at everything that lives, and at what alarms are about that stand though it has ended."""
        for record in reader.live():
            self._take_job(reader, record, None)
        for record in reader.live_sessions():
            self._take_session(reader, record, None)
        for alarm in book.values():
            if alarm.open and alarm.job_id is not None:
                self._look_at_job(reader, alarm.job_id, None)
        self._marks = marks(reader, now)

    def follow(self, reader: Reader, upto: int, now: float) -> tuple[int, bool]:
        """Look at what the facts after ``upto`` are about; return the newest fact, and whether there were any."""
        newest = reader.last_seq()
        changed: dict[str, tuple[str, float | None]] = {}
        listed = ", ".join("?" * len(KINDS))
        statement = f"SELECT seq, at, job_id, kind FROM facts WHERE seq > ? AND kind IN ({listed}) ORDER BY seq LIMIT ?"  # noqa: S608  our own words
        rows = reader.select(statement, (upto, *KINDS, PAGE))
        for _, at, owner, kind in rows:
            family = str(kind).partition(".")[0]
            if kind == "job.outcome":
                self._drop(f"job:{owner}")
            elif kind == "loop.ended":
                self._keep(loop_condition(loop(reader, str(owner)) or {}, self._word))
            elif owner is not None:
                known = changed.get(str(owner), (family, None))[1]
                changed[str(owner)] = family, float(at) if kind in STATE_FACTS else known
            else:
                self._marks = marks(reader, now)
        for owner, (family, at) in changed.items():
            look = self._look_at_session if family == "session" else self._look_at_job
            look(reader, owner, at)
        return (int(rows[-1][0]) if len(rows) == PAGE else max(newest, upto)), bool(rows)

    def conditions(self, now: float) -> list[Condition]:
        """Return what is so now. What passes is told a single time."""
        passing, self._passing = self._passing, []
        live = [mark_condition(mark, self._word) for mark in self._marks if mark.until > now]
        return [*self._held.values(), *live, *passing]

    @property
    def running(self) -> Mapping[str, tuple[str, float]]:
        """Jobs whose delegate runs: label and since when."""
        return self._running

    def _look_at_job(self, reader: Reader, job_id: str, at: float | None) -> None:
        record = reader.record(job_id)
        if record is None:
            self._drop(f"job:{job_id}")
            self._running.pop(job_id, None)
            return
        if isinstance(record.get("continues"), str):  # somebody went on with it: they know
            self._drop(f"job:{record['continues']}")
        self._take_job(reader, record, at)

    def _take_job(self, reader: Reader, record: Mapping[str, Any], at: float | None) -> None:
        job_id = str(record.get("job_id"))
        live = views.is_live(record)
        since = at if at is not None else changed_at(reader, job_id) if live else None
        accepted = float(record.get("accepted_at") or 0.0)
        self._drop(f"job:{job_id}")
        condition = job_condition(record, accepted if since is None else since, self._word)
        if condition is not None and (live or loop_of(reader, job_id) is None):  # a loop sees to its own laps' ends
            self._keep(condition)
        if record.get("state") in _RUNS:
            self._running[job_id] = job_name(record), float(record.get("started") or accepted)
        else:
            self._running.pop(job_id, None)

    def _look_at_session(self, reader: Reader, session_id: str, at: float | None) -> None:
        record = reader.session(session_id)
        if record is None:
            self._drop(f"session:{session_id}")
        else:
            self._take_session(reader, record, at)

    def _take_session(self, reader: Reader, record: Mapping[str, Any], at: float | None) -> None:
        session_id = str(record.get("session_id"))
        since = at if at is not None else changed_at(reader, session_id)
        accepted = float(record.get("accepted_at") or 0.0)
        drifted = drifted_at(reader, session_id) if record.get("model_pin") == "drifted" else None
        self._drop(f"session:{session_id}")
        for condition in session_conditions(
            record, accepted if since is None else since, accepted if drifted is None else drifted, self._word
        ):
            self._keep(condition)

    def _keep(self, condition: Condition | None) -> None:
        if condition is None:
            return
        if condition.passing:
            self._passing.append(condition)
        else:
            self._held[condition.key] = condition

    def _drop(self, entity: str) -> None:
        for key in _of(entity, self._held):
            del self._held[key]


def _of(entity: str, held: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [key for key in held if key[0] == entity]
