"""Staying with jobs to their end: through lost supervisors, Ctrl-C, and a lost terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ..messages.vocabulary import JobState
from . import exit_codes
from .errors import CliError, SupervisorLostError, from_refusal
from .interrupts import LostTerminalError, code_of, heard
from .looking import Job
from .output import answer_json, answer_untrusted, say
from .place import open_regular
from .reach import Reach
from .render.lines import receipt
from .render.plan import banner, disclosure
from .render.progress import Display

_RETRIES = 8
"""How often in a row a lost supervisor is looked for again, over some ten seconds."""

_RESULT_LIMIT = 64 * 1024 * 1024
_PATIENCE = 3
"""After so many Ctrl-C the command no longer waits for the job to end."""


def terminal(job: Mapping[str, Any]) -> bool:
    """Whether a job object's state is an end. A state that is unknown here is not."""
    try:
        return JobState(str(job.get("state"))).terminal
    except ValueError:
        return job.get("ended") is not None


def follow(
    reach: Reach,
    ids: list[str],
    *,
    until_any: bool = False,
    every_s: float | None = None,
    deadline: float | None = None,
) -> Iterator[list[Job]]:
    """Yield the jobs at each change until all (or any) have ended.

    A supervisor that goes away in the middle is looked for again, and started where there is none: the
    jobs outlive it. Raises CliError where it was refused, TimeLimitError past ``deadline`` (monotonic).
    """
    body: dict[str, Any] = {"kind": "follow.jobs", "selection": {"select": "ids", "ids": ids}, "until_any": until_any}
    if every_s is not None:
        body["every_s"] = every_s
    lost = 0
    while True:
        jobs: list[Job] = []
        try:
            for reply in reach.channel().exchange(body, deadline=deadline):
                kind = reply.get("kind")
                if kind == "refused" and reply.get("code") != "stopping":
                    raise from_refusal(reply)
                if kind == "job_views":
                    lost, jobs = 0, list(reply.get("jobs", ()))
                    yield jobs
            if jobs and (any if until_any else all)(map(terminal, jobs)):
                return
            failure = SupervisorLostError("the supervisor ended the stream early")
        except SupervisorLostError as error:
            failure = error
        reach.drop()
        lost += 1
        if lost > _RETRIES or (deadline is not None and time.monotonic() > deadline):
            raise failure
        time.sleep(min(0.02 * 2**lost, 2.0))


def run_to_end(reach: Reach, job_id: str, plan: Mapping[str, Any]) -> int:
    """Follow a job that was just accepted; print its answer and its receipt; return the exit code."""
    options = reach.options
    if leaves := disclosure(plan, short=options.quiet):
        say(leaves)
    if not options.quiet:
        say(banner(plan))
        say(f"job {job_id}: Ctrl-C cancels it; if this terminal goes away it goes on (osrc watch {job_id})")
    display = Display(quiet=options.quiet)
    try:
        with heard():
            job, code = _until_end(reach, job_id, display)
    except LostTerminalError:
        display.clear()
        say(f"terminal lost: job {job_id} goes on in the background; osrc watch {job_id}")
        return exit_codes.HANGUP
    finally:
        display.clear()
        reach.close()
    if job is None or not terminal(job):
        say(f"job {job_id} may still be ending: osrc status {job_id}")
        return code or exit_codes.REFUSED
    _conclude(options.json, options.quiet, job, plan)
    return code or exit_codes.of_job(job)


def _until_end(reach: Reach, job_id: str, display: Display) -> tuple[Job | None, int]:
    """Follow to the end, cancelling on Ctrl-C or TERM; return the last view, and 130 or 143 where one came."""
    job: Job | None = None
    code = asked = sent = 0
    while True:
        try:
            if asked > sent:
                sent = asked
                display.line("cancelling... (Ctrl-C again: at once)" if asked == 1 else "ending it at once...")
                cancel(reach, [job_id], at_once=asked > 1)
            for jobs in follow(reach, [job_id], every_s=display.every_s):
                job = jobs[0] if jobs else job
                display.show(jobs)
        except KeyboardInterrupt as stopped:
            asked, code = asked + 1, code_of(stopped)
        else:
            return job, code
        if asked >= _PATIENCE:
            return job, code


def cancel(reach: Reach, ids: list[str], *, at_once: bool) -> list[Job]:
    """Ask for the end of jobs; return them as they are. Raises CliError where it was refused."""
    reach.drop()  # the held connection may be in the middle of a stream
    body = {"kind": "job.cancel", "selection": {"select": "ids", "ids": ids}, "at_once": at_once}
    try:
        reply = reach.request(body)
    except SupervisorLostError:  # repeating it is harmless
        reach.drop()
        reply = reach.request(body)
    return list(reply.get("jobs", ()))


def stay(reach: Reach, job_id: str) -> None:
    """Supervise a background job from inside this command until it has ended."""
    say("without a supervisor the job is supervised by this command: leave it running")
    try:
        with heard():
            for _ in follow(reach, [job_id]):
                pass
    except (KeyboardInterrupt, LostTerminalError):
        say(f"no longer supervised here: osrc status {job_id}")
    finally:
        reach.close()


def _conclude(as_json: bool, quiet: bool, job: Job, plan: Mapping[str, Any]) -> None:
    text = read_result(job)
    if as_json:
        answer_json({**job, "result": None if text is None else text.decode("utf-8", "replace")})
    elif text:
        answer_untrusted(text)
    if quiet:
        return
    if not as_json and not text:
        say("no final message was left")
    for line in receipt(job, str(plan["cost"]) if plan.get("cost") and not _has_cost(job) else None):
        say(line)


def _has_cost(job: Job) -> bool:
    return (job.get("cost") or {}).get("kind") not in (None, "unknown")


def read_result(job: Mapping[str, Any]) -> bytes | None:
    """Return a job's final message, or None when there is none (empty and blank count as none)."""
    path = job.get("result_path")
    if not isinstance(path, str) or not path:
        return None
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            data = file.read(_RESULT_LIMIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CliError("no_result", f"can't read {path}: {error.strerror}") from None
    return data if data.strip() else None
