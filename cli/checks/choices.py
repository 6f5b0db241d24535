"""What the person has decided here: consent, mode, trusted lanes, limits, and parity with other tools."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial

from ...state import consent, driving_mode
from ...state.home import Home
from ...state.limits_reader import marks, quotas
from ...state.parity_receipt import alone, read_receipt, save_receipt
from ...state.reader import Reader
from ...state.trusted_lanes import read_trusted, trusted_file
from ..gauges import gauge_name, gauge_words, gauges
from ..render.lines import age
from .finding import Finding


def agreed(home: Home) -> Iterator[Finding]:
    """Say whether work may leave, how it is handed on, and who is trusted."""
    given = consent.read_consent(home)
    if given is None:
        words = "not given: the first job for a cloud lane will ask"
        yield Finding("consent", "note", words, "osrc consent grant")
    else:
        yield Finding("consent", "ok", f"given {given.at} by {given.by}")
    mode = driving_mode.read_mode(home)
    if mode is not None:
        yield Finding("mode", "ok", mode)
    elif os.path.lexists(driving_mode.mode_file(home)):
        yield Finding("mode", "warn", "what is kept is no mode", "osrc mode auto|manual|hybrid")
    else:
        yield Finding("mode", "note", "none is set: run chooses as always", "osrc mode auto|manual|hybrid")
    trusted = read_trusted(trusted_file(os.environ))
    if trusted.problem is not None:
        yield Finding("trust", "warn", trusted.problem)
    elif trusted.lanes:
        yield Finding("trust", "ok", f"{', '.join(sorted(trusted.lanes))} ({trusted.path})")


def limits(home: Home) -> Iterator[Finding]:
    """Say which lanes are down, and what the plans' gauges said last."""
    now = time.time()
    with Reader(home.database) as reader:
        down, capped = marks(reader, now), quotas(reader)
        read = gauges(reader, str(home.root), now)
    for mark in down:
        words = f"{mark.key.partition(':')[2]} is down for {age(mark.until - now)}: {mark.reason}"
        yield Finding("limits", "note", words, f"osrc limits clear {mark.lane}")
    for gauge in read:
        yield Finding("limits", "ok", f"{gauge_name(gauge)}: {gauge_words(gauge)}")
    if capped:
        yield Finding("limits", "ok", f"{len(capped)} daily quotas are set")
    if not down and not read and not capped:
        yield Finding("limits", "note", "no plan has told its limits yet", "osrc tap install")


def parity(home: Home) -> Iterator[Finding]:
    """Say which tools lack what they were given, or have it no more."""
    from ..parity_view import survey_here  # noqa: PLC0415 - only here

    receipt = read_receipt(home)
    found, problems = survey_here((), os.environ, receipt)
    for problem in problems:
        yield Finding("parity", "warn", problem)
    for one in found:
        if one.plan is None:
            continue
        name, count = one.tool.name, len(one.plan.actions)
        if name in receipt.hosts and count:
            words = f"{name}: {count} of what it was given is out of date or broken"
            yield Finding("parity", "warn", words, f"osrc parity {name}", partial(_repair, home, name))
        elif name in receipt.hosts:
            yield Finding("parity", "ok", f"{name}: has what it was given")
        elif count:
            yield Finding("parity", "note", f"{name} is here and has none of your skills", f"osrc parity {name}")


def _repair(home: Home, name: str) -> str:
    from ...actors.parity_apply import carry_out  # noqa: PLC0415 - as above
    from ..parity_view import survey_here  # noqa: PLC0415 - as above

    with alone(home):
        receipt = read_receipt(home)
        found, _ = survey_here((name,), os.environ, receipt)
        failed = carry_out(found, receipt, partial(save_receipt, home))
    return f"parity with {name} was repaired" if not failed else f"parity with {name}: {'; '.join(failed)}"
