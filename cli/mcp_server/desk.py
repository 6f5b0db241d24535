"""What the tools ask of the supervisor: the same requests that the commands send, through the same client.

Plain functions that may wait for the supervisor; the tools call them in threads. They return data and print nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from ...lanes import roles
from ...messages.entity_ids import kind_of
from .. import groups, loops
from ..commands.retry import group_anew, request_anew
from ..errors import CliError
from ..following import cancel, read_result, terminal
from ..looking import Job, named, newest, verdict_due
from ..options import Globals
from ..reach import Reach
from ..sessions import listed, live
from ..submit import job_request, submit
from ..submit_group import submit_group
from ..task import TASK_LIMIT, checked
from .errands import Errand, ErrandReach, Errands, stop, told

_OPTIONS = {
    "model": None,
    "lane": None,
    "effort": None,
    "tier": None,
    "grants": (),
    "cwd": None,
    "timeout": None,
    "worktree": None,
    "after": (),
    "priority": 0,
    "wait_limit": False,
    "no_advise": False,
    "label": None,
    "allow_downgrade": False,
    "trust_lane": None,
    "job_check": None,
    "job_check_timeout": None,
}
"""The values of ``options.task_options`` where nothing is given."""


class Desk:
    """The way to the supervision tree. One for a server's whole life; its methods may be called in any thread."""

    def __init__(self, options: Globals) -> None:
        """``options``: what the command line of ``osrc mcp`` said. Nobody is ever asked anything at a terminal."""
        options.json = options.quiet = True
        self.options = options
        self.errands = Errands()
        self._tree: Reach | None = None
        self._lock = threading.RLock()

    @contextmanager
    def reach(self) -> Iterator[Reach]:
        """Lend a way to the tree. One in this process is made once, and stays until ``close``."""
        with self._lock:
            if self._tree is None and Reach(self.options).no_daemon:
                made = Reach(self.options)
                made.channel()
                self._tree = made
            kept = self._tree
        if kept is not None:
            yield kept
            return
        made = Reach(self.options)
        try:
            yield made
        finally:
            if made.in_process:
                self._keep(made)
            else:
                made.close()

    def close(self) -> None:
        """Let go of a tree in this process; its delegates go on."""
        with self._lock:
            if self._tree is not None:
                self._tree.close()
                self._tree = None

    def _keep(self, made: Reach) -> None:
        with self._lock:
            if self._tree is None:
                self._tree = made
            else:
                made.close()

    # --- errands

    def errand(self, kind: str, work: Callable[[Reach], dict[str, Any]]) -> Errand:
        """Begin what takes several jobs: ``work`` runs in a thread, with a way to the tree of its own."""
        with self.reach() as reach:
            reach.channel()  # where there can be no supervisor, a tree is made in this process, and kept
        options = told(self.options)
        return self.errands.begin(kind, lambda errand: ErrandReach(options, errand, self._tree), work)

    def cancel_errand(self, errand: Errand, *, now: bool) -> None:
        """Ask for the end of an errand."""
        with self.reach() as reach:
            stop(reach, errand, now=now)

    # --- jobs

    def delegate(
        self, verb: str, task: str, given: dict[str, Any], *, dry_run: bool, continues: str | None = None
    ) -> dict[str, Any]:
        """Submit one job; return ``accepted`` or ``planned``.

        ``continues``: an ended job or session whose conversation, lane, folder and verb the new one goes on with.
        """
        checked_task = task_text(task)
        with self.reach() as reach:
            if continues is None:
                return submit(reach, job_request(self.options, verb, checked_task, flags(given)), dry_run=dry_run)
            from ..commands.again import conversation, kept_label  # noqa: PLC0415 - beside its only use

            if given.get("cwd") is not None:
                raise click.UsageError("a conversation goes on in the folder of its job: leave cwd out")
            earlier = conversation(reach, continues)
            here = {**given, "cwd": str(earlier["cwd"]), "lane": given.get("lane") or str(earlier["lane"])}
            here["label"] = given.get("label") or kept_label(earlier)
            request = job_request(self.options, str(earlier.get("verb") or "run"), checked_task, flags(here))
            request["continues"] = str(earlier.get("job_id") or earlier["session_id"])
            return submit(reach, request, dry_run=dry_run)

    def retry(self, token: str, given: dict[str, Any]) -> dict[str, Any]:
        """Ask an ended job's task anew, or a group's members that did not end well; return ``accepted`` or a group."""
        with self.reach() as reach:
            jobs, group = groups.either(reach, token)
            if group is None:
                return submit(reach, request_anew(self.options, jobs[0], _anew(given)))
            return submit_group(reach, group_anew(self.options, group, _anew(given)))

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        """Send one request; return its reply. Raises CliError where it was refused."""
        with self.reach() as reach:
            return dict(reach.request(body))

    def look(self, function: Callable[[Reach], dict[str, Any]]) -> dict[str, Any]:
        """Return what ``function`` sees by a way of its own."""
        with self.reach() as reach:
            return function(reach)

    def fan_out(
        self, verb: str, tasks: Sequence[str | dict[str, Any]], given: dict[str, Any], most: int | None
    ) -> dict[str, Any]:
        """Submit a group of jobs; return ``group_accepted``."""
        common = job_request(self.options, verb, "", flags(given))
        del common["task"]
        request = {"common": common, "members": members(tasks, given), "refused": [], "most": most}
        with self.reach() as reach:
            return submit_group(reach, {**request, "skip_refused": False})

    def jobs(self, ids: Sequence[str]) -> list[Job]:
        """Return the jobs that ids, prefixes or labels name."""
        with self.reach() as reach:
            return named(reach, tuple(ids))

    def recent(self, state: str | None, limit: int) -> tuple[list[Job], int, list[dict[str, Any]]]:
        """Return the newest jobs, how many more there are, and the sessions that live."""
        with self.reach() as reach:
            jobs, omitted = newest(reach, state=state, limit=limit)
            return jobs, omitted, [one for one in listed(reach, 0)[0] if live(one)]

    def group(self, token: str) -> groups.Group:
        """Return a group as it is now."""
        with self.reach() as reach:
            return groups.fresh(reach, groups.one_group(reach, token))

    def loop(self, token: str) -> loops.Loop:
        """Return a loop as it is now."""
        with self.reach() as reach:
            return loops.one_loop(reach, token)

    def cancel_loop(self, token: str) -> loops.Loop:
        """Ask for the end of a loop."""
        with self.reach() as reach:
            found = loops.one_loop(reach, token)
            return found if loops.ended(found) else loops.cancel(reach, str(found["loop_id"]))

    def supervised(self) -> None:
        """See to it that somebody supervises: what is waited for must be able to end."""
        with self.reach() as reach:
            reach.channel()

    def cancel(self, ids: Sequence[str], *, now: bool) -> list[Job]:
        """Ask for the end of jobs."""
        with self.reach() as reach:
            jobs = named(reach, tuple(ids))
            alive = [str(job["job_id"]) for job in jobs if not terminal(job)]
            changed = {str(job["job_id"]): job for job in (cancel(reach, alive, at_once=now) if alive else ())}
            return [changed.get(str(job["job_id"]), job) for job in jobs]

    def cancel_group(self, token: str, *, now: bool) -> groups.Group:
        """Ask for the end of every member of a group."""
        with self.reach() as reach:
            return groups.cancel(reach, groups.one_group(reach, token), now=now)

    def result(self, token: str) -> tuple[Job, str]:
        """Return a job and its final message. Raises CliError where it has none, or none yet."""
        job = self.jobs((token,))[0]
        if not terminal(job):
            why = "its verdict is due" if verdict_due(job) else f"it is {job.get('state')}"
            raise CliError("not_finished", f"job {job['job_id']} has not ended: {why}", "the tool wait")
        text = read_result(job)
        if text is None:
            reason = f" ({job['reason']})" if job.get("reason") else ""
            message = f"job {job['job_id']} ended {job.get('state')}{reason} and left no final message"
            raise CliError("no_result", message, f"osrc logs {job['job_id']}")
        return job, text.decode("utf-8", "replace")

    def findings(self, token: str) -> tuple[groups.Group, list[tuple[Job, str | None]]]:
        """Return a group and each member with its final message, None where it has none."""
        group = self.group(token)
        return group, [(job, _message(job)) for job in group["jobs"]]


