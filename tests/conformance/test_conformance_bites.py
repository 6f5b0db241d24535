"""The suite itself: each broken lane fails the check that is about its fault, and no other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from conformance.subjects import AGENT, HOST, OSRC, OSRC_OUT, declared
from outsourcerer.lanes.catalog.pools import CLAUDE_KEY
from outsourcerer.lanes.conformance import CHECKS, Recorded, Subject
from outsourcerer.lanes.contract import Lane, Posture, PrivateFile, Stream
from outsourcerer.lanes.osrc_jsonl import OsrcParser
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, LaneEvent, TurnEnded, UsageReported
from outsourcerer.messages.vocabulary import Verb

GOOD = declared(AGENT % "osrc-jsonl")


def with_parser(parser: type[OsrcParser]) -> Lane:
    return replace(GOOD, parser=lambda _task: parser())


def with_plan(change: Callable) -> Lane:
    return replace(GOOD, plan=lambda task, host: change(GOOD.plan(task, host), task, host))


class ByChunk(OsrcParser):
    """Forgets what was held when a chunk ends within a line."""

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        return super().feed(data if data.endswith(b"\n") else data + b"\n", stream)


class Fragile(OsrcParser):
    """Trusts its input to be UTF-8."""

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        if b"\xfe" in data:
            data.decode("ascii")
        return super().feed(data, stream)


class TwoEnds(OsrcParser):
    """Ends the turn at the end of output although it has ended."""

    def finish(self, exit_status: ExitStatus) -> list[LaneEvent]:
        events = super().finish(exit_status)
        return events if events and isinstance(events[-1], TurnEnded) else [*events, TurnEnded(ok=True)]


class Optimist(OsrcParser):
    """Takes every end for a good one."""

    def conclude(self, exit_status: ExitStatus) -> TurnEnded:
        return super().conclude(exit_status).model_copy(update={"ok": True, "failure": FailureKind.NONE})


class Forgetful(OsrcParser):
    """Reports each request's usage instead of the sum."""

    def _usage(self, item, events) -> None:
        events.append(UsageReported(usage=TokenUsage(input=9 - item["input"])))


class Stranger(OsrcParser):
    """Does not know one of its own lines."""

    types = OsrcParser.types - {b"retry"}


class Quadratic(OsrcParser):
    """Looks at everything again at each chunk."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = b""

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        self._seen += data
        self._seen.count(b"never there")
        return super().feed(data, stream)


class Watchful(OsrcParser):
    """Reads the clock."""

    def feed(self, data: bytes, stream: Stream = Stream.OUT) -> list[LaneEvent]:
        time.time()
        return super().feed(data, stream)


def shell_string(plan, task, _host):
    return replace(plan, argv=("/bin/sh", "-c", f"agent {task.prompt}"), stdin=None) if hasattr(plan, "argv") else plan


def keyed(plan, _task, host):
    key = host.environment.get("OPENAI_API_KEY")
    return replace(plan, argv=(*plan.argv, "--key", key)) if key and hasattr(plan, "argv") else plan


def keyed_file(plan, _task, host):
    key = host.environment.get("OPENAI_API_KEY")
    files = (PrivateFile(name="settings.json", content=key.encode()),) if key else ()
    return replace(plan, files=files) if hasattr(plan, "argv") else plan


def relative(plan, _task, _host):
    return replace(plan, argv=("agent", *plan.argv[1:])) if hasattr(plan, "argv") else plan


def never_refuses(plan, task, host):
    return plan if hasattr(plan, "argv") else GOOD.plan(replace(task, prompt=task.prompt.replace("\x00", "")), host)


BROKEN: dict[str, tuple[Lane, str]] = {
    "run that changes things": (
        replace(GOOD, verbs={**GOOD.verbs, Verb.RUN: Posture.MUTATING}),
        "describes_itself",
    ),
    "a verb it does not admit to": (
        replace(GOOD, verbs={Verb.RUN: Posture.READ_ONLY}),
        "honours_exactly_its_verbs",
    ),
    "a program looked up by somebody else": (with_plan(relative), "plans_a_clean_command"),
    "another pays than it says": (replace(GOOD, payer=lambda _host: CLAUDE_KEY), "says_beforehand_who_pays"),
    "a shell string": (with_plan(shell_string), "never_interprets_a_prompt"),
    "a NUL cut out in silence": (with_plan(never_refuses), "refuses_what_no_program_reads"),
    "another conversation than was told": (
        replace(GOOD, resume=("--resume", "{conversation}")),
        "takes_up_the_conversation_it_is_told",
    ),
    "a key in the command": (with_plan(keyed), "keeps_secrets_out_of_sight"),
    "a key in a file": (with_plan(keyed_file), "keeps_secrets_out_of_sight"),
    "lines end where chunks do": (with_parser(ByChunk), "reads_any_cut_alike"),
    "not every byte is text": (with_parser(Fragile), "survives_any_bytes"),
    "two ends of one turn": (with_parser(TwoEnds), "ends_each_turn_once"),
    "every end is a success": (with_parser(Optimist), "claims_no_success_it_has_not_seen"),
    "usage that goes down": (with_parser(Forgetful), "counts_usage_upwards"),
    "a line it does not know": (with_parser(Stranger), "knows_its_own_streams"),
    "everything read again": (with_parser(Quadratic), "reads_in_linear_time"),
    "doubt sent elsewhere": (
        replace(GOOD, classify=lambda _ending: FailureKind.TRANSPORT),
        "classifies_doubt_as_the_task",
    ),
    "absent without a way": (
        replace(GOOD, probe=lambda facts: replace(GOOD.probe(facts), fix=None)),
        "probes_without_surprise",
    ),
    "the clock": (with_parser(Watchful), "touches_nothing_outside"),
}


def failing(subject: Subject) -> set[str]:
    failed = set()
    for name, check in CHECKS.items():
        try:
            check(subject)
        except Exception:
            failed.add(name)
    return failed


def test_the_sound_lane_passes() -> None:
    assert failing(Subject(GOOD, HOST, OSRC, model="m")) == set()


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_lane_fails_the_check_about_its_fault(fault: str) -> None:
    lane, check = BROKEN[fault]
    assert failing(Subject(lane, HOST, OSRC, model="m")) == {check}


def test_every_check_is_shown_to_bite() -> None:
    assert {check for _, check in BROKEN.values()} == set(CHECKS)


def test_a_stream_without_end_fails_nothing_by_itself() -> None:
    cut = Recorded("cut", OSRC_OUT[:-5], exit=ExitStatus(lost=True))
    assert "ends_each_turn_once" not in failing(Subject(GOOD, HOST, (cut,)))
