"""What every lane must hold to: plain functions over a lane, so that any test suite can run them.

A :class:`Subject` is a lane with a machine on which it can launch and streams that its program really
printed. Each function in ``CHECKS`` raises AssertionError where the lane breaks the contract
(``lanes/contract.py``). None of them knows a vendor.
"""

from __future__ import annotations

import builtins
import itertools
import os
import random
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from unittest import mock

from outsourcerer.lanes.contract import Ending, Host, Lane, Launch, Parser, Posture, ProbeFacts, Stream, Task
from outsourcerer.lanes.jsonl import coalesce
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import LANE_EVENT, FailureKind, TurnEnded, Unrecognised, UsageReported
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

WELL = ExitStatus(code=0)
ENDINGS = (
    ExitStatus(code=0),
    ExitStatus(code=1),
    ExitStatus(signal=9),
    ExitStatus(lost=True),
    ExitStatus(error="gone"),
)
ARGV_LIMIT = 16 * 1024
SECRET = "sk-0123456789-secret"
SECRET_NAMES = ("ANTHROPIC_API_KEY", "CODEX_API_KEY", "OPENAI_API_KEY", "OSRC_LOCAL_KEY", "CLAUDE_CODE_OAUTH_TOKEN")
HOSTILE_PROMPTS = (
    "plain",
    "two\nlines\r\n\ttabbed",
    '\'; rm -rf ~ "$(id)" `id` %s {job} {prompt} {model} ${HOME} \\n \\',
    "--dangerously-skip-permissions",
    "\u00e9\u4e2d\U0001f600 \u202e",
    "\udcff not unicode",
    "x" * 200_000,
    "y" * (2 * 1024 * 1024),
)


@dataclass(frozen=True)
class Recorded:
    """One recorded run of the lane's program."""

    name: str
    out: bytes
    err: bytes = b""
    exit: ExitStatus = WELL


@dataclass(frozen=True)
class Subject:
    """A lane under test."""

    lane: Lane
    host: Host
    streams: tuple[Recorded, ...]
    model: str | None = None
    small_prompts_only: bool = False
    """The prompt rides in the command line: long ones are refused, as the contract wants."""

    @property
    def verb(self) -> Verb:
        return next(iter(self.lane.verbs))

    def task(self, prompt: str = "do it", verb: Verb | None = None, **fields: object) -> Task:
        return Task(verb=verb or self.verb, prompt=prompt, cwd="/srv/it's here", model=self.model, **fields)

    def parser(self) -> Parser:
        return self.lane.parser(self.task())


def launched(subject: Subject, task: Task) -> Launch:
    result = subject.lane.plan(task, subject.host)
    assert isinstance(result, Launch), f"refused on a machine that has everything: {result}"
    return result


def read(subject: Subject, recorded: Recorded, sizes: Callable[[], int] | None = None) -> list:
    parser = subject.parser()
    events = []
    for data, stream in ((recorded.out, Stream.OUT), (recorded.err, Stream.ERR)):
        place = 0
        while place < len(data):
            step = sizes() if sizes else len(data)
            events += parser.feed(data[place : place + step], stream)
            place += step
    return coalesce(events + parser.finish(recorded.exit))


def describes_itself(subject: Subject) -> None:
    lane = subject.lane
    assert re.fullmatch(r"[a-z][a-z0-9_-]*", lane.name)
    assert lane.summary.strip()
    assert lane.install.strip()
    assert lane.billing.words.strip()
    assert lane.verbs
    for verb, posture in lane.verbs.items():
        assert not verb.read_only or posture is Posture.READ_ONLY, f"{verb} promises that nothing is changed"


def honours_exactly_its_verbs(subject: Subject) -> None:
    for verb in Verb:
        result = subject.lane.plan(subject.task(verb=verb), subject.host)
        if verb in subject.lane.verbs:
            assert isinstance(result, Launch), f"{verb} is declared, and refused"
        else:
            assert isinstance(result, Refused), f"{verb} is not declared, and launched"
            assert result.code is RefusalCode.VERB_UNSUPPORTED


def plans_a_clean_command(subject: Subject) -> None:
    for verb, effort in itertools.product(subject.lane.verbs, (None, *Effort)):
        task = subject.task(verb=verb, effort=effort)
        plan = launched(subject, task)
        assert plan == subject.lane.plan(task, subject.host), "the same question has two answers"
        assert PurePath(plan.argv[0]).is_absolute(), "the program is not an absolute path"
        assert all(plan.argv), "an empty item in the command"
        assert not any("\x00" in item for item in plan.argv)


