"""What must hold of groups, loops and checks: the other half of ``chaos_check.py``. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from fakes.chaos_seen import TERMINAL, Asked, Seen, Violation

_LAP = re.compile(r"[a-z]+ (l\d+): ")
"""How the job of a loop's step is called: by the loop's own label."""


def groups_and_loops(seen: Seen) -> list[Violation]:
    """Return all that must not be."""
    return [
        *(Violation("checked-once", name, f"run {times} times") for name, times in seen.checks.items() if times > 1),
        *_groups(seen),
        *_loop_journal(seen),
        *(found for loop_id, record in seen.loops.items() for found in _loop(seen, loop_id, record)),
        *_laps_of_none(seen),
        *(found for asked in seen.asked_loops for found in _heard(seen, asked)),
    ]


def asked_to_end(seen: Seen) -> set[str]:
    """Return whose end was asked for, with whatever belongs to it."""
    found = set(seen.canceled)
    for group_id, record in seen.groups.items():
        if group_id in found:
            found.update(member["job_id"] for member in record["members"])
    for loop_id, record in seen.loops.items():
        if loop_id in found:
            found.update(step["job_id"] for step in record["steps"] if step.get("job_id"))
    return found


def _groups(seen: Seen) -> Iterator[Violation]:
    ends: Counter[tuple[int, str]] = Counter()
    ended: dict[int, set[str]] = defaultdict(set)
    members: dict[str, list[str]] = {}
    most: dict[str, int] = {}
    work: dict[str, set[str]] = defaultdict(set)
    of: dict[str, str] = {}
    for told in seen.journal:
        body = told.body
        match told.kind:
            case "fanout.accepted":
                group_id, record = body["group_id"], body["record"]
                members[group_id] = [one["job_id"] for one in record["members"]]
                most[group_id] = record["most"]
                of |= dict.fromkeys(members[group_id], group_id)
            case "job.launching" if body["job_id"] in of:
                group_id = of[body["job_id"]]
                work[group_id].add(body["job_id"])
                if len(work[group_id]) > most[group_id]:
                    yield Violation("group-most", group_id, f"{len(work[group_id])} at a time, {most[group_id]} may be")
            case "job.ended" | "job.removed":
                ended[told.generation].add(body["job_id"])
                work[of.get(body["job_id"], "")].discard(body["job_id"])
            case "fanout.ended":
                ends[told.generation, body["group_id"]] += 1
                open_ = [
                    one for one in members.get(body["group_id"], ()) if not _over(seen, told.generation, one, ended)
                ]
                if open_:
                    yield Violation("group-end", body["group_id"], f"ended, and {open_} had not")
    for (generation, group_id), times in ends.items():
        if times > 1:
            yield Violation("group-end", group_id, f"ended {times} times in journal {generation}")
    for group_id, record in seen.groups.items():
        if record.get("ended") is None:
            yield Violation("group-end", group_id, "never ended")


def _over(seen: Seen, generation: int, job_id: str, ended: Mapping[int, set[str]]) -> bool:
    """Whether a member had ended; in a journal that was made anew, its folder may have said so."""
    return job_id in ended[generation] or generation > 1


def _loop_journal(seen: Seen) -> Iterator[Violation]:
    """Every step is begun, ended once and not begun again; every loop ends once, or once more for each resume.

    A journal that follows on a damaged one may hold the beginning of what it goes on with, or not.
    """
    over: dict[tuple[int, str], bool] = {}
    steps: dict[tuple[int, str, int], Mapping[str, Any]] = {}
    for told in seen.journal:
        if not told.kind.startswith("loop."):
            continue
        loop_id = told.body["loop_id"]
        key = told.generation, loop_id
        match told.kind:
            case "loop.accepted":
                if key in over:
                    yield Violation("loop-once", loop_id, "accepted twice")
                over[key] = told.body["record"].get("end") is not None
            case "loop.resumed":
                over[key] = False
            case "loop.ended":
                if over.get(key, told.generation == 1):
                    yield Violation("loop-once", loop_id, "it ended, and had ended")
                over[key] = True
            case "loop.step_began" | "loop.step_ended":
                step = told.body["step"]
                place = (*key, step["number"])
                before = steps.get(place)
                if over.get(key, told.generation == 1):
                    yield Violation("loop-step", loop_id, f"{told.kind} {step['number']} after its end")
                if before is not None and before["ended"] is not None:
                    yield Violation("loop-step", loop_id, f"{told.kind} {step['number']}, which had ended")
                if told.kind == "loop.step_ended" and before is None and told.generation == 1:
                    yield Violation("loop-step", loop_id, f"step {step['number']} ended, and never began")
                steps[place] = step


def _loop(seen: Seen, loop_id: str, record: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield what is wrong with one loop at its end."""
    steps = record["steps"]
    if record["end"] is None:
        yield Violation("loop-once", loop_id, f"never ended; its last step: {steps[-1] if steps else None}")
    most = max((step["lap"] for step in steps), default=0)
    if most > record["limits"]["laps"]:
        yield Violation("loop-bound", loop_id, f"lap {most} of {record['limits']['laps']}")
    jobs = Counter(step["job_id"] for step in steps if step.get("job_id"))
    for job_id, times in jobs.items():
        if times > 1:
            yield Violation("lap-once", loop_id, f"{job_id} is {times} steps of it")
    given_up = "the supervisor gave up on it" in (record.get("reason") or "")  # its steps are taken up by a resume
    for step in steps:
        if step["ended"] is not None or not given_up:
            yield from _step(seen, loop_id, step)
    if record["end"] == "canceled" and not asked_to_end(seen) & {loop_id, *jobs}:
        gone = [step for step in steps if step["state"] == "canceled"]
        if not gone:
            yield Violation("loop-truly", loop_id, "canceled, and nobody asked for that")
    shape = record["terms"]["shape"]
    if record["end"] == "success" and shape in ("verify", "escalate", "council"):
        checks = [step for step in steps if step["role"] == "check"]
        if not checks or checks[-1]["state"] != "passed":
            yield Violation("loop-truly", loop_id, "success, and its last check did not pass")


