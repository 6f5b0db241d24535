"""Looking at groups, waiting for them and collecting them: from the store, so that nothing is started for a look."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..messages.entity_ids import kind_of
from . import exit_codes
from .errors import CliError, SupervisorLostError
from .following import terminal
from .looking import Job, named
from .reach import Reach

Group = dict[str, Any]
"""A group object (``state/group_views.py``)."""

POLL_S = 0.2
_LOOKED = 100
ALIVE_S = 3.0
"""How often it is looked whether somebody supervises a group that is waited for."""


def all_groups(reach: Reach, limit: int) -> list[Group]:
    """Return the newest groups (``limit`` 0: all)."""
    from ..state.groups_reader import groups  # noqa: PLC0415 - off the hot paths

    with _reader(reach) as reader:
        return [_object(reach, reader, row) for row in groups(reader, limit)]


def one_group(reach: Reach, token: str) -> Group:
    """Return the group that an id, a prefix of it or a label names. Raises CliError: unknown, ambiguous."""
    from ..state.groups_reader import resolve_group  # noqa: PLC0415 - as above

    with _reader(reach) as reader:
        found = resolve_group(reader, token)
        if not found:
            raise CliError("no_such_group", f"there is no group {token!r}", "osrc fanout list")
        if len(found) > 1:
            some = ", ".join(str(row["group_id"]) for row in found[:5])
            raise CliError("ambiguous_group", f"{token!r} could be any of {len(found)} groups: {some}", "give its id")
        return _object(reach, reader, found[0])


def either(reach: Reach, token: str) -> tuple[list[Job], Group | None]:
    """Return the one job that a word means, or else the group. Raises CliError where it means neither."""
    if kind_of(token) != "group":
        try:
            return named(reach, (token,)), None
        except CliError as error:
            if error.code != "no_such_job":
                raise
            unknown = error
    try:
        return [], fresh(reach, one_group(reach, token))
    except CliError as error:
        if error.code != "no_such_group" or kind_of(token) == "group":
            raise
        raise unknown from None


def fresh(reach: Reach, group: Group) -> Group:
    """Return the group with what a running supervisor knows beyond the records."""
    live = tuple(str(job["job_id"]) for job in group["jobs"] if not terminal(job))
    if not live or reach.running() is None:
        return group
    try:
        known = {job["job_id"]: job for job in named(reach, live)}
    except (CliError, SupervisorLostError):  # one was cleaned up meanwhile: the records say enough
        return group
    return {**group, "jobs": [known.get(job["job_id"], job) for job in group["jobs"]]}


def wait_for(reach: Reach, group_id: str, deadline: float | None, show: Callable[[Group], None]) -> Group:
    """Return the group once all its members have ended, or at ``deadline`` (monotonic) as it is then.

    Somebody supervises it meanwhile: a supervisor that goes away is followed by another one.
    """
    checked = 0.0
    while True:
        began = time.monotonic()
        group = one_group(reach, group_id)
        show(group)
        now = time.monotonic()
        if ended(group) or (deadline is not None and now >= deadline):
            return group
        if now >= checked:
            _see_to(reach, group)
            checked = time.monotonic() + ALIVE_S
        pause = max(POLL_S, 10 * (now - began))  # a look at thousands of members takes a while
        time.sleep(pause if deadline is None else min(pause, max(0.0, deadline - time.monotonic())))


def _see_to(reach: Reach, group: Group) -> None:
    """Have somebody supervise the group: a supervisor is started where none runs; one in this process adopts it."""
    reach.drop()
    reach.channel()
    fresh(reach, group if reach.in_process else _running(group))  # one in this process adopts what it is asked about


def _running(group: Group) -> Group:
    """Return the group with those members alone that run: who waits for it looks at them."""
    runs = [job for job in group["jobs"] if not terminal(job) and job.get("state") != "queued"]
    return {**group, "jobs": runs[:_LOOKED]}


def ended(group: Mapping[str, Any]) -> bool:
    """Whether every member has ended."""
    return all(terminal(job) for job in group["jobs"])


def cancel(reach: Reach, group: Group, *, now: bool) -> Group:
    """Ask for the end of every member; return the group. Harmless when all have ended."""
    if ended(group):
        return group
    body = {"kind": "fanout.cancel", "group_id": group["group_id"], "at_once": now}
    return dict(reach.request(body)["group"])


def exit_code(group: Mapping[str, Any]) -> int:
    """Return the one exit code of a group: the gravest of its members, refused and removed ones included."""
    codes = [exit_codes.of_job(job) for job in group["jobs"]]
    codes += [exit_codes.REFUSED for _ in group.get("refused") or ()]
    codes += [exit_codes.REFUSED] * int(group["summary"].get("removed") or 0)
    if exit_codes.TIMEOUT in codes and not ended(group):
        return exit_codes.TIMEOUT
    return exit_codes.gravest(codes)


def _reader(reach: Reach) -> Any:  # noqa: ANN401 - typed where it is made
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    return Reader(f"{reach.root}/state.db")


def _object(reach: Reach, reader: Any, row: Mapping[str, Any]) -> Group:  # noqa: ANN401 - as above
    from ..state.group_views import group_object  # noqa: PLC0415 - as above
    from ..state.groups_reader import member_records  # noqa: PLC0415 - as above
    from ..state.identity import look  # noqa: PLC0415 - as above
    from ..state.views import derive, job_object  # noqa: PLC0415 - as above

    records = member_records(reader, str(row["group_id"]))
    now = time.time()
    if reach.running() is None:  # with a supervisor a verdict is on its way
        records = {job_id: derive(record, look) for job_id, record in records.items()}
    jobs = [job_object(records[job_id], reach.root, now) for job_id in _order(row, records)]
    return group_object(row, jobs, now)


def _order(row: Mapping[str, Any], records: Mapping[str, Any]) -> Iterable[str]:
    return [str(member["job_id"]) for member in row.get("members") or () if member.get("job_id") in records]


def folder_for(reach: Reach, group_id: str, out: str | None) -> str:
    """Return the folder into which a group is collected: ``out``, or its own in the state home."""
    if out is not None:
        return os.path.abspath(out)  # noqa: PTH100 - no pathlib in the front end
    return f"{reach.root}/fanout/{group_id}"
