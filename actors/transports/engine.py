"""What a holder needs of an engine, and what it gives it. Standard library only, like all that a holder loads.

An engine owns one delegate process and its connection (pipes or a terminal). It runs in the holder's one
thread: it never blocks, and is called back by the stage's loop. What it sees it *emits* as events, plain
objects that the holder numbers, dates and appends to the session's ``events.jsonl``:

``{"type": "state", "state": S, "evidence": E}``  the delegate's state (``SessionState`` word) and what told it
``{"type": "delivery", "number": N, "state": D, "reason": R}``
    what became of inbox entry N: ``written`` (left us), ``seen`` (the program has it), ``turn-started``,
    ``done`` (a model was switched, an answer taken), ``refused`` (not now, or never: ``reason``), ``failed``,
    ``unverified`` (it was typed, but no turn was seen to start: ``reason``).
    ``accepted`` is the holder's own word. States only go forward; the last five end it.
``{"type": "ask", "request": ID, "tool": KIND, "name": N, "target": T, "title": T,
   "options": [{"id", "kind", "label"}], "free": BOOL}``
    it asks whether it may do something; ``kind`` is ``allow_once``, ``allow_always``, ``reject_once``,
    ``reject_always`` or ``other``; ``free``: any words are an answer
``{"type": "answered", "request": ID, "choice": LABEL}``  that question is settled, by us or without us
``{"type": "end", "ok": BOOL, "text": T, "failure": F, "message": M, "until": EPOCH}``  its turn ended
``{"type": "limits", "rejected": BOOL, "windows": [{"name", "utilization", "resets_at"}]}``
``{"type": "plan", "entries": [{"text", "status"}]}`` · ``{"type": "diff", "path": P}``
``{"type": "notice", "text": T}``
``{"type": "screen"}``  the terminal's content changed (``screen`` in the folder has it)

and, of what it says and does, OSRC JSON lines (docs/lanes.md): ``start text thought tool tool_end usage retry``.
``usage`` is of one turn unless ``of`` says ``process`` (since it was started) or ``conversation``.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any, Protocol

SessionEvent = dict[str, Any]


class EngineError(Exception):
    """The delegate can't be started. ``str()`` is the sentence."""


class Loop(Protocol):
    """One thread's readiness, timers and unblocking writes."""

    def now(self) -> float:
        """Return monotonic seconds."""
        ...

    def watch(self, descriptor: int, ready: Callable[[], None]) -> None:
        """Call ``ready`` whenever ``descriptor`` can be read, or its other end is closed."""
        ...

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor, before it is closed; what was still to be written to it is dropped."""
        ...

    def write(self, sink: int | socket.socket, data: bytes, done: Callable[[], None] | None = None) -> None:
        """Write all of ``data`` behind what waits, without blocking; then call ``done``.

        The descriptor or socket is made non-blocking by its owner.
        """
        ...

    def open_to_threads(self) -> None:
        """Let other threads ``tell``; to be called before one is started."""
        ...

    def tell(self, work: Callable[[], None]) -> None:
        """Call ``work`` in the loop's thread. The only method that another thread may call."""
        ...

    def later(self, seconds: float, work: Callable[[], None]) -> int:
        """Call ``work`` once, after so many seconds; return what ``forget`` takes."""
        ...

    def forget(self, token: int) -> None:
        """Cancel a timer. One that has fired is no trouble."""
        ...


class Stage(Protocol):
    """What an engine is given."""

    loop: Loop
    folder: str
    """The session's private folder."""
    launch: Mapping[str, Any]
    """``argv``, ``env``, ``cwd``, ``umask``, ``engine``, and ``options``: the lane's own for this engine.

    ``plain``: pipes are read and written by threads, as where no pipe can be waited for.
    """

    def emit(self, event: SessionEvent) -> None:
        """Append an event; see the module."""
        ...

    def close(self, cause: str) -> None:
        """End the session: there can be none, and why."""
        ...

    def gone(self, code: int | None, signal: int | None) -> None:
        """Tell that the delegate's process has ended and was waited for. What it left running the holder ends."""
        ...


class Engine(Protocol):
    """See the module. ``Engine(stage)`` makes one; nothing is started then.

    The holder gives it at most one ``send`` while no turn runs (state ``idle``); ``answer`` only in
    ``waiting-approval`` (or a state with a menu); ``interrupt`` while a turn runs. Each ``number`` is
    answered by ``delivery`` events, in the end always by one that ends it.
    """

    pid: int | None
    """The delegate's process, once it was started."""

    def start(self) -> None:
        """Start the delegate. Raises EngineError.

        The holder says ``starting`` after it: that the delegate is up is told from the loop, never from in here.
        """
        ...

    def send(self, number: int, text: str) -> None:
        """Give it words as the person's, and begin a turn."""
        ...

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer what it asks: an option's id, number (from 1), label or kind, or words."""
        ...

    def interrupt(self, number: int) -> None:
        """End its turn."""
        ...

    def set_model(self, number: int, model: str) -> None:
        """Switch the model, for this session only."""
        ...

    def set_effort(self, number: int, effort: str) -> None:
        """Switch the effort (an ``Effort`` word)."""
        ...

    def set_mode(self, number: int, mode: str) -> None:
        """Switch what it may do without asking (a ``SessionMode`` word)."""
        ...

    def close(self) -> None:
        """Ask the delegate to leave (close its stdin, its own exit command). It may not: the holder ends its tree."""
        ...


class Attachable(Protocol):
    """An engine with a terminal that a person can be given."""

    def attach(self, connection: socket.socket, rows: int, columns: int) -> None:
        """Take over a viewer's connection, from here on raw bytes both ways. Several may be attached."""
        ...

    def screen(self) -> str:
        """Return what the terminal shows now, as text."""
        ...


ENGINES: Mapping[str, str] = {
    "claude": "piped:ClaudeEngine",
    "codex": "piped:CodexEngine",
    "pi": "piped:PiEngine",
    "acp": "piped:AcpEngine",
    "pty": "pty:PtyEngine",
    "tmux": "pty_tmux:TmuxEngine",
}
"""The word in a launch → module in this package and class. Loaded by the one holder that needs it."""