def never_interprets_a_prompt(subject: Subject) -> None:
    usual = launched(subject, subject.task("usual"))
    for prompt in HOSTILE_PROMPTS:
        raw = prompt.encode("utf-8", "surrogateescape")
        result = subject.lane.plan(subject.task(prompt), subject.host)
        if isinstance(result, Refused):
            assert subject.small_prompts_only, f"refused a prompt of {len(raw)} bytes: {result.message}"
            assert result.code is RefusalCode.BAD_TASK
            continue
        assert [item for item in result.argv if item != prompt] == [item for item in usual.argv if item != "usual"]
        carried = [result.stdin == raw, prompt in result.argv, raw in [file.content for file in result.files]]
        assert carried.count(True) == 1, "the prompt must go one way, word for word"
        assert len(raw) <= ARGV_LIMIT or prompt not in result.argv, "a long prompt in the command line"


def refuses_what_no_program_reads(subject: Subject) -> None:
    assert isinstance(subject.lane.plan(subject.task("a\x00b"), subject.host), Refused)


def keeps_secrets_out_of_sight(subject: Subject) -> None:
    environment = {**subject.host.environment, **dict.fromkeys(SECRET_NAMES, SECRET)}
    plan = subject.lane.plan(subject.task(), replace(subject.host, environment=environment))
    assert isinstance(plan, Launch)
    seen = " ".join((*plan.argv, *plan.notices)) + repr(plan)
    assert SECRET not in seen
    assert SECRET.encode() not in (plan.stdin or b"")


def reads_any_cut_alike(subject: Subject) -> None:
    chance = random.Random(7)
    for recorded in subject.streams:
        whole = read(subject, recorded)
        assert read(subject, recorded, lambda: 1) == whole, f"{recorded.name}: byte by byte"
        for _ in range(3):
            assert read(subject, recorded, lambda: chance.randint(1, 60)) == whole, f"{recorded.name}: random cuts"
        noisy = replace(recorded, out=recorded.out + "\u00e9\u4e2d not json \x1b[31m".encode() + b"\xff\xc3")
        assert read(subject, noisy, lambda: 1) == read(subject, noisy), f"{recorded.name}: noise at its end"