def is_group(token: str) -> bool:
    """Whether a word is the id of a group."""
    return kind_of(token) == "group"


def is_loop(token: str) -> bool:
    """Whether a word is the id of a loop."""
    return kind_of(token) == "loop"


def task_text(task: str) -> str:
    """Return a task that can be one. Raises CliError."""
    data = task.encode("utf-8", "surrogatepass")
    if len(data) > TASK_LIMIT:
        raise CliError("bad_task", f"the task is longer than {TASK_LIMIT >> 20} MiB")
    return checked(data, "the task")


def flags(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a work command's options from those that a host gave; None is not given."""
    return _OPTIONS | {key: value for key, value in given.items() if value is not None and key in _OPTIONS}


def _anew(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of ``retry``'s options: what is not given stays as it was asked for then."""
    return {**flags(given), "worktree": None}


def members(tasks: Sequence[str | dict[str, Any]], given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the members of a fan-out. Raises click.UsageError, and CliError naming a task that can't be used.

    >>> members(["one", {"task": "two", "label": "b"}], {})
    [{'label': 'task-01', 'task': 'one'}, {'label': 'b', 'task': 'two'}]
    """
    import json  # noqa: PLC0415 - beside its only use

    if not tasks:
        raise click.UsageError("there are no tasks")
    rows = [{"task": one} if isinstance(one, str) else one for one in tasks]
    try:
        found = roles.parse_tasks("\n".join(json.dumps(row) for row in rows))
    except roles.RoleError as error:
        raise CliError("bad_task", str(error)) from None
    if not all("task" in row for row in rows):
        raise CliError("bad_task", "each task is a text, or an object with task, label, model, lane, effort, tier")
    over = {name: given.get(name) is not None for name in ("model", "lane", "effort", "tier")}
    return [{"label": one.label, "task": task_text(one.text), **roles.terms(one, (), **over)} for one in found]


def until(deadline: float) -> float:
    """Return the seconds left until ``deadline`` (monotonic), never below 0."""
    return max(0.0, deadline - time.monotonic())


def _message(job: Job) -> str | None:
    if not terminal(job):
        return None
    try:
        text = read_result(job)
    except CliError:
        return None
    return None if text is None else text.decode("utf-8", "replace")
