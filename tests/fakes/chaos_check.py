"""What must hold after whatever happened: pure questions over what was journalled, delivered and left running.

    check(Seen(...)) == []

Used for the simulated machine and for the real one alike. What is not known is not judged: a caller
whose supervisor died before it answered may have been heard or not, but it must be one of the two.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from fakes.chaos_check_groups import asked_to_end, groups_and_loops
from fakes.chaos_seen import TERMINAL, Asked, Process, Prompted, Seen, Sent, Told, Violation


def check(seen: Seen) -> list[Violation]:
    """Return all that must not be."""
    return [
        *_ended_once(seen),
        *_truly(seen),
        *_prompted_once(seen),
        *_heard(seen),
        *_sent_once(seen),
        *_nobody_else(seen),
        *_kept(seen),
        *groups_and_loops(seen),
    ]


def _ended_once(seen: Seen) -> list[Violation]:
    found = []
    ends: Counter[tuple[int, str]] = Counter()
    for told in seen.journal:
        if told.kind != "job.ended":
            continue
        job_id = told.body["job_id"]
        if not told.body.get("revises"):
            ends[told.generation, job_id] += 1
    for (generation, job_id), times in ends.items():
        if times > 1:
            found.append(Violation("ended-once", job_id, f"ended {times} times in journal {generation}"))
    for job_id, record in seen.records.items():
        if record.get("state") not in TERMINAL:
            found.append(Violation("ended-once", job_id, f"never ended: {record.get('state')}"))
    return found


def _truly(seen: Seen) -> list[Violation]:
    found = []
    canceled = asked_to_end(seen)
    by_job: dict[str, list[Prompted]] = defaultdict(list)
    for prompt in seen.prompts:
        by_job[prompt.job_id].append(prompt)
    for job_id, record in seen.records.items():
        state, heard = record.get("state"), by_job.get(job_id, [])
        if job_id in seen.spoiled or state not in TERMINAL:
            continue
        done = any(prompt.said_done for prompt in heard)
        ended = any(prompt.said_end for prompt in heard)
        if record.get("check") is not None:
            if state == "done" and (f"{job_id}/check" not in seen.green or not ended):
                found.append(Violation("truly", job_id, "done, and its check never said so"))
            continue
        if state == "done" and not done:
            found.append(Violation("truly", job_id, "done, and its delegate never said so"))
        if state == "done?" and not ended:
            found.append(Violation("truly", job_id, "done?, and its delegate never ended its turn"))
        if done and state not in ("done", *(("canceled",) if job_id in canceled else ())):
            found.append(Violation("truly", job_id, f"its delegate said DONE, the record says {state}"))
        if state == "canceled" and job_id not in canceled and not record.get("after"):
            found.append(Violation("truly", job_id, "canceled, and nobody asked for that"))
    return found


def _prompted_once(seen: Seen) -> list[Violation]:
    times, gone = Counter(prompt.job_id for prompt in seen.prompts), _removed(seen)
    found = [
        Violation("prompted-once", job_id, f"its prompt was delivered {count} times")
        for job_id, count in times.items()
        if count > 1
    ]
    found += [
        Violation("prompted-once", job_id, "a delegate ran for a job that nobody knows of")
        for job_id in times
        if job_id not in seen.records and job_id not in gone
    ]
    return found


def _removed(seen: Seen) -> set[str]:
    """Return the jobs that were cleaned up by their age, as the journal says: a clock may have jumped by months."""
    removed = {told.body["job_id"] for told in seen.journal if told.kind == "job.removed"}
    return removed | (set(seen.unreadable) if seen.generation > 1 else set())


def _heard(seen: Seen) -> list[Violation]:
    labels, gone = Counter(record.get("label") for record in seen.records.values()), _removed(seen)
    ever = {told.body["record"].get("label") for told in seen.journal if told.kind == "job.accepted"}
    found = []
    for asked in seen.asked:
        known = labels.get(asked.label, 0)
        there = known or asked.label in ever if asked.job_id is None else asked.job_id in seen.records
        if asked.answer == "accepted" and not there and asked.job_id not in gone:
            found.append(Violation("heard", asked.label, f"{asked.job_id or 'it'} was accepted and is not there"))
        if asked.answer == "refused" and known:
            found.append(Violation("heard", asked.label, "it was refused, and is there"))
        if known > 1:
            found.append(Violation("heard", asked.label, f"asked for once, there {known} times"))
    return found


def _sent_once(seen: Seen) -> list[Violation]:
    found = []
    for sent in seen.sends:
        name = f"{sent.session_id} send {sent.number}"
        if sent.read > 1:
            found.append(Violation("sent-once", name, f"read {sent.read} times"))
        if sent.answer == "given" and sent.session_lives and not sent.read:
            found.append(Violation("sent-once", name, "given, and never read"))
        if sent.answer == "refused" and sent.read:
            found.append(Violation("sent-once", name, "refused, and read"))
    return found


def _nobody_else(seen: Seen) -> list[Violation]:
    found = []
    for process in seen.processes:
        if process.kind == "stranger" and (process.signals or not process.alive):
            found.append(Violation("no-stranger", str(process.pid), f"got signals {list(process.signals)}"))
        if process.kind != "stranger" and process.alive:
            found.append(Violation("nothing-left", process.about, f"its {process.kind} {process.pid} still runs"))
    return found


def _kept(seen: Seen) -> list[Violation]:
    found = []
    if seen.database != "ok":
        found.append(Violation("database", "integrity_check", seen.database))
    if not seen.answers:
        found.append(Violation("restarts", "supervisor", "the next one does not answer"))
    last = 0
    for told in seen.journal:
        if told.generation != seen.generation:
            continue
        if told.seq <= last:
            found.append(Violation("journal", str(told.seq), f"{told.kind} came after {last}"))
        last = told.seq
        if seen.kept.get(told.seq) != told.kind:
            found.append(Violation("journal", str(told.seq), f"{told.kind} was told as kept and is not there"))
    return found


__all__ = ["TERMINAL", "Asked", "Process", "Prompted", "Seen", "Sent", "Told", "Violation", "check"]
