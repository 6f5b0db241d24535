"""Groups as clients ask for them: every member decided before the first is created, and all journalled as one.

Runs in the thread of the connection that asked, so it may block.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ..messages.group import FanoutMember, FanoutRequest, GroupMember, GroupRecord, RefusedMember
from ..messages.job import Identity, JobRecord, JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import GroupIsAccepted, GroupPlanned, GroupView, Plan, Reply
from ..messages.sentences import what_is_wrong
from ..state import views
from ..state.errors import StateError
from ..state.files import read_private
from ..state.group_views import group_object
from ..state.groups_reader import group, member_records
from ..state.job_folder import JobFolder
from ..state.reader import Reader
from .attempt import keep_promise
from .base import ask
from .budget_book import Weigh
from .crews import MOST
from .in_flight import Flight, Flights, is_unknown
from .intake import Draft
from .job_writing import create
from .jobs_asked import Cancel, SubmitGroup
from .owners import own_identity
from .services import Services

ASK_S = 120.0
"""A group is one commit of many facts, on a disk that may be busy."""
FILE_LIMIT = 256 * 1024 * 1024
MEMBERS = 2000
"""Most members of one group."""
NAMED = 3
"""So many refused members are named in one sentence."""

Decided = TypeVar("Decided", Draft, Plan)

_MEMBERS: TypeAdapter[tuple[FanoutMember, ...]] = TypeAdapter(tuple[FanoutMember, ...])


class GroupDesk:
    """See the module."""

    def __init__(
        self,
        services: Services,
        drafts: Callable[[JobRequest], Draft | Refused],
        previews: Callable[[JobRequest, Weigh], Plan | Refused],
    ) -> None:
        """``drafts`` decides about one job as it does where there is no group; ``previews`` only says how it would."""
        self.services = services
        self._drafts = drafts
        self._previews = previews
        self._flights = Flights(services.directory)

    def submit(self, request: FanoutRequest, *, dry_run: bool) -> Reply:
        """Take a group, or refuse it whole; with ``dry_run`` say what it would be."""
        if self.services.stopping.is_set():
            return Refused(code=RefusalCode.STOPPING, message="the supervisor is stopping", hint="try again")
        if dry_run:
            return self._submit(request, Flight(), dry_run=True)
        return self._flights.once(
            request.group_id,
            lambda: self._asked_before(request),
            lambda flight: self._submit(request, flight, dry_run=False),
        )

    def _asked_before(self, request: FanoutRequest) -> Reply | None:
        """Return the answer to a request that was taken already, though the client never heard of it."""
        known = self._object(request.group_id)
        if known is None:
            return None
        _forget(request, self.services.home.spool_dir)
        return GroupIsAccepted(group=known)

    def _submit(self, request: FanoutRequest, flight: Flight, *, dry_run: bool) -> Reply:
        members = self._members(request)
        if isinstance(members, Refused):
            return members
        if dry_run:
            weigh = self.services.budgets.weighing()
            plans, refused = _sorted(request, members, lambda one: self._previews(one, weigh))
            planned = tuple({"label": label, "plan": plan.model_dump(mode="json")} for label, plan in plans)
            return GroupPlanned(members=planned, refused=tuple(one.model_dump() for one in refused))
        decided, refused = _sorted(request, members, self._drafts)
        drafts = [one for _, one in decided]
        try:
            if refused and (not request.skip_refused or not drafts):
                return _refusal(refused, drafts)
            full = self.services.admission.admit(drafts[0].settings, len(drafts)) or self._priced(drafts)
            return full or self._take(request, drafts, refused, flight)
        finally:
            for one in drafts:
                self.services.limits.give_back(one.marker_id)  # from its commit on, the store counts the run
                self.services.budgets.drop(one.marker_id)

    def cancel(self, group_id: str, *, at_once: bool) -> Reply:
        """End every member that lives; whoever waits for its turn never gets it."""
        with Reader(self.services.home.database) as reader:
            known = group(reader, group_id)
            rows = member_records(reader, group_id)
        if known is None:
            return no_such_group(group_id)
        live = tuple(job_id for job_id, row in rows.items() if views.is_live(row))
        if live:
            answer = ask(self.services.directory.find("jobs"), Cancel(live, at_once, group_id), ASK_S)
            if isinstance(answer, Refused):
                return answer
        return GroupView(group=self._object(group_id) or {})

    # --- taking one

    def _members(self, request: FanoutRequest) -> Sequence[FanoutMember] | Refused:
        if request.common.task is not None or request.common.task_file is not None:
            return Refused(code=RefusalCode.BAD_REQUEST, message="what holds for every member has a task of its own")
        members: Sequence[FanoutMember] = request.members
        if request.members_file is not None:
            try:
                path = Path(request.members_file)
                data = read_private(path, FILE_LIMIT) if path.parent == self.services.home.spool_dir else None
                members = _MEMBERS.validate_json(data or b"")
            except ValidationError as error:
                place, words = what_is_wrong(error)
                return Refused(code=RefusalCode.BAD_REQUEST, message=f"member {place} {words}")
            except StateError as error:
                return error.refusal
        if not members:
            return Refused(code=RefusalCode.BAD_TASK, message="a fan-out without a member", hint="osrc fanout -h")
        if len(members) > MEMBERS:
            return Refused(
                code=RefusalCode.BAD_REQUEST, message=f"{len(members)} members are too many: at most {MEMBERS}"
            )
        return members

    def _priced(self, drafts: Sequence[Draft]) -> Refused | None:
        """Hold what each member is estimated to cost, or refuse them all."""
        admit = self.services.budgets.admit
        found = (admit(one.marker_id, one.billing.kind, one.resolved.model, one.prompt, one.settings) for one in drafts)
        return next((refused for refused in found if refused is not None), None)

    def _take(
        self, request: FanoutRequest, drafts: Sequence[Draft], refused: Sequence[RefusedMember], flight: Flight
    ) -> Reply:
        owner = own_identity(self.services)
        made: list[tuple[JobRecord, JobFolder]] = []
        most = request.most or _preferred(drafts) or MOST
        answer: Any = None
        try:
            for one in drafts:
                made.append(self._create(one, (request.group_id, most), owner))  # noqa: PERF401  kept for a failure half-way
            records = tuple(record for record, _ in made)
            taken = self._record(request, most, _preferred(drafts) is None, records, refused, owner)
            self._keep(drafts, records)
            self.services.heartbeat_watch.launched(drafts[0].settings, drafts[0].environment)
            answer = ask(self.services.directory.find("jobs"), SubmitGroup(taken, records), ASK_S, flight.port)
        finally:
            if is_unknown(answer):
                flight.undo, flight.taken = lambda: self._undo(made), lambda: self._is_group(request.group_id)
            elif answer is not True:
                self._undo(made)
        if isinstance(answer, Refused):
            return answer
        for _, folder in made:
            keep_promise(folder)
        _forget(request, self.services.home.spool_dir)
        return GroupIsAccepted(group=self._object(request.group_id) or {}, disclosures=disclosures(drafts))

    def _is_group(self, group_id: str) -> bool:
        with Reader(self.services.home.database) as reader:
            return group(reader, group_id) is not None

    def _undo(self, made: Sequence[tuple[JobRecord, JobFolder]]) -> None:
        """Let go of what was made for members that are no jobs."""
        for record, folder in made:
            self.services.accounts.take(record.job_id)
            self.services.requests.drop(record.job_id)
            self.services.budgets.drop(record.job_id)
            folder.remove()

    def _create(self, one: Draft, group: tuple[str, int], owner: Identity | None) -> tuple[JobRecord, JobFolder]:
        return create(one, self.services.home, umask=self.services.umask, owner=owner, group=group)

    def _keep(self, drafts: Sequence[Draft], records: Sequence[JobRecord]) -> None:
        for one, record in zip(drafts, records, strict=True):
            if one.account is not None:
                self.services.accounts.keep(record.job_id, one.account)
            self.services.requests.keep(record.job_id, one.request.environment)
            self.services.budgets.rename(one.marker_id, record.job_id)

    @staticmethod
    def _record(  # noqa: PLR0913, PLR0917  the parts of one record
        request: FanoutRequest,
        most: int,
        unasked: bool,
        records: Sequence[JobRecord],
        refused: Sequence[RefusedMember],
        owner: Identity | None,
    ) -> GroupRecord:
        return GroupRecord(
            group_id=request.group_id,
            label=request.common.label,
            verb=request.common.verb,
            cwd=request.common.cwd,
            most=most,
            capped=request.most is None and unasked,
            members=tuple(
                GroupMember(job_id=record.job_id, label=record.label or record.job_id, lane=record.lane)
                for record in records
            ),
            refused=tuple(refused),
            accepted_at=time.time(),
            owner=owner,
        )

    def _object(self, group_id: str) -> dict[str, Any] | None:
        """Return the public object of a group; None when there is none."""
        with Reader(self.services.home.database) as reader:
            known = group(reader, group_id)
            if known is None:
                return None
            rows = member_records(reader, group_id)
        now, root = time.time(), os.fspath(self.services.home.root)
        ordered = [rows[member["job_id"]] for member in known["members"] if member["job_id"] in rows]
        return group_object(known, [views.job_object(row, root, now) for row in ordered], now)


def _sorted(
    request: FanoutRequest, members: Sequence[FanoutMember], decide: Callable[[JobRequest], Decided | Refused]
) -> tuple[list[tuple[str, Decided]], list[RefusedMember]]:
    """Decide about every member, each through the same checks and the same gate as a job of its own."""
    fine: list[tuple[str, Decided]] = []
    refused: list[RefusedMember] = list(request.refused)
    for member in members:
        given = {name: value for name, value in member.model_dump().items() if value is not None}
        decided = decide(request.common.model_copy(update={**given, "job_id": None}))
        if isinstance(decided, Refused):
            refused.append(_refused(member.label, decided))
        else:
            fine.append((member.label, decided))
    return fine, refused


def _preferred(drafts: Sequence[Draft]) -> int | None:
    """Return how many the person lets run at a time where a command does not say; None: nothing was set."""
    number = drafts[0].settings.number("fanout_max")
    return int(number) if number else None


def _refused(label: str, why: Refused) -> RefusedMember:
    return RefusedMember(label=label, code=why.code.value, message=why.message, hint=why.hint)


def no_such_group(word: str) -> Refused:
    """Return the refusal for a word that names no group."""
    return Refused(
        code=RefusalCode.NO_SUCH_GROUP, message=f"there is no group {word!r}", hint="osrc fanout list shows them"
    )


def disclosures(drafts: Sequence[Draft]) -> tuple[tuple[str, ...], ...]:
    """Return what is said of each that work goes to: the first member's words for it."""
    told: dict[str, tuple[str, ...]] = {}
    for lines in (one.plan.disclosure for one in drafts if one.plan.disclosure):
        told.setdefault(lines[0], lines)
    return tuple(told.values())


