"""A CLI's own terminal interface in a pseudo-terminal, steered by what its screen shows.

``launch.options``: ``cli`` (whose screens), ``version`` (else the program is asked for it), ``columns``, ``rows``,
and any bound of ``Pace``. Needs pyte and pexpect: the holder's ``sys_path`` must lead to it.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from ...lanes.screens.classify import classify
from ...lanes.screens.delivery import Look
from ...lanes.screens.model import Composer, ScreenState, State
from ...lanes.screens.rules import RULES, ScreenRules, dotted, rules_for, version_of
from ...state.flags import CLOEXEC, NOFOLLOW
from .conduct import ASKING, Conduct, Pace
from .engine import Stage
from .pty_process import TerminalProcess, spawn, unread
from .recorded import record_for
from .records import Record
from .terminal import COLUMNS, MOMENT, ROWS, Terminal
from .transcript import TurnText
from .version import Asked, ask_version
from .viewers import Viewers

_READ = 65536
_RECORD_S = 20.0
"""How long the answer of a turn that looks over is waited for in the record."""
_BUSY_LOOK_S, _CALM_LOOK_S, _REST_LOOK_S = 0.05, 0.25, 2.0
_WAIT_S = 1.0
_SAVE_S = 0.5
_ASK_S = 0.03
TERM = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
_NO_VERSION = ScreenState(state=State.STARTING, evidence="its version is being asked for", composer=Composer.HIDDEN)


class PtyEngine:
    """See the module. The ``Engine`` and ``Attachable`` of a holder."""

    def __init__(self, stage: Stage) -> None:
        """Start nothing yet."""
        options: dict[str, Any] = dict(stage.launch.get("options") or {})
        self.pid: int | None = None
        self._stage = stage
        self._loop = stage.loop
        self._columns, self._rows = int(options.get("columns") or COLUMNS), int(options.get("rows") or ROWS)
        self._own_size = (self._columns, self._rows)
        self._rules: ScreenRules | None = None
        self._asked: Asked | None = None
        self._version = options.get("version")
        self._terminal = Terminal(self._columns, self._rows, self._reply)
        self._conduct = Conduct(None, Pace.of(options), self, stage.emit)
        self._text = TurnText(self._terminal, stage.emit)
        self._record: Record | None = None
        self._cli = str(options.get("cli"))
        self._process: TerminalProcess | None = None
        self._viewers = Viewers(self._loop, self._terminal, self._typed_by_viewer, self._viewed)
        self._unflushed = 0
        self._last_output = self._loop.now()
        self._timer: int | None = None
        self._due = 0.0
        self._saved_at = 0.0
        self._silent = False
        """Its output has come to its end."""
        self._rested_at: float | None = None
        """Since when a turn looks over whose answer its record does not have."""

    # --- life

    def start(self) -> None:
        """Start the program. Raises EngineError."""
        launch = self._stage.launch
        env = {**launch["env"], **TERM, "COLUMNS": str(self._columns), "LINES": str(self._rows)}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "TMUX", "TMUX_PANE"):
            env.pop(name, None)
        umask = int(launch.get("umask") or 0o077)
        self._process = self.spawn(launch["argv"], env, launch["cwd"], (self._columns, self._rows), umask)
        self.pid = self._process.pid
        if self._process.fixed is not None:
            self._own_size = self._columns, self._rows = self._process.fixed
            self._terminal.resize(self._columns, self._rows)
        if (named := (launch.get("options") or {}).get("conversation")) is not None:
            self._stage.emit({"type": "start", "conversation": str(named)})
        self._record = record_for(self._cli, env, self.pid, None if named is None else str(named))
        if self._version is None:
            plain = bool(launch.get("plain"))
            self._asked = ask_version(self._loop, launch["argv"][0], env, self._told_version, plain=plain)
        else:
            self._told_version(str(self._version))
        if self._process.descriptor is not None:
            self._loop.watch(self._process.descriptor, self._readable)
        else:
            self._loop.later(_ASK_S, self._poll)
        self._loop.later(_WAIT_S, self._check)
        self._look_in(_BUSY_LOOK_S)

    def spawn(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: tuple[int, int], umask: int
    ) -> TerminalProcess:
        """Start the program in a terminal. Raises EngineError."""
        return spawn(argv, env, cwd, size, umask)

    def _told_version(self, text: str) -> None:
        self._asked = None
        version = version_of(text)
        self._rules = self._conduct.rules = rules_for(self._cli, version)
        if self._rules is None:
            known = RULES.get(self._cli)
            span = f"{dotted(known.since)} up to {dotted(known.until)}" if known else "none"
            told = dotted(version) if version else "unknown"
            notice = f"The screens of {self._cli} {told} are not known (only {span}): nothing is typed into it."
            self._stage.emit({"type": "notice", "text": notice})
        self._look_in(0.0)

    def close(self) -> None:
        """Press the keys that make it leave politely."""
        for place, key in enumerate(self._rules.quit if self._rules is not None else ("\x03", "\x03")):
            self._loop.later(0.4 * place, lambda key=key: self.type(key))  # type: ignore[misc]

    def _check(self) -> None:
        if self._process is None:
            return
        ended = self._process.ended()
        if ended is None:
            self._loop.later(_WAIT_S, self._check)
            return
        self._gone(*ended)

    def _gone(self, code: int | None, signal: int | None) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        self._viewers.close()
        if self._asked is not None:
            self._asked.close()
        if process.descriptor is not None:
            self._loop.unwatch(process.descriptor)
        process.terminate()
        self._conduct.exited()
        self._save_screen()
        self._stage.gone(code, signal)

    # --- what is wanted

    def send(self, number: int, text: str) -> None:
        """Give it a text, once its composer can take it."""
        self._text.begin(text)
        if self._record is not None:
            self._record.expect(text)
        self._conduct.send(number, text)
        self._look_in(0.0)

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Choose in its dialog."""
        self._conduct.answer(number, choice, request)
        self._look_in(0.0)

    def interrupt(self, number: int) -> None:
        """Press its interrupt key."""
        self._conduct.interrupt(number)
        self._look_in(_BUSY_LOOK_S)

    def set_model(self, number: int, model: str) -> None:
        """Switch through its picker."""
        self._conduct.set_model(number, model)
        self._look_in(0.0)

    def set_effort(self, number: int, effort: str) -> None:
        """Switch through its own command."""
        self._conduct.set_effort(number, effort)
        self._look_in(0.0)

    def set_mode(self, number: int, mode: str) -> None:
        """Say that nobody but the person does that here."""
        self._conduct.set_mode(number, mode)
        self._look_in(0.0)

    def attach(self, connection: socket.socket, rows: int, columns: int) -> None:
        """Show the live terminal to somebody."""
        self._viewers.add(connection, columns, rows)

    def screen(self) -> str:
        """What the terminal shows, as text."""
        return self._terminal.screen().text().rstrip()

    def _viewed(self, columns: int, rows: int) -> None:
        """A viewer has come or changed its size; 0: the last has gone."""
        self.resize(*((columns, rows) if columns else self._own_size))

    def resize(self, columns: int, rows: int) -> None:
        """Take a size."""
        if self._process is None or self._process.fixed is not None:
            return
        if (columns, rows) != (self._columns, self._rows):
            self._columns, self._rows = columns, rows
            self._terminal.resize(columns, rows)
            self._process.resize(columns, rows)
            self._look_in(_BUSY_LOOK_S)

    # --- the terminal

    @property
    def bracketed(self) -> bool:
        """Whether the program takes pastes as such."""
        return self._terminal.bracketed_paste

    def type(self, data: str) -> None:
        """Write into the terminal, without blocking."""
        self._write(data.encode("utf-8", "replace"))

    def _typed_by_viewer(self, data: bytes) -> None:
        self._write(data)

    def _reply(self, data: bytes) -> None:
        self._write(data)

    def _write(self, data: bytes) -> None:
        if self._process is None:
            return
        if self._process.descriptor is None:
            self._process.write(data)
            return
        self._unflushed += 1
        self._loop.write(self._process.descriptor, data, self._flushed)

    def _flushed(self) -> None:
        self._unflushed -= 1

    def _readable(self) -> None:
        process = self._process
        if process is None:
            return
        data = process.read_nonblocking(_READ)
        if data is None:
            return
        if not data:
            self._silent = True
            if process.descriptor is not None:
                self._loop.unwatch(process.descriptor)
            self._loop.later(0.0, self._hung_up)
            return
        self._last_output = self._loop.now()
        self._viewers.show(data)
        self._feed(data)
        self._look_in(_BUSY_LOOK_S)

    def _poll(self) -> None:
        """Ask for output where nothing tells that there is some."""
        if self._process is not None and not self._silent:
            self._readable()
            self._loop.later(_ASK_S, self._poll)

    def _feed(self, data: bytes) -> None:
        """Take output in; while a turn is awaited, look at each moment of it: a short turn is gone in the next."""
        if self._conduct.sending is None:
            self._terminal.feed(data)
            return
        start = 0
        for end in MOMENT.finditer(data):
            if end.end() > start:
                self._terminal.feed(data[start : end.end()])
                start = end.end()
                self._look()
        self._terminal.feed(data[start:])

    def _hung_up(self) -> None:
        """All ends of the terminal are closed: the program has ended, or is about to."""
        if self._process is None:
            return
        ended = self._process.ended()
        if ended is not None:
            self._gone(*ended)
        else:
            self._loop.later(0.05, self._hung_up)

    # --- looks

    def _look_in(self, seconds: float) -> None:
        due = self._loop.now() + seconds
        if self._timer is not None:
            if due >= self._due - 0.001:
                return
            self._loop.forget(self._timer)
        self._due = due
        self._timer = self._loop.later(seconds, self._timed_look)

    def _timed_look(self) -> None:
        self._timer = None
        if self._process is None:
            return
        self._look()
        if self._saved_at < self._last_output and self._loop.now() - self._saved_at >= _SAVE_S:
            self._save_screen()
        now = self._loop.now()
        pace = self._conduct.pace
        if self._conduct.busy or now - self._last_output < max(pace.idle_s, pace.ask_s, pace.settle_s) + 0.1:
            self._look_in(min(_BUSY_LOOK_S, max(pace.settle_s / 2, 0.002)))
        elif self._conduct.turn_running or self._conduct.state in ASKING:
            self._look_in(_CALM_LOOK_S)
        else:
            self._look_in(_REST_LOOK_S)

    def _look(self) -> None:
        process = self._process
        if process is None or self._terminal.in_frame:
            return
        found = _NO_VERSION if self._asked is not None else classify(self._terminal.screen(), self._rules)
        held = unread(process.terminal)
        now = self._loop.now()
        record = self._record
        if record is not None:
            record.poll(now)
            record.tell(self._stage.emit)
        was_running = self._conduct.turn_running
        self._conduct.look(
            Look(
                now=now,
                state=found,
                quiet_s=now - self._last_output,
                flushed=self._unflushed == 0,
                drained=None if held is None else held == 0,
                recorded=record is not None and record.has_expected,
                busy=record.busy if record is not None else None,
            )
        )
        self._after(was_running=was_running)

    def _after(self, *, was_running: bool) -> None:
        """Tell the end of a turn, and what was said."""
        conduct = self._conduct
        found = conduct.found
        if found is None:
            return
        over = conduct.turn_running and was_running and conduct.state is State.IDLE
        if not over:
            self._rested_at = None
        if over and not self._record_is_due():
            conduct.turn_running = False
            record = self._record
            answer = record.answer() if record is not None else None
            if record is not None:
                record.tell(self._stage.emit)
            self._text.finish(found.body, answer)
            self._save_screen()
        elif conduct.turn_running and conduct.state in ASKING:
            self._text.progress(found.body)

    def _record_is_due(self) -> bool:
        """Whether the CLI's record will have what the screen shows already, or the turn has only begun."""
        if self._record is None or not self._record.behind():
            return False
        now = self._loop.now()
        self._rested_at = now if self._rested_at is None else self._rested_at
        return now - self._rested_at < _RECORD_S

    def _save_screen(self) -> None:
        """Keep the picture for readers who have no holder to ask."""
        self._saved_at = self._loop.now()
        path = os.path.join(self._stage.folder, "screen")
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NOFOLLOW | CLOEXEC
            descriptor = os.open(path, flags, 0o600)
            try:
                os.write(descriptor, self.screen().encode("utf-8", "replace"))
            finally:
                os.close(descriptor)
        self._stage.emit({"type": "screen"})
