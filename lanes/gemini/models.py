"""Which program runs, and which model a word such as ``gemini-flash`` means on it. Data and pure functions.

A symbolic word is resolved by, in this order: a pin in the environment; the newest id of its family in
the vehicle's catalogue, where somebody has read it; the CLI's own word for the family (Gemini CLI); the
last id that was known (``agy``). Every other id is sent as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort
from ..contract import Host

FORCE = "OSRC_GEMINI_VEHICLE"


class Vehicle(StrEnum):
    """The program that a job of this lane drives."""

    AGY = "agy"
    GEMINI = "gemini"


FAMILIES: Mapping[str, str] = {"gemini-pro": "pro", "gemini-flash": "flash", "gemini-flash-lite": "flash-lite"}
"""Symbolic word → family."""

PINS: Mapping[tuple[Vehicle, str], str] = {
    (Vehicle.AGY, "pro"): "OSRC_AGY_PRO_DEFAULT",
    (Vehicle.AGY, "flash"): "OSRC_AGY_FLASH_DEFAULT",
    (Vehicle.GEMINI, "pro"): "OSRC_GEMINI_PRO_API_ID",
    (Vehicle.GEMINI, "flash"): "OSRC_GEMINI_FLASH_API_ID",
    (Vehicle.GEMINI, "flash-lite"): "OSRC_GEMINI_FLASH_LITE_API_ID",
}
"""Environment variable that pins a family's id."""

FALLBACKS: Mapping[tuple[Vehicle, str], str] = {
    (Vehicle.AGY, "pro"): "gemini-3.1-pro",
    (Vehicle.AGY, "flash"): "gemini-3.8-flash",
    (Vehicle.GEMINI, "pro"): "pro",
    (Vehicle.GEMINI, "flash"): "flash",
    (Vehicle.GEMINI, "flash-lite"): "flash-lite",
}
"""As of 2026-11. Gemini CLI resolves its own words (seen on 0.61.0: ``flash`` asked for gemini-3.8-flash)."""

EFFORTS: Mapping[Effort, str] = {
    Effort.MINIMAL: "low",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "high",
    Effort.MAX: "high",
}
"""What ``agy --effort`` takes."""

_ID = re.compile(r"gemini-(\d{1,3})(?:\.(\d{1,3}))?-(pro|flash-lite|flash)(-preview)?(?:-[a-z0-9-]{1,40})?")
_NAMED_EFFORT = re.compile(r"-(low|medium|high)$")
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What goes on the command line. ``effort`` is only ever set for ``agy``."""

    model: str | None
    effort: str | None = None
    notices: tuple[str, ...] = ()


def vehicle_of(host: Host) -> Vehicle | Refused:
    """Return the program to drive: the forced one, else ``agy`` where it is installed, else Gemini CLI."""
    forced = host.environment.get(FORCE, "").strip().lower()
    if forced not in ("", "auto", *Vehicle):
        return Refused(
            code=RefusalCode.BAD_CONFIG,
            message=f"{FORCE}={forced[:40]!r} is neither agy nor gemini.",
            hint=f"unset {FORCE}, or set it to agy or gemini",
        )
    if forced in tuple(Vehicle):
        return Vehicle(forced)
    return Vehicle.AGY if host.executables.get(Vehicle.AGY) else Vehicle.GEMINI


def newest(catalogue: Iterable[str], family: str) -> str | None:
    """Return the newest id of a family, or None.

    Versions compare as numbers, a preview loses to a final of its version, and effort suffixes are dropped.
    """
    best: tuple[tuple[int, int, bool], str] | None = None
    for entry in catalogue:
        name = _NAMED_EFFORT.sub("", entry.strip())
        match = _ID.fullmatch(name)
        if match is None or match[3] != family:
            continue
        rank = (int(match[1]), int(match[2] or 0), match[4] is None)
        if best is None or rank > best[0]:
            best = rank, name
    return best[1] if best else None


def choose(
    model: str | None,
    effort: Effort | None,
    vehicle: Vehicle,
    environment: Mapping[str, str],
    catalogue: Iterable[str] = (),
) -> Chosen:
    """Return what a model word and an effort become on a vehicle."""
    chosen, notices = _resolve(model, vehicle, environment, tuple(catalogue))
    if vehicle is Vehicle.GEMINI:
        if effort is not None:
            notices.append(f"Gemini CLI has no effort setting: effort {effort} is in the prompt only.")
        return Chosen(model=chosen, notices=tuple(notices))
    word, more = _agy_effort(chosen, effort)
    return Chosen(model=chosen, effort=word, notices=(*notices, *more))


def _resolve(
    model: str | None, vehicle: Vehicle, environment: Mapping[str, str], catalogue: tuple[str, ...]
) -> tuple[str | None, list[str]]:
    family = FAMILIES.get(model or "")
    if family is None:
        return _listed(model, vehicle, catalogue)
    notices = []
    if (vehicle, family) not in FALLBACKS:
        notices.append("Antigravity has no flash-lite model: flash is used.")
        family = "flash"
    pinned = environment.get(PINS[vehicle, family], "").strip()
    if pinned and _SAFE.fullmatch(pinned):
        return pinned, notices
    return newest(catalogue, family) or FALLBACKS[vehicle, family], notices


def _listed(model: str | None, vehicle: Vehicle, catalogue: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """Replace an id that a catalogue of ``agy`` no longer lists; without a catalogue it is sent as it is."""
    match = _ID.fullmatch(model) if model else None
    if match is None or vehicle is not Vehicle.AGY or not catalogue or _in(model or "", catalogue):
        return model, []
    other = newest(catalogue, match[3])
    if other is None:
        return model, []
    return other, [f"Antigravity no longer lists {model}: {other} is used."]


def _in(model: str, catalogue: tuple[str, ...]) -> bool:
    return model in catalogue or model in {_NAMED_EFFORT.sub("", entry.strip()) for entry in catalogue}


def _agy_effort(model: str | None, effort: Effort | None) -> tuple[str | None, list[str]]:
    """Return ``--effort``: a bare id requires it, an id that names its effort forbids it."""
    if model is None:
        return None, [f"No model was named: effort {effort} is in the prompt only."] if effort else []
    named = _NAMED_EFFORT.search(model)
    if named is not None:
        differs = effort is not None and EFFORTS[effort] != named[1]
        return None, [f"{model} names its own effort: {named[1]} is used."] if differs else []
    word = EFFORTS[effort] if effort is not None else "medium"
    match = _ID.fullmatch(model)
    if word == "medium" and match is not None and match[3] == "pro":
        return "high", [f"{model} has no effort medium; high is used."]
    notices = [f"Antigravity has no effort {effort}; {word} is used."] if effort not in (None, word) else []
    return word, notices