def _refusal(refused: Sequence[RefusedMember], drafts: Sequence[Draft]) -> Refused:
    """Say which members are refused and why, the same reason once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in refused:
        reasons.setdefault((one.code, one.message), []).append(one.label)
    parts, total = [], len(refused) + len(drafts)
    for (_, message), labels in list(reasons.items())[:NAMED]:
        more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
        parts.append(f"{', '.join(labels[:NAMED])}{more}: {message}")
    rest = f"; and {len(reasons) - NAMED} more reasons" if len(reasons) > NAMED else ""
    return Refused(
        code=RefusalCode(refused[0].code),
        message=f"{len(refused)} of {total} members are refused, nothing was started. {'; '.join(parts)}{rest}",
        hint=_hint(refused, drafts),
    )


def _hint(refused: Sequence[RefusedMember], drafts: Sequence[Draft]) -> str:
    """Return what helps: to go on without them, or where nobody is left or consent is missing, what helps each."""
    hints = {one.hint for one in refused if one.hint}
    same = hints.pop() if len(hints) == 1 else "--dry-run shows every member"
    consent = all(one.code == RefusalCode.CONSENT_NEEDED.value for one in refused)
    return f"--skip-refused starts the other {len(drafts)}" if drafts and not consent else same


def _forget(request: FanoutRequest, spool: Path) -> None:
    """Remove the file in which a client put the members: they have been taken."""
    if request.members_file is not None and Path(request.members_file).parent == spool:
        Path(request.members_file).unlink(missing_ok=True)
