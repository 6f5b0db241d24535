"""Checks of a lane's parser, over recorded runs and over what no program should print."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import replace

from ...messages.job import ExitStatus
from ...messages.lane_events import LANE_EVENT, TurnEnded, Unrecognised, UsageReported
from ..contract import Stream
from .subject import Subject, read, require

ENDINGS = (
    ExitStatus(code=0),
    ExitStatus(code=1),
    ExitStatus(signal=9),
    ExitStatus(lost=True),
    ExitStatus(error="gone"),
)
_LONG = 9 * 1024 * 1024


def reads_any_cut_alike(subject: Subject) -> None:
    """The same events however the bytes arrive."""
    chance = random.Random(7)  # noqa: S311 - the same cuts at each run
    for recorded in subject.streams:
        whole = read(subject, recorded)
        require(read(subject, recorded, lambda: 1) == whole, f"{recorded.name}: byte by byte")
        for _ in range(3):
            cut = read(subject, recorded, lambda: chance.randint(1, 60))
            require(cut == whole, f"{recorded.name}: random cuts")
        noise = "\u00e9\u4e2d not json \x1b[31m".encode() + b"\xff\xc3"
        noisy = replace(recorded, out=recorded.out + noise)
        require(read(subject, noisy, lambda: 1) == read(subject, noisy), f"{recorded.name}: noise at its end")


def survives_any_bytes(subject: Subject) -> None:
    """Nothing raises, nothing floods, and every event can be written down."""
    for data, stream in itertools.product(_wild(subject.streams[0].out if subject.streams else b""), Stream):
        parser = subject.parser()
        events = [*parser.feed(data, stream), *parser.finish(ExitStatus(code=1))]
        require(len(events) <= 10 + len(data) // 20, f"{len(events)} events out of {len(data)} bytes")
        for event in events:
            LANE_EVENT.validate_json(event.model_dump_json())


def _wild(sample: bytes) -> tuple[bytes, ...]:
    chance = random.Random(11)  # noqa: S311 - the same bytes at each run
    return (
        b"",
        b"\x00\xff\xfe" * 100,
        b"{" * 100_000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"type":' * 1000 + b"\n",
        b"q" * _LONG + b"\n",
        b'{"type":"' + b"z" * _LONG,
        sample[: len(sample) // 2],
        bytes(chance.randrange(256) if chance.random() < 0.02 else byte for byte in sample),
        sample.replace(b":", b":[").replace(b"}", b"]}"),
        sample.replace(b'"', b"\\ud800"),
    )


def ends_each_turn_once(subject: Subject) -> None:
    """One ``TurnEnded`` a run, also where the program said nothing; a second one may only take a success back."""
    for recorded in subject.streams:
        ends = [event for event in read(subject, recorded) if isinstance(event, TurnEnded)]
        taken_back = [end.ok for end in ends] == [True, False]
        require(len(ends) == 1 or taken_back, f"{recorded.name}: {len(ends)} ends")
    for ending in ENDINGS:
        parser = subject.parser()
        events = parser.finish(ending)
        require([isinstance(event, TurnEnded) for event in events] == [True], "silence must end the turn, once")
        require(parser.finish(ending) == [], "a second finish must add nothing")


def claims_no_success_it_has_not_seen(subject: Subject) -> None:
    """Out of silence comes no success and no answer."""
    for ending in ENDINGS:
        for end in subject.parser().finish(ending):
            if not isinstance(end, TurnEnded):
                continue
            require(end.synthetic, "no final event was printed")
            require(end.ok is False or ending.code == 0, f"ok after {ending}")
            require(not (end.text or "").strip(), "an answer out of nothing")


def counts_usage_upwards(subject: Subject) -> None:
    """Usage is that of the whole turn so far: it never goes down, and what is known stays known."""
    for recorded in subject.streams:
        reports = [event.usage for event in read(subject, recorded) if isinstance(event, UsageReported)]
        for before, after in itertools.pairwise(reports):
            for name in type(before).model_fields:
                old, new = getattr(before, name), getattr(after, name)
                kept = old is None or (new is not None and new >= old)
                require(kept, f"{recorded.name}: {name} went down")


def knows_its_own_streams(subject: Subject) -> None:
    """Every line of the recorded runs is known."""
    for recorded in subject.streams:
        strange = [event for event in read(subject, recorded) if isinstance(event, Unrecognised)]
        require(not strange, f"{recorded.name}: {strange}")


def reads_in_linear_time(subject: Subject) -> None:
    """Four times the input may take ten times as long on a busy machine, not sixteen."""
    longest = max((recorded.out for recorded in subject.streams), key=len, default=b"") + b"\n"
    for unit, size, step in ((b"x", 200_000, 64), (b"x\x1b[31", 400_000, 4096), (longest, 300_000, 4096)):
        small, large = _seconds(subject, unit, size, step), _seconds(subject, unit, 4 * size, step)
        require(large < 10 * small + 0.02, f"{small:.3f} s became {large:.3f} s")


def _seconds(subject: Subject, unit: bytes, size: int, step: int) -> float:
    """Return the least processor time that reading ``size`` bytes of repeated ``unit`` took."""
    best = float("inf")
    data = unit * (size // len(unit))
    for _ in range(3):
        parser = subject.parser()
        start = time.process_time()
        for place in range(0, len(data), step):
            parser.feed(data[place : place + step])
        parser.finish(ExitStatus(code=0))
        best = min(best, time.process_time() - start)
    return best
