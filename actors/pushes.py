"""Pushes between the journal and the sinks: handed on once they are on disk, told to the journal once they are done."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..messages.alarm import FLEET, AlarmRecord, AlarmTold, SinkTold
from ..state.alarm_machine import Condition
from ..state.heartbeat_file import Arming, target_mark
from .base import log
from .notifier import Notifier
from .sinks import Push, forget


@dataclass(slots=True)
class _Telling:
    left: set[str]
    told: list[SinkTold]


class Pushes:
    """See the module. Belongs to one actor; ``told`` is called from other threads."""

    def __init__(
        self,
        home: Path,
        told: Callable[[Push, SinkTold], None],
        sinks: Mapping[str, Callable[[Push], SinkTold]],
    ) -> None:
        self._home = home
        self._wakes = home / "wakes"
        self._notifier = Notifier(told, sinks)
        self._telling: dict[str, _Telling] = {}
        self._failing: set[str] = set()
        """Sinks that would not take the newest push."""

    def begin(self, owed: Iterable[AlarmRecord]) -> None:
        """Make the folder of orders and claims, and remove those that nobody owes."""
        self._wakes.mkdir(mode=0o700, exist_ok=True)
        known = {record.push_id for record in owed}
        with contextlib.suppress(OSError):
            for name in {entry.stem for entry in self._wakes.iterdir()} - known:
                forget(self._wakes, name)

    def close(self) -> None:
        """Begin nothing more."""
        self._notifier.close()

    def send(self, record: AlarmRecord, arming: Arming) -> AlarmTold | None:
        """Hand an alarm's newest push to every sink; return that it is done where there is none."""
        names = [name for name in arming.sinks if not (record.state == "sink" and name == record.label)]
        if not names:
            return AlarmTold(alarm_id=record.alarm_id, push=record.pushes)
        self._telling[record.push_id] = _Telling(set(names), [])
        self._notifier.push(Push(record=record, arming=arming, wakes=self._wakes, home=self._home), names)
        return None

    def note(self, push: Push, told: SinkTold) -> AlarmTold | None:
        """Take over what one sink said; return that the push is done once all have."""
        telling = self._telling.get(push.record.push_id)
        if telling is None:
            return None
        telling.left.discard(told.sink)
        telling.told.append(told.model_copy(update={"target": target_mark(told.sink, push.arming)}))
        if telling.left:
            return None
        del self._telling[push.record.push_id]
        return AlarmTold(alarm_id=push.record.alarm_id, push=push.record.pushes, sinks=tuple(telling.told))

    def trouble(self, told: SinkTold, arming: Arming, now: float) -> Condition | None:
        """Return what to tell the other sinks of one that would not take a push: once, until it takes one again."""
        if told.result != "failed":
            self._failing.discard(told.sink)
            return None
        log.warning("the heartbeat's %s would not take a push: %s", told.sink, told.why)
        if told.sink in self._failing or not [name for name in arming.sinks if name != told.sink]:
            return None
        self._failing.add(told.sink)
        return Condition(
            entity=f"{FLEET}:{told.sink}",
            state="sink",
            kind="heartbeat-sink",
            since=now,
            once=True,
            passing=True,
            label=told.sink,
            summary=f"the heartbeat's {told.sink} would not take an event: {told.why}"[:160],
        )

    def done(self, told: AlarmTold) -> None:
        """It is journalled what became of a push: its order and claim are needed no more."""
        forget(self._wakes, f"{told.alarm_id}.{told.push}")
