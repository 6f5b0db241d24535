"""Whether an installed CLI is still the one its lane was written for: its version, and the options we give it.

Runs ``--version`` and ``--help`` of the CLI, and where a turn is asked for, that: no account, no real model.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..lanes.contract import Host, Lane, ReadinessLevel
from ..lanes.launching import version_tuple
from ..lanes.option_words import offered, used
from ..state.settings import Settings
from .host import host_for, probe, run_quick
from .rehearsal import Rehearsal, rehearse
from .scripted_mishaps import Mishap

HELP_S = 60.0
"""Longest wait for one help text (cline needs 4 s on two cores)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What was seen of one lane's program. ``verdict``: same, changed, broken, silent, untested, absent or unchecked.

    Silent is a program that goes on trying, and says nothing, when its model has failed it: whether its lane would
    tell that failure can't be seen.
    """

    lane: str
    verdict: str
    version: str | None = None
    tested: tuple[str, ...] = ()
    options: int = 0
    """How many options of ours were looked up in its help."""
    gone: tuple[str, ...] = ()
    """Those that its help no longer names."""
    turn: bool | None = None
    """Whether a turn against a scripted model went as the lane reads it; None: none was played."""
    mishaps: Mapping[str, bool | None] = field(default_factory=dict)
    """Which failures of the model were played, and whether the lane told each from others; None where it
    was still trying when its time was over."""
    notes: tuple[str, ...] = ()


def look(
    lane: Lane, environment: Mapping[str, str], settings: Settings, *, turn: bool = False, errors: bool = False
) -> Sighting:
    """Return what the installed program says of itself, against what ``lane`` expects.

    ``turn``: also have it play one against a scripted model, where it can be led to one. ``errors``: and one for
    each way in which the model may fail it.
    """
    ready = probe(lane, environment, settings)
    host = host_for(lane, environment, settings)
    program = host.executables.get(lane.binary) if lane.binary else None
    if lane.binary is not None and program is None:
        words = (ready.detail, *((f"fix: {ready.fix}",) if ready.fix else ()))
        absent = ready.level is ReadinessLevel.ABSENT
        return Sighting(lane=lane.name, verdict="absent" if absent else "unchecked", notes=words)
    looked, gone, notes = 0, list[str](), ["it drives no program of its own"]
    if program is not None:
        looked, gone, notes = _options(lane, host, program, environment)
        if age := _against(ready.version, lane):
            notes.insert(0, age)
    played = rehearse(lane, environment) if turn else Rehearsal(ok=None)
    if turn and played.ok is None:
        notes.append("it can't be led to a scripted model: no turn was played")
    notes += played.notes
    mishaps: dict[str, bool | None] = {}
    if errors and played.ok:
        tried = {mishap: rehearse(lane, environment, mishap) for mishap in Mishap}
        mishaps = {str(mishap): found.ok for mishap, found in tried.items()}
        notes += [note for found in tried.values() for note in found.notes]
    well = played.ok and False not in mishaps.values()
    verdict = "changed" if gone else "same" if looked and ready.tested else "untested" if looked else "unchecked"
    if program is None and well:
        verdict = "same"
    if played.ok is not None and not well:
        verdict = "broken"
    elif None in mishaps.values() and verdict in ("same", "untested"):
        verdict = "silent"
    return Sighting(
        lane=lane.name,
        verdict=verdict,
        version=ready.version,
        tested=lane.tested_versions,
        options=looked,
        gone=tuple(gone),
        turn=played.ok,
        mishaps=mishaps,
        notes=tuple(notes),
    )


def _options(lane: Lane, host: Host, program: str, environment: Mapping[str, str]) -> tuple[int, list[str], list[str]]:
    """Return how many options were looked up, those that are gone, and what could not be looked up."""
    looked, gone, notes = 0, [], []
    for command, options in sorted(used(lane, host).items()):
        output, code = run_quick((program, *command, "--help"), environment, HELP_S, subprocess.STDOUT)
        words = " ".join((lane.binary or "", *command, "--help"))
        named = offered(output or b"")
        if not named:
            notes.append(f"{words} told nothing" + ("" if code is None else f" (exit {code})"))
            continue
        looked += len(options)
        gone += [" ".join((*command, option)) for option in sorted(options - named)]
    if not looked and not notes:
        notes.append("no command line of its own to compare: it is spoken to by a delegate of ours")
    return looked, gone, notes


def _against(version: str | None, lane: Lane) -> str | None:
    """Return a sentence on a version that was not tested; None for one that was."""
    tested = lane.tested_versions
    if version is None:
        return "it told no version"
    if not tested:
        known = "it is known to speak ACP" if lane.provider == "acp" else "the lane is built from public facts"
        return f"no version of it was ever tested: {known}"
    if version in tested:
        return None
    last = max(tested, key=lambda word: version_tuple(word) or ())
    here, there = version_tuple(version), version_tuple(last)
    order = "another than" if here is None or there is None else "newer than" if here > there else "older than"
    return f"{version} is {order} {last}, which was tested"
