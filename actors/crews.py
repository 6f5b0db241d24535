"""All groups of jobs: one actor for each that lives, found again by every supervisor.

A group exists once it is journalled together with its members (``Jobs`` does that, in one commit). Crews only
looks after it: a group whose record was lost, though its members were not, is made anew from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..messages.facts import ChildCrashed, Fact
from ..messages.group import FanoutAccepted, GroupMember, GroupRecord
from ..messages.vocabulary import GROUP_ID_PATTERN, Verb
from ..state.groups_reader import group, live_groups, lost_groups, member_records
from ..state.reader import Reader
from ..state.restart_budget import RestartBudget
from .abandoned import forget_abandoned
from .base import Handle, log, start
from .fanout import Fanout
from .group_names import SETTLED_S, GroupOver, GroupSeen, JobMoved, group_actor
from .journal_writer import JournalWriter
from .owners import may_take
from .services import Services
from .supervisor import ChildSpec, Restart, Supervisor
from .transient_faults import TransientFaults
from .tree import in_background

_GROUP_ID = re.compile(GROUP_ID_PATTERN)
MOST = 6
"""How many members of a group run at a time where nobody said."""


@dataclass(frozen=True, slots=True)
class _SweepDue:
    """To ourselves: time to look what was left."""


@dataclass(frozen=True, slots=True)
class _Swept:
    """To ourselves: that look is over."""

    count: int


class Crews(Supervisor):
    """See the module."""

    def __init__(self, *, services: Services, **common: Any) -> None:  # noqa: ANN401 - the base class's
        super().__init__(clock=services.clock, budget=RestartBudget(20, 60.0), faults=TransientFaults(), **common)
        self.services = services
        self._writer: JournalWriter[None] = JournalWriter(self, next(services.epochs))
        self._groups: dict[str, str] = {}
        """Job → its group, of every group that is looked after here."""

    def started(self) -> None:
        """Look after every live group that nobody else does."""
        super().started()
        with Reader(self.services.home.database) as reader:
            known = [str(row["group_id"]) for row in live_groups(reader)]
            lost = lost_groups(reader)
        for group_id in (*known, *lost):
            self._take(group_id)
        self._sweep()

    def receive_own(self, message: object) -> None:
        """One flat match over what Crews can be told."""
        match message:
            case GroupSeen(group_id=group_id):
                self._take(group_id)
            case JobMoved(job_id=job_id):
                self.services.directory.tell("loops", message)  # it may be a lap of one
                found = self._groups.get(job_id)
                if found is not None:
                    self.services.directory.tell(group_actor(found), message)
            case _Swept():
                self.services.clock.later(SETTLED_S, self.handle, _SweepDue())
            case _SweepDue():
                self._sweep()
            case GroupOver(group_id=group_id):
                self._groups = {job: of for job, of in self._groups.items() if of != group_id}
            case _:
                super().receive_own(message)

    def _sweep(self) -> None:
        """Take away, now and then, what commands that were killed before their jobs were taken have left."""
        if self.services.attached or not self.services.lock.held or self.services.stopping.is_set():
            return
        home = self.services.home
        in_background("abandoned", self.handle, lambda: _Swept(len(forget_abandoned(home))), otherwise=_Swept(0))

    def gave_up(self, name: str, error: str) -> None:
        """Say so; the members that run go on, and the next supervisor takes the group up again."""
        log.error("%s: gave up: %s", name, error)

    def child_ended(self, name: str, error: str | None, *, restarted: bool) -> None:
        """Journal a crash."""
        if error is not None:
            self._append(ChildCrashed(child=name, error=error[:500], restarted=restarted))

    def _take(self, group_id: str) -> None:
        """Look after a group, unless it is looked after already, here or by the command that started it."""
        if group_actor(group_id) in self.children():
            return
        record = self._record(group_id)
        if record is None or record.ended is not None:
            return
        if not may_take(self.services, record.owner):
            return
        self._groups |= dict.fromkeys((member.job_id for member in record.members), group_id)

        def begin(parent: Handle, incarnation: int) -> Handle:
            return start(
                Fanout,
                group_actor(group_id),
                directory=self.directory,
                parent=parent,
                incarnation=incarnation,
                record=record,
                services=self.services,
                epoch=next(self.services.epochs),
            )

        self.add(
            ChildSpec(
                id=group_actor(group_id),
                start=begin,
                restart=Restart.TRANSIENT,
                budget=RestartBudget(5, 60.0),
                stall_s=60.0,
            )
        )

    def _record(self, group_id: str) -> GroupRecord | None:
        with Reader(self.services.home.database) as reader:
            found = group(reader, group_id)
            rows = [] if found else list(member_records(reader, group_id).values())
        if found is not None:
            return GroupRecord.model_validate(found)
        made = _made_anew(group_id, rows)
        if made is not None:
            log.warning("%s: its record is gone; it is made anew from its %d members", group_id, len(rows))
            self._append(FanoutAccepted(group_id=group_id, record=made))
        return made

    def _append(self, fact: Fact) -> None:
        self._writer.append((fact,))


def _made_anew(group_id: str, rows: list[dict[str, Any]]) -> GroupRecord | None:
    """Return a group as its members' records tell it; None when there is none."""
    rows = sorted((row for row in rows if "lane" in row), key=lambda row: (row.get("label") or "", row["job_id"]))
    if not rows or not _GROUP_ID.fullmatch(group_id):
        return None
    return GroupRecord(
        group_id=group_id,
        verb=Verb(rows[0].get("verb", "run")),
        cwd=str(rows[0].get("cwd", "/")),
        most=next((int(row["group_most"]) for row in rows if row.get("group_most")), MOST),
        members=tuple(
            GroupMember(job_id=row["job_id"], label=str(row.get("label") or row["job_id"]), lane=str(row["lane"]))
            for row in rows
        ),
        accepted_at=float(min(row.get("accepted_at") or 0.0 for row in rows)),
    )
