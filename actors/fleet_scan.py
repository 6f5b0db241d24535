"""One look at every AI coding session of this machine: ours, and those that other tools started by themselves.

    scanner = Scanner(home, os.environ)
    scanner.scan()          # and again later: only what is new is read

One thread at a time uses a scanner. It needs no supervisor, and changes nothing but its own cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..lanes.fleet_match import Match, Program, match, without_transcript
from ..lanes.fleet_state import Life, Presence, Signs, judge
from ..lanes.transcripts.claude_presence import Told
from ..lanes.transcripts.formats import FORMATS
from ..lanes.transcripts.tail import Turn
from ..state.fleet_cache import NAMES, OFFSETS, read_cache, write_cache
from ..state.home import Home
from ..state.identity import judge as judge_process
from ..state.processes import LINUX
from .fleet_gather import Found, Gatherer
from .fleet_git import Repository, repository_of
from .fleet_own import own
from .fleet_panes import Panes, Place, asked_on_screen
from .fleet_processes import Look, Running, busy_share, command_line, epoch_of_boot, folder_of, lines_of, started_at
from .fleet_rows import FUTURE_S, Seen, filled, row_of, transcript_of

WINDOW_S = 48 * 3600.0
"""Sessions that ended longer ago are not looked for."""
MOST_ROWS = 1000
BUSY = 0.1
"""Part of one processor from which on a process tree is at work."""
PANES_S = 10.0
"""How often tmux is asked: each time is a process of its own for each server."""
SCREEN_S = 3.0
REPOSITORY_S = 5.0
_ORDER = {"waiting": 0, "maybe-stuck": 0, "working": 1, "idle": 2, "unknown": 3}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was seen, and when (epoch seconds)."""

    seen_at: float
    sessions: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Round:
    """What one look has gathered."""

    now: float
    look: Look
    running: Mapping[int, Running]
    told: Mapping[int, Told]
    busy: set[int]
    given: Mapping[str, Any]


