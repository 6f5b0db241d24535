"""Engines over pipes: a child, and the talk of its protocol (``lanes/talk.py``). Standard library only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from ...lanes.framing import LineFramer, LongLine, clean_line
from ...lanes.talk import MESSAGE_CAP, Options, Talk, read_message
from ...lanes.values import EXCERPT_CHARS, clip
from .child import Child
from .engine import Stage
from .plain_child import PlainChild

NOISE = 20
"""Most lines that were no message and are told."""
LOG_LOOK_S = 1.0
"""How often a delegate's stderr is looked at while a turn runs, where its talk listens to it."""
LOG_PIECE = 1 << 18
LOG_LINE = 64 * 1024
HEAD = 4096
"""Characters of a message that is too long that its talk is shown."""


class PipedEngine:
    """Moves lines between a child and its talk."""

    def __init__(self, stage: Stage, talk: Callable[[Options], Talk]) -> None:
        """Start nothing yet."""
        self._stage = stage
        self._talk = talk(dict(stage.launch.get("options") or {}))
        self._child = (PlainChild if stage.launch.get("plain") else Child)(stage, self._heard)
        self._lines = LineFramer(MESSAGE_CAP)
        self._noise = 0
        self._log = LineFramer(LOG_LINE)
        self._log_at = 0
        """Bytes of ``err.log`` that were seen."""
        self._listening = False
        self._sent_at = 0.0

    @property
    def pid(self) -> int | None:
        """The delegate's process."""
        return self._child.pid

    def start(self) -> None:
        """Start the delegate and greet it. Raises EngineError."""
        self._child.start()
        self._talk.open()
        self._flush()

    def send(self, number: int, text: str) -> None:
        """Begin a turn."""
        self._talk.send(number, text)
        self._sent_at = self._stage.loop.now()
        self._flush(number)
        if self._talk.listens and not self._listening:
            self._listening = True
            self._log_at = max(self._log_at, self._log_size())  # what it said before is of no turn
            self._stage.loop.later(LOG_LOOK_S, self._listen)

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer what is asked."""
        self._talk.answer(number, choice, request)
        self._flush()

    def interrupt(self, number: int) -> None:
        """End the turn."""
        self._talk.interrupt(number)
        self._flush()

    def set_model(self, number: int, model: str) -> None:
        """Switch the model."""
        self._talk.set_model(number, model)
        self._flush()

    def set_effort(self, number: int, effort: str) -> None:
        """Switch the effort."""
        self._talk.set_effort(number, effort)
        self._flush()

    def set_mode(self, number: int, mode: str) -> None:
        """Switch what it may do without asking."""
        self._talk.set_mode(number, mode)
        self._flush()

    def close(self) -> None:
        """Close its stdin, behind what is still to be written."""
        self._child.write(b"", self._child.close_stdin)

    def leave(self) -> None:
        """Let go of a delegate that has ended, before another is started in its place."""
        self._child.close_stdin()

    def _listen(self) -> None:
        """Look at what came on stderr, as long as a turn runs."""
        for line in self._log.split(self._log_piece()):
            if isinstance(line, bytes):
                self._talk.logged(clean_line(line))
        if self._talk.turn:
            self._talk.waited(self._stage.loop.now() - self._sent_at)
        self._flush()
        self._listening = self._talk.turn != 0
        if self._listening:
            self._stage.loop.later(LOG_LOOK_S, self._listen)

    def _log_piece(self) -> bytes:
        try:
            with open(f"{self._stage.folder}/err.log", "rb") as file:
                file.seek(self._log_at)
                data = file.read(LOG_PIECE)
        except OSError:
            return b""
        self._log_at += len(data)
        return data

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self._stage.folder}/err.log").st_size
        except OSError:
            return 0

    def _heard(self, data: bytes) -> None:
        for line in self._lines.split(data) if data else self._lines.rest():
            if isinstance(line, LongLine):
                self._talk.unread(line.text[:HEAD], line.length)
                continue
            message = read_message(line)
            if message is not None:
                self._talk.heard(message)
            elif line.strip() and self._noise < NOISE:
                self._noise += 1
                said = clip(clean_line(line[: 4 * EXCERPT_CHARS]).strip(), EXCERPT_CHARS)
                self._stage.emit({"type": "unrecognised", "excerpt": said})
        self._flush()

    def _flush(self, number: int | None = None) -> None:
        talk = self._talk
        out, talk.out = talk.out, []
        events, talk.events = talk.events, []
        for event in events:
            self._stage.emit(event)
        if talk.fatal is not None:
            self._stage.close(talk.fatal)
        if out:
            data = b"".join(json.dumps(message, separators=(",", ":")).encode() + b"\n" for message in out)
            self._child.write(data, None if number is None else lambda: self._written(number))

    def _written(self, number: int) -> None:
        self._talk.written(number)
        self._flush()


class ClaudeEngine(PipedEngine):
    """Claude Code's control protocol."""

    def __init__(self, stage: Stage) -> None:
        """Start nothing yet."""
        from ...lanes.vehicles.claude_code.control import ClaudeTalk  # noqa: PLC0415 - one protocol a process

        super().__init__(stage, ClaudeTalk)


class CodexEngine(PipedEngine):
    """``codex app-server``."""

    def __init__(self, stage: Stage) -> None:
        """Start nothing yet."""
        from ...lanes.vehicles.codex_cli.app_server import CodexTalk  # noqa: PLC0415 - as above

        super().__init__(stage, CodexTalk)


class PiEngine(PipedEngine):
    """``pi --mode rpc``."""

    def __init__(self, stage: Stage) -> None:
        """Start nothing yet."""
        from ...lanes.vehicles.pi_cli.rpc import PiTalk  # noqa: PLC0415 - as above

        super().__init__(stage, PiTalk)


class AcpEngine(PipedEngine):
    """The Agent Client Protocol."""

    def __init__(self, stage: Stage) -> None:
        """Start nothing yet."""
        from ...lanes.vehicles.acp.client import AcpTalk  # noqa: PLC0415 - as above

        super().__init__(stage, AcpTalk)