def _step(seen: Seen, loop_id: str, step: Mapping[str, Any]) -> Iterator[Violation]:
    name = f"{loop_id} step {step['number']}"
    if step["ended"] is None:
        yield Violation("loop-step", name, "never ended")
        return
    if step["role"] == "check":
        if step["state"] == "passed" and f"{loop_id}/check-{step['number']}" not in seen.green:
            yield Violation("loop-truly", name, "passed, and its command never said so")
        return
    job = seen.records.get(step.get("job_id") or "")
    if job is None or step["job_id"] in seen.spoiled:
        return
    revised = any(
        told.kind == "job.ended" and told.body["job_id"] == step["job_id"] and told.body.get("revises")
        for told in seen.journal
    )
    if job["state"] in TERMINAL and step["state"] != job["state"] and not revised:
        yield Violation("loop-truly", name, f"it is {step['state']}, and its job is {job['state']}")


def _laps_of_none(seen: Seen) -> Iterator[Violation]:
    """A job that was made for a step is that step's: else its lap was sent twice."""
    known = {step.get("job_id") for record in seen.loops.values() for step in record["steps"]}
    there = {record.get("label") for record in seen.loops.values()}
    for job_id, record in seen.records.items():
        found = _LAP.match(record.get("label") or "")
        if found is not None and found[1] in there and job_id not in known:
            yield Violation("lap-once", job_id, f"{record['label']}: no step of its loop is this job")


def _heard(seen: Seen, asked: Asked) -> Iterator[Violation]:
    known = asked.job_id in seen.loops
    if asked.answer == "accepted" and not known and seen.generation == 1:
        yield Violation("heard", asked.label, f"{asked.job_id} was accepted and is not there")
    if asked.answer == "refused" and known:
        yield Violation("heard", asked.label, "it was refused, and is there")