class Scanner:
    """See the module."""

    def __init__(self, home: Home, environ: Mapping[str, str], wall: Callable[[], float] = time.time) -> None:
        """Look at nothing yet; what an earlier one understood of transcripts is read."""
        self._home, self._environ, self._wall = home, environ, wall
        self._gatherer = Gatherer(environ, read_cache(home, OFFSETS))
        self._panes, self._panes_at = Panes(), -PANES_S
        self._ticks: dict[int, tuple[float, int]] = {}
        self._screens: dict[int, tuple[float, str | None]] = {}
        self._repositories: dict[str, tuple[float, Repository | None]] = {}

    def scan(self) -> Snapshot:
        """Look at everything once."""
        now, notes = self._wall(), list[str]()
        look = Look()
        ours = own(self._home, now - WINDOW_S, now)
        if ours.problem:
            notes.append(ours.problem)
        running, told = self._running(look)
        found = self._gatherer.gather(running.values(), now - WINDOW_S, notes)
        self._look_at_panes(look, running, notes)
        programs = [_program(one, told.get(pid), look) for pid, one in running.items()]
        scripts = [one.script for one in found]
        matches = match(programs, scripts)
        seen = _Round(now, look, running, told, self._busy(look, running), read_cache(self._home, NAMES))
        mine = {pid for pid in running if ours.pids.intersection((pid, *look.above(pid)))}
        rows = [filled(row) for row in ours.rows]
        for one in found:
            matched = matches[one.key]
            name = one.tail.session_id or ""
            index, untouched = ours.conversations.get(name), matched.pid is None or matched.pid in mine
            if index is not None and untouched:
                rows[index]["transcript"] = transcript_of(one)
            elif name in ours.left and untouched:
                continue
            elif matched.pid not in mine:
                rows.append(self._foreign(one, matched, seen))
        foreign = [one for one in programs if one.pid not in mine]
        rows += self._bare(without_transcript(foreign, scripts, matches), seen)
        return Snapshot(now, tuple(self._finished(rows, now)), tuple(notes))

    def remember(self) -> None:
        """Keep how far every transcript was read, where anything was."""
        if self._gatherer.changed:
            write_cache(self._home, OFFSETS, self._gatherer.remembered())

    def _running(self, look: Look) -> tuple[dict[int, Running], dict[int, Told]]:
        """Return the tools that run, and what they say of themselves."""
        running = {one.row.pid: one for one in look.tools() if one.row.state not in "ZX"}
        told: dict[int, Told] = {}
        boot = epoch_of_boot()
        for one in self._gatherer.presences():
            row = look.rows.get(one.pid)
            known = running.get(one.pid)
            proven = one.started_ticks is not None and LINUX
            if row is None or (proven and judge_process(row, float(one.started_ticks or 0)) == "gone"):
                continue
            if not proven and (known is None or known.tool != "claude"):
                continue
            told[one.pid] = one
            if known is None:
                argv = command_line(one.pid)
                running[one.pid] = Running(row, "claude", argv, folder_of(one.pid), started_at(row, boot))
        return running, told

    def _look_at_panes(self, look: Look, running: Mapping[int, Running], notes: list[str]) -> None:
        mono = time.monotonic()
        if running and mono - self._panes_at >= PANES_S:
            self._panes_at = mono
            notes += self._panes.look(self._environ, lines_of(look.rows.values(), "tmux"))

    def _busy(self, look: Look, running: Mapping[int, Running]) -> set[int]:
        mono = time.monotonic()
        ticks = {pid: look.ticks(pid) for pid in running}
        busy = {pid for pid in running if (busy_share(self._ticks, pid, mono, ticks[pid]) or 0.0) >= BUSY}
        self._ticks = {pid: (mono, ticks[pid]) for pid in running}
        return busy

    def _foreign(self, one: Found, matched: Match, seen: _Round) -> dict[str, Any]:
        """Return the row of a transcript, with what is known of its process."""
        pid = matched.pid if matched.pid is not None else -1
        program, said = seen.running.get(pid), seen.told.get(pid)
        life = _life(program) if program is not None else matched.life
        quiet = seen.now - one.written_at if one.written_at <= seen.now + FUTURE_S else None
        presence = _presence(said, seen.now)
        place = self._place(pid, seen) if program is not None else None
        guessed = one.tool in FORMATS and FORMATS[one.tool].end_guessed
        signs = Signs(
            life=life,
            tail=one.tail,
            presence=presence,
            quiet_s=quiet,
            busy=pid in seen.busy,
            runs_something=guessed and program is not None and seen.look.runs_since(pid, one.written_at),
            end_guessed=guessed,
            on_screen=self._on_screen(program, one, place) if program and place and said is None else None,
        )
        name = seen.given.get(f"{one.tool}:{one.tail.session_id}")
        return row_of(
            Seen(
                tool=one.tool,
                judged=judge(signs),
                alive=None if life is Life.UNKNOWN else life is not Life.DEAD,
                found=one,
                running=program,
                told=said,
                place=place,
                given=name.get("name") if isinstance(name, dict) and isinstance(name.get("name"), str) else None,
            ),
            seen.now,
        )

    def _bare(self, programs: list[Program], seen: _Round) -> list[dict[str, Any]]:
        """Return the rows of programs that no transcript is known of."""
        rows = []
        for program in programs:
            one, said = seen.running[program.pid], seen.told.get(program.pid)
            signs = Signs(life=_life(one), presence=_presence(said, seen.now), busy=program.pid in seen.busy)
            place = self._place(program.pid, seen)
            row = Seen(tool=one.tool, judged=judge(signs), alive=True, running=one, told=said, place=place)
            rows.append(row_of(row, seen.now))
        return rows

    def _on_screen(self, program: Running, one: Found, place: Place) -> str | None:
        """Return what a session in the middle of a turn asks on its screen: some write no question down."""
        now, pid = time.monotonic(), program.row.pid
        guessed = one.tail.turn is Turn.ENDED and FORMATS[one.tool].end_guessed
        if one.tail.turn is not Turn.OPEN and not guessed:
            return None
        before = self._screens.get(pid)
        if before is not None and now - before[0] < SCREEN_S:
            return before[1]
        self._screens = {known: row for known, row in self._screens.items() if now - row[0] < SCREEN_S}
        asked = asked_on_screen(place, one.tool, one.tail.version or program.version, self._environ)
        self._screens[pid] = (now, asked)
        return asked

    def _place(self, pid: int, seen: _Round) -> Place | None:
        return self._panes.of((pid, *seen.look.above(pid)))

    def _finished(self, rows: list[dict[str, Any]], now: float) -> list[dict[str, Any]]:
        """Sorted, bounded, and with their repositories."""
        rows.sort(key=lambda row: (_ORDER.get(row["state"], 4 if row["alive"] else 5), row["age_s"] or 0.0))
        del rows[MOST_ROWS:]
        for row in rows:
            known = self._repository(row["cwd"], now) if row["cwd"] else None
            if known is not None:
                row["repository"] = known.name
                row["branch"] = row["branch"] or (known.branch if row["alive"] else None)
        return rows

    def _repository(self, folder: str, now: float) -> Repository | None:
        before = self._repositories.get(folder)
        if before is not None and 0 <= now - before[0] < REPOSITORY_S:
            return before[1]
        if len(self._repositories) > MOST_ROWS:
            self._repositories.clear()
        found = repository_of(folder)
        self._repositories[folder] = (now, found)
        return found


def _life(one: Running) -> Life:
    return Life.STOPPED if one.row.state in "Tt" else Life.ALIVE


def _presence(told: Told | None, now: float) -> Presence | None:
    if told is None:
        return None
    since = now - told.changed_at if told.changed_at is not None and told.changed_at <= now + FUTURE_S else None
    return Presence(status=told.status, waiting_for=told.waiting_for, since_s=since)


def _program(one: Running, told: Told | None, look: Look) -> Program:
    return Program(
        pid=one.row.pid,
        tool=one.tool,
        cwd=one.cwd,
        started_at=one.started_at,
        session_id=told.session_id if told else None,
        words=frozenset(one.argv[1:64]),
        open_files=look.open_files(one.row.pid),
    )
