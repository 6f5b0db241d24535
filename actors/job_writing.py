"""From a draft to a job on disk: its folder, its record, and the delegate's environment.

Runs where the draft was made. Nothing here decides anything; what can't be written leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from ..lanes.advice.classify import classify
from ..lanes.contract import Locality
from ..messages.job import Cost, Identity, JobRecord, JobRequest
from ..messages.replies import Plan
from ..messages.vocabulary import JobState
from ..state.errors import StateError
from ..state.files import read_private
from ..state.home import Home
from ..state.ids import new_job_id
from ..state.job_folder import LAUNCH, PROMPT, JobFolder
from ..state.limits import instant
from ..state.settings import Settings
from .advising import project_root
from .intake import Draft
from .kept_request import keepable
from .leftovers import taken
from .recheck import keep
from .tree import JOB_VARIABLE
from .work_tree import GUARD

PLAN_LIMIT = 1 << 20
STDIN = "stdin"
WINDOWS = (
    "poll",
    "stall_warn",
    "stall_kill",
    "timeout",
    "timeout_max",
    "noinit_secs",
    "nowrite_warn",
    "nowrite_kill",
    "noprogress_secs",
    "noprogress_kill_secs",
    "final_grace",
    "launch_grace",
    "setup_grace",
    "perm_abort",
    "fs_progress",
    "fs_progress_depth",
    "budget_day",
    "budget_job",
)
"""Settings that a job takes along from where it was asked for."""

_GIT_IDENTITY = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
_GIT_NAME, _GIT_EMAIL = "outsourcerer-delegate", "delegate@outsourcerer.invalid"


def create(  # noqa: PLR0913  the machine comes in by name
    draft_: Draft,
    home: Home,
    *,
    umask: int,
    owner: Identity | None = None,
    group: tuple[str, int] | None = None,
    now: float | None = None,
    random: Callable[[int], bytes] = os.urandom,
) -> tuple[JobRecord, JobFolder]:
    """Make the job's folder and its record. ``owner`` is the command that supervises it itself.

    A member of a ``group`` (its id, and how many of it run at a time) is parked: it waits there for its turn.

    Raises StateError, also where the id that was asked for has a folder; then nothing is left behind. Raises
    PermissionError for a draft that did not pass the gate.
    """
    if draft_.permit is None:  # before there is a folder
        raise PermissionError("this draft did not pass the gate")
    at = time.time() if now is None else now
    home.preflight()
    while True:
        job_id = draft_.request.job_id or new_job_id(at, random(6))
        try:
            folder = JobFolder.create(home, job_id)
            break
        except FileExistsError:
            if draft_.request.job_id is not None:  # whoever asked for it must get neither another one nor another's
                raise taken(f"job {job_id}") from None
    record = record_of(draft_, job_id, at, owner)
    if group is not None:
        record = record.model_copy(update={"group_id": group[0], "group_most": group[1], "parked": True})
    try:
        _fill(folder, draft_, umask)
        request = keepable(draft_.request, draft_.task_text, draft_.environment)
        folder.begin_meta(record, draft_.plan.model_dump(mode="json"), request)
    except StateError:
        folder.remove()
        raise
    forget_spool(draft_.request, home)
    return record, folder


def read_plan(home: Home, job_id: str) -> Plan | None:
    """Return the plan that a job was taken with; None when it can't be read."""
    try:
        return Plan.model_validate(JobFolder(home.job_dir(job_id)).read_plan())
    except ValueError:
        return None


def read_plan_file(path: Path) -> Plan | None:
    """Return a plan as it was kept; None when it can't be read."""
    try:
        data = read_private(path, PLAN_LIMIT)
        return None if data is None else Plan.model_validate_json(data)
    except (StateError, ValueError):
        return None


def stage_hop(draft_: Draft, folder: JobFolder, into: JobFolder, umask: int) -> None:
    """Write what an attempt elsewhere needs into a folder of its own, from where it goes to ``folder``.

    Raises StateError.
    """
    _fill(folder, draft_, umask, into)


