"""What ``osrc cleanup`` and ``osrc gc`` do: jobs that have ended go, with their folders, work trees and branches.

Nothing that was not committed or not merged goes, unless that is forced. Runs in a thread that may block. The order
is: the work tree, then the fact that the job is removed, then its folder; a kill in between leaves what the next
call takes away.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ..messages.commands import JobCleanup, JobGc
from ..messages.entity_ids import GROUP, kind_of
from ..messages.job import JobRecord
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Cleaned
from ..state.cleaning import Finished, choose
from ..state.errors import StateError, printable
from ..state.groups_reader import group
from ..state.job_folder import JobFolder
from ..state.loops_reader import live_loops, loop
from ..state.session_folder import SessionFolder
from ..state.store import Reader
from ..state.views import is_live
from .abandoned import is_beginning
from .base import ask, log
from .git import GitError
from .job_line import NOTHING, Remove
from .services import Services
from .worktree_removal import own_tree_of, remove_worktree, size_of, would_be_lost

ASK_S = 30.0
DAY_S = 86400.0

Resolve = Callable[[Reader, Iterable[str]], "list[dict[str, Any]] | Refused"]


@dataclass(slots=True)
class _Sweep:
    """What became of each job so far."""

    removed: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    kept: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    freed: int = 0

    def keep(self, job_id: str, why: str) -> None:
        self.kept.append({"job_id": job_id, "why": why})

    def told(self, *, dry_run: bool = False) -> Cleaned:
        return Cleaned(
            removed=tuple(self.removed),
            sessions=tuple(self.sessions),
            kept=tuple(self.kept),
            notes=tuple(self.notes),
            freed_bytes=self.freed,
            dry_run=dry_run,
        )


def cleanup(command: JobCleanup, services: Services, resolve: Resolve) -> Cleaned | Refused:
    """Remove these jobs. One that has to stay is refused where it is the only one, and named otherwise."""
    with Reader(services.home.database) as reader:
        found: dict[str, dict[str, Any]] = {}
        for word in command.words:
            named = reader.group(word) or resolve(reader, (word,))
            if isinstance(named, Refused):
                return named
            found.update({record["job_id"]: record for record in named})
        users = _users(reader)
    sweep = _Sweep()
    go: list[JobRecord] = []
    for record in found.values():
        job, why = _judge(record, users, force=command.force)
        if why is None and job is not None:
            go.append(job)
            continue
        if len(found) == 1:
            return _stays(record, why or "it can't be read")
        sweep.keep(record["job_id"], why or "it can't be read")
    return _remove(services, go, sweep) or sweep.told()


def collect(command: JobGc, services: Services) -> Cleaned | Refused:
    """Remove finished jobs by age and size, as far as nothing would be lost."""
    days = services.settings.number("job_ttl_days")
    older_than_s = command.older_than_s if command.older_than_s is not None else (days or 3.0) * DAY_S
    go, sweep = chosen(services, older_than_s=older_than_s, most_bytes=command.most_bytes, most=None)
    old = old_sessions(services, older_than_s)
    if command.dry_run:
        sweep.removed = [record.job_id for record in go]
        sweep.sessions = list(old)
        sweep.freed = sum(_size(services, record) for record in go)
        return sweep.told(dry_run=True)
    return _remove(services, go, sweep, old) or sweep.told()


def old_sessions(services: Services, older_than_s: float) -> tuple[str, ...]:
    """Return the sessions that ended so long ago."""
    before = time.time() - older_than_s
    with Reader(services.home.database) as reader:
        rows = reader.sessions(0)[0]
    ended = [row for row in rows if isinstance(row.get("ended"), int | float) and row["ended"] <= before]
    return tuple(str(row["session_id"]) for row in ended)


def tidy(services: Services) -> Remove:
    """Return what is older than ``job_ttl_days``, at most ``auto_gc_max`` jobs, without their work trees now.

    Also removes the folders of what was removed by somebody who was killed before that.
    """
    with Reader(services.home.database) as reader:
        gone = reader.select("SELECT kind, job_id FROM facts WHERE kind IN ('job.removed', 'session.removed')")
        jobs = tuple(str(job_id) for kind, job_id in gone if kind == "job.removed" and not reader.record(job_id))
        sessions = tuple(str(job_id) for kind, job_id in gone if kind != "job.removed" and not reader.session(job_id))
    remove_folders(services, Remove(jobs, sessions))
    days, most = services.settings.number("job_ttl_days"), services.settings.number("auto_gc_max")
    if not days or not most:
        return NOTHING
    go, sweep = chosen(services, older_than_s=days * DAY_S, most_bytes=None, most=int(most))
    free = tuple(job.job_id for job in let_go_of_trees(go, sweep))
    return Remove(free, old_sessions(services, days * DAY_S))


def chosen(
    services: Services, *, older_than_s: float, most_bytes: int | None, most: int | None
) -> tuple[list[JobRecord], _Sweep]:
    """Return the jobs that are to go by age and size, and what must stay of them. Removes nothing."""
    now = time.time()
    with Reader(services.home.database) as reader:
        rows = reader.ended_before(now + DAY_S if most_bytes is not None else now - older_than_s)
        users = _users(reader)
    jobs: dict[str, JobRecord] = {}
    finished = []
    for row in rows:
        job, why = _judge(row, users, force=False)
        if job is None:
            continue
        jobs[job.job_id] = job
        size = _size(services, job) if most_bytes is not None else 0
        finished.append(Finished(job_id=job.job_id, ended=job.ended or now, size=size, kept=why))
    choice = choose(finished, now=now, older_than_s=older_than_s, most_bytes=most_bytes, most=most)
    sweep = _Sweep()
    for stays in choice.stay:
        sweep.keep(stays.job_id, stays.kept or "")
    return [jobs[goes.job_id] for goes in choice.go], sweep


def let_go_of_trees(jobs: Iterable[JobRecord], sweep: _Sweep) -> list[JobRecord]:
    """Remove the work trees of jobs; return the jobs that have none any more."""
    free = []
    for job in jobs:
        tree = own_tree_of(job)
        try:
            sweep.notes += remove_worktree(tree) if tree is not None else []
        except (GitError, OSError) as error:
            sweep.keep(job.job_id, f"its work tree can't be removed: {error}")
            continue
        free.append(job)
    return free


def remove_folders(services: Services, removed: Remove) -> list[str]:
    """Remove the folders of what is journalled as removed; return what could not be."""
    said = [*_forget_collections(services), *_forget_loops(services)]
    folders: list[JobFolder | SessionFolder] = [JobFolder(services.home.job_dir(one)) for one in removed.jobs]
    folders += [SessionFolder(services.home.session_dir(one)) for one in removed.sessions]
    for folder in folders:
        try:
            if folder.path.exists():
                folder.remove()
        except StateError as error:
            said.append(error.message)
            log.warning("gc: %s", error)
    return said


def _forget_collections(services: Services) -> list[str]:
    """Remove what was collected, within the state home, of groups that are gone."""
    place = services.home.root / "fanout"
    said = []
    try:
        names = [entry.name for entry in place.iterdir() if entry.name.startswith(GROUP)]
        with Reader(services.home.database) as reader:
            gone = [name for name in names if group(reader, name) is None]
        for name in gone:
            if not is_beginning(place / name):
                shutil.rmtree(place / name)
    except FileNotFoundError:
        return []
    except OSError as error:
        said.append(f"what was collected can't be removed: {error.strerror or error}")
    return said


def _forget_loops(services: Services) -> list[str]:
    """Remove the folders of ended loops whose jobs and sessions are all gone."""
    place = services.home.loop_dir("x").parent
    said = []
    try:
        names = [entry.name for entry in place.iterdir()]
        with Reader(services.home.database) as reader:
            gone = [name for name in names if _is_gone(reader, loop(reader, name))]
        for name in gone:
            shutil.rmtree(place / name)
    except FileNotFoundError:
        return []
    except OSError as error:
        said.append(f"the folder of a loop can't be removed: {error.strerror or error}")
    return said


def _is_gone(reader: Reader, known: Mapping[str, Any] | None) -> bool:
    """Whether nothing is left of a loop but what the journal says. One that had no job yet may still be resumed."""
    if known is None or known.get("end") is None:
        return False
    steps = known.get("steps") or ()
    jobs = [str(step["job_id"]) for step in steps if step.get("job_id")]
    sessions = {str(step["session_id"]) for step in steps if step.get("session_id")}
    there = any(reader.record(one) is not None for one in jobs) or any(reader.session(one) for one in sessions)
    return bool(jobs or sessions) and not there


def _remove(services: Services, go: list[JobRecord], sweep: _Sweep, sessions: tuple[str, ...] = ()) -> Refused | None:
    sizes = {job.job_id: _size(services, job) for job in go}
    removed = Remove(tuple(job.job_id for job in let_go_of_trees(go, sweep)), sessions)
    if not removed.jobs and not removed.sessions:
        return None
    answer = ask(services.directory.find("jobs"), removed, ASK_S)
    if isinstance(answer, Refused):
        return answer
    sweep.removed += removed.jobs
    sweep.sessions += removed.sessions
    sweep.freed += sum(sizes[job_id] for job_id in removed.jobs)
    sweep.notes += remove_folders(services, removed)
    return None


@dataclass(frozen=True, slots=True)
class _Users:
    """Who works now, and what waits for what."""

    folders: Mapping[str, str]
    """Job or session → the folder it works in."""
    awaited: Mapping[str, str]
    """Job → one that comes after it, or the live loop whose lap it was."""


def _users(reader: Reader) -> _Users:
    live = reader.live()
    folders = {str(row["job_id"]): str(row.get("cwd")) for row in live}
    folders |= {str(row["session_id"]): str(row.get("cwd")) for row in reader.live_sessions()}
    awaited = {str(earlier): str(row["job_id"]) for row in live for earlier in row.get("after") or ()}
    for loop_id in live_loops(reader):
        steps = (loop(reader, loop_id) or {}).get("steps") or ()
        awaited |= {str(step["job_id"]): loop_id for step in steps if step.get("job_id")}
    return _Users(folders, awaited)


def _judge(  # noqa: PLR0911  one reason after the other
    row: Mapping[str, Any], users: _Users, *, force: bool
) -> tuple[JobRecord | None, str | None]:
    """Return a job, and why it has to stay; None where it may go."""
    try:
        job = JobRecord.model_validate(row)
    except ValidationError:
        return None, "its record is damaged"
    if is_live(row):
        return job, "it has not ended"
    if (later := users.awaited.get(job.job_id)) is not None:
        return job, f"{later} is not over" if kind_of(later) == "loop" else f"{later} comes after it"
    if job.worktree is None or job.continues is not None:  # the tree is an earlier job's
        return job, None
    tree = own_tree_of(job)
    if tree is None:
        return job, None if force else f"its record names no work tree of ours: {printable(job.worktree)}"
    inside = [who for who, folder in users.folders.items() if f"{folder}/".startswith(f"{tree.path}/")]
    if inside:
        return job, f"{inside[0]} works in its work tree"
    return job, None if force else would_be_lost(tree)


def _stays(row: Mapping[str, Any], why: str) -> Refused:
    job_id = row["job_id"]
    if is_live(row):
        return Refused(code=RefusalCode.NOT_FINISHED, message=f"{job_id} has not ended", hint=f"osrc cancel {job_id}")
    hint = f"osrc cleanup --force {job_id} loses it" if row.get("worktree") else f"osrc status {job_id}"
    return Refused(code=RefusalCode.UNSAVED_WORK, message=f"{job_id} stays: {why}", hint=hint)


def _size(services: Services, job: JobRecord) -> int:
    tree = own_tree_of(job)
    return size_of(str(services.home.job_dir(job.job_id))) + (size_of(tree.path) if tree is not None else 0)
