"""Which process writes which transcript. Pure; a proof first, then what only one answer fits, else unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .fleet_state import Life

EARLY_S = 2.0
"""A transcript may be dated so much before the process that writes it: clocks and file systems round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A running coding tool."""

    pid: int
    tool: str
    cwd: str | None
    """None where it can't be seen."""
    started_at: float
    """Epoch seconds."""
    session_id: str | None = None
    """The session that the tool itself says this process has."""
    words: frozenset[str] = frozenset()
    """Its command line."""
    open_files: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A transcript."""

    key: str
    tool: str
    session_id: str | None
    cwd: str | None
    written_at: float
    closed: bool = False
    """Whether it says itself that it is over."""
    pid: int | None = None
    """The process that it names itself."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """What is known of a transcript's process. ``pid`` None: it lives, or may, and which it is can't be told."""

    life: Life
    pid: int | None = None


def match(programs: Sequence[Program], scripts: Sequence[Script]) -> dict[str, Match]:
    """Return for each transcript's key what is known of its process."""
    found: dict[str, Match] = {}
    for tool in {script.tool for script in scripts}:
        ours = [script for script in scripts if script.tool == tool]
        theirs = [program for program in programs if program.tool == tool]
        found |= _of_tool(theirs, ours)
    return found


def _of_tool(programs: Sequence[Program], scripts: Sequence[Script]) -> dict[str, Match]:
    found: dict[str, Match] = {}
    taken: set[int] = set()
    newest_first = sorted(scripts, key=lambda script: script.written_at, reverse=True)
    for script in newest_first:
        pid = next((one.pid for one in programs if one.pid not in taken and _proven(one, script)), None)
        if pid is not None:
            found[script.key] = Match(Life.ALIVE, pid)
            taken.add(pid)
    left = [one for one in programs if one.pid not in taken and one.session_id is None]
    open_scripts = [script for script in newest_first if script.key not in found and not script.closed]
    for cwd in {script.cwd for script in open_scripts} - {None}:
        there = [one for one in left if one.cwd == cwd]
        begun = min((one.started_at for one in there), default=None)
        fitting = [one for one in open_scripts if one.cwd == cwd and begun is not None and _since(one, begun)]
        for script in fitting[: len(there)]:
            found[script.key] = Match(Life.ALIVE, there[0].pid if len(there) == 1 else None)
    unseen = [one for one in left if one.cwd is None]
    for script in newest_first:
        if script.key not in found:
            maybe = left if script.cwd is None else unseen
            doubt = not script.closed and any(_since(script, one.started_at) for one in maybe)
            found[script.key] = Match(Life.UNKNOWN if doubt else Life.DEAD)
    return found


def _proven(program: Program, script: Script) -> bool:
    if program.session_id is not None:
        return program.session_id == script.session_id
    named = script.session_id is not None and script.session_id in program.words
    own = script.pid == program.pid and _since(script, program.started_at)
    return named or own or (bool(script.path) and script.path in program.open_files)


def _since(script: Script, started_at: float) -> bool:
    return script.written_at >= started_at - EARLY_S


def without_transcript(
    programs: Iterable[Program], scripts: Iterable[Script], matches: Mapping[str, Match]
) -> list[Program]:
    """Return the programs that no transcript is for.

    Where some are known to have one, and not which has which, those that run longest count as having them.
    """
    known = {one.pid for one in matches.values() if one.pid is not None}
    unsure = Counter(
        (one.tool, one.cwd)
        for one in scripts
        if (found := matches.get(one.key)) is not None and found.life is Life.ALIVE and found.pid is None
    )
    left = []
    for program in sorted(programs, key=lambda one: one.started_at):
        if program.pid in known:
            continue
        if unsure[program.tool, program.cwd] > 0:
            unsure[program.tool, program.cwd] -= 1
        else:
            left.append(program)
    return left