def survives_any_bytes(subject: Subject) -> None:
    chance = random.Random(11)
    sample = subject.streams[0].out if subject.streams else b""
    wild = [
        b"",
        b"\x00\xff\xfe" * 100,
        b"{" * 100_000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"type":' * 1000 + b"\n",
        b"q" * (9 * 1024 * 1024) + b"\n",
        b'{"type":"' + b"z" * (9 * 1024 * 1024),
        sample[: len(sample) // 2],
        bytes(chance.randrange(256) if chance.random() < 0.02 else byte for byte in sample),
        sample.replace(b":", b":[").replace(b"}", b"]}"),
        sample.replace(b'"', b"\\ud800"),
    ]
    for data in wild:
        for stream in Stream:
            parser = subject.parser()
            events = [*parser.feed(data, stream), *parser.finish(ExitStatus(code=1))]
            assert len(events) <= 10 + len(data) // 20
            for event in events:
                LANE_EVENT.validate_json(event.model_dump_json())


def ends_each_turn_once(subject: Subject) -> None:
    for recorded in subject.streams:
        events = read(subject, recorded)
        ends = [event for event in events if isinstance(event, TurnEnded)]
        assert len(ends) == 1, f"{recorded.name}: {len(ends)} ends"
    for ending in ENDINGS:
        parser = subject.parser()
        events = parser.finish(ending)
        assert [isinstance(event, TurnEnded) for event in events] == [True], "silence must end the turn, once"
        assert parser.finish(ending) == [], "a second finish must add nothing"


def claims_no_success_it_has_not_seen(subject: Subject) -> None:
    for ending in ENDINGS:
        [end] = subject.parser().finish(ending)
        assert end.synthetic, "no final event was printed"
        assert end.ok is False or ending.code == 0, f"ok after {ending}"
        assert not (end.text or "").strip(), "an answer out of nothing"


def counts_usage_upwards(subject: Subject) -> None:
    for recorded in subject.streams:
        reports = [event.usage for event in read(subject, recorded) if isinstance(event, UsageReported)]
        for before, after in itertools.pairwise(reports):
            for name in type(before).model_fields:
                old, new = getattr(before, name), getattr(after, name)
                assert old is None or (new is not None and new >= old), f"{recorded.name}: {name} went down"


def knows_its_own_streams(subject: Subject) -> None:
    for recorded in subject.streams:
        strange = [event for event in read(subject, recorded) if isinstance(event, Unrecognised)]
        assert not strange, f"{recorded.name}: {strange}"


def reads_in_linear_time(subject: Subject) -> None:
    """Four times the input may take ten times as long on a busy machine, not sixteen."""

    def seconds(size: int, unit: bytes, step: int) -> float:
        best = float("inf")
        for _ in range(3):
            parser = subject.parser()
            data = unit * (size // len(unit))
            start = time.process_time()
            for place in range(0, len(data), step):
                parser.feed(data[place : place + step])
            parser.finish(ExitStatus(code=0))
            best = min(best, time.process_time() - start)
        return best

    longest = max((recorded.out for recorded in subject.streams), key=len, default=b"") + b"\n"
    for unit, size, step in ((b"x", 200_000, 64), (b"x\x1b[31", 400_000, 4096), (longest, 300_000, 4096)):
        small, large = seconds(size, unit, step), seconds(4 * size, unit, step)
        assert large < 10 * small + 0.02, f"{small:.3f} s became {large:.3f} s"


def classifies_doubt_as_the_task(subject: Subject) -> None:
    classify = subject.lane.classify
    assert classify(Ending(exit=ExitStatus(code=1), turn=None)) is FailureKind.TASK
    assert classify(Ending(exit=ExitStatus(signal=9), turn=None)) is FailureKind.INTERRUPTED
    assert classify(Ending(exit=ExitStatus(lost=True), turn=None)) is FailureKind.INTERRUPTED
    assert classify(Ending(exit=ExitStatus(error="gone"), turn=None)) is FailureKind.LAUNCH
    assert classify(Ending(exit=ExitStatus(code=0), turn=TurnEnded(ok=True))) is FailureKind.NONE


def probes_without_surprise(subject: Subject) -> None:
    bare = Host(environment={}, executables={}, python="/bin/python3")
    for host, output in itertools.product((bare, subject.host), (None, b"", b"\xff\xfe", b"9" * 9999, b"v1.2.3\n")):
        readiness = subject.lane.probe(ProbeFacts(host=host, version_output=output))
        assert readiness.detail.strip()
        assert readiness.level != "absent" or readiness.fix, "absent, and no word on how to get it"


@contextmanager
def no_outside_world() -> Iterator[None]:
    def forbidden(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a lane reached for the outside world")

    class Nothing(dict):
        __getitem__ = get = __contains__ = __iter__ = items = keys = values = forbidden

    with (
        mock.patch.object(builtins, "open", forbidden),
        mock.patch.object(os, "open", forbidden),
        mock.patch.object(os, "environ", Nothing()),
        mock.patch.object(os, "getenv", forbidden),
        mock.patch.object(os, "urandom", forbidden),
        mock.patch.object(subprocess, "Popen", forbidden),
        mock.patch.object(socket, "socket", forbidden),
        mock.patch.object(time, "time", forbidden),
        mock.patch.object(time, "monotonic", forbidden),
    ):
        yield


def touches_nothing_outside(subject: Subject) -> None:
    subject.parser()  # a parser's module may be loaded at its first use
    with no_outside_world():
        for verb in Verb:
            subject.lane.plan(subject.task(verb=verb, effort=Effort.HIGH), subject.host)
        for recorded in subject.streams:
            read(subject, recorded)
        subject.lane.classify(Ending(exit=ExitStatus(code=1), turn=None, tail="connection refused"))
        subject.lane.probe(ProbeFacts(host=subject.host, version_output=b"1.2.3"))


CHECKS: Mapping[str, Callable[[Subject], None]] = {
    check.__name__: check
    for check in (
        describes_itself,
        honours_exactly_its_verbs,
        plans_a_clean_command,
        never_interprets_a_prompt,
        refuses_what_no_program_reads,
        keeps_secrets_out_of_sight,
        reads_any_cut_alike,
        survives_any_bytes,
        ends_each_turn_once,
        claims_no_success_it_has_not_seen,
        counts_usage_upwards,
        knows_its_own_streams,
        reads_in_linear_time,
        classifies_doubt_as_the_task,
        probes_without_surprise,
        touches_nothing_outside,
    )
}