def _fill(folder: JobFolder, draft_: Draft, umask: int, into: JobFolder | None = None) -> None:
    launch, into = draft_.launch, into or folder
    if draft_.permit is None:
        raise PermissionError("this draft did not pass the gate")
    keep(into, draft_.dispatch, draft_.permit)

    def placed(text: str) -> str:
        """Only a launch with files of its own has places for the folder: a prompt in argv is left alone."""
        path = os.fspath(folder.path)
        if text.startswith("{") and not text.startswith("{job}"):
            path = json.dumps(path)[1:-1]  # a configuration, as JSON
        return text.replace("{job}", path).replace(draft_.place, path) if launch.files else text

    prompt = draft_.prompt.encode("utf-8", "surrogatepass")
    at = draft_.place.encode(), os.fsencode(folder.path)
    into.begin(PROMPT, prompt.replace(*at))
    stdin = None if launch.stdin is None else PROMPT if launch.stdin == prompt else STDIN
    if stdin == STDIN and launch.stdin is not None:
        into.begin(STDIN, launch.stdin.replace(*at))
    for file in launch.files:
        into.place(file.name, file.content.replace(*at), executable=file.executable)
    if draft_.guard is not None:
        into.write_json(GUARD, draft_.guard.to_json())
    start = {
        "argv": [placed(item) for item in launch.argv],
        "env": {
            **environment_of(draft_, folder.job_id),
            **{name: placed(value) for name, value in launch.env_set.items()},
        },
        "cwd": draft_.cwd,
        "stdin": stdin,
        "umask": umask,
    }
    into.begin(LAUNCH, json.dumps(start).encode())


def record_of(draft_: Draft, job_id: str, at: float, owner: Identity | None) -> JobRecord:
    """Return a job's record as it begins."""
    request, lane, resolved = draft_.request, draft_.lane, draft_.resolved
    billing = draft_.billing
    own = draft_.tree.tree if draft_.tree is not None else None
    return JobRecord(
        job_id=job_id,
        label=request.label,
        lane=lane.name,
        vehicle=lane.vehicle,
        provider=lane.provider,
        verb=request.verb,
        posture=lane.verbs[request.verb].value,
        model=resolved.model,
        tier=resolved.tier,
        effort=request.effort,
        task_kind=classify(draft_.task_text).kind.value,
        project=project_root(request.cwd),
        cwd=draft_.cwd,
        worktree=own.path if own else None,
        branch=own.branch if own else None,
        base=own.base if own else None,
        after=request.after,
        priority=request.priority,
        local=lane.locality is Locality.LOCAL,
        streamed=lane.liveness.streamed,
        agentic=draft_.agentic and lane.name not in draft_.settings.words("text_lanes"),
        continues=request.continues,
        retries=request.retries,
        timeout_s=request.timeout_s,
        check=request.check,
        check_timeout_s=request.check_timeout_s,
        windows={key: draft_.settings.number(key) or 0.0 for key in WINDOWS if draft_.settings.is_set(key)},
        state=JobState.QUEUED if draft_.wake_at is None else JobState.WAITING_LIMIT,
        reason=None if draft_.wake_at is None else f"waits for a limit to end: {instant(draft_.wake_at)}",
        wake_at=draft_.wake_at,
        pool=billing.pool,
        cost=Cost(kind=billing.kind, plan=billing.plan),
        accepted_at=at,
        marker_id=draft_.marker_id,
        owner=owner,
        supervision="supervised" if owner is None else "attached",
    )


class Delegated(Protocol):
    """What a delegate's environment depends on: a job's draft, or a session's."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The caller's, as the lane is to see it."""
        ...

    @property
    def settings(self) -> Settings:
        """The caller's settings."""
        ...

    @property
    def depth(self) -> int:
        """How deep the caller is."""
        ...

    @property
    def strip(self) -> frozenset[str]:
        """Names that the lane removes."""
        ...

    @property
    def cwd(self) -> str:
        """The delegate's folder."""
        ...


def environment_of(draft_: Delegated, job_id: str) -> dict[str, str]:
    """Return the caller's environment less what the lane strips, plus who the delegate is."""
    strip = draft_.strip
    prefixes = tuple(name[:-1] for name in strip if name.endswith("*"))
    kept = {
        name: value
        for name, value in draft_.environment.items()
        if name not in strip and not (prefixes and name.startswith(prefixes))
    }
    if draft_.settings.flag("delegate_git_identity") and not any(name in kept for name in _GIT_IDENTITY):
        kept |= {name: _GIT_NAME if name.endswith("NAME") else _GIT_EMAIL for name in _GIT_IDENTITY}
    kept["OUTSOURCERER_DEPTH"] = str(draft_.depth + 1)
    kept[JOB_VARIABLE] = job_id
    kept["PWD"] = draft_.cwd
    return kept


def forget_spool(request: JobRequest, home: Home) -> None:
    """Remove the file in which a client put a large task: it has been taken."""
    if request.task_file is not None and Path(request.task_file).parent == home.spool_dir:
        Path(request.task_file).unlink(missing_ok=True)
