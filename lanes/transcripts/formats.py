"""Which tool keeps which transcripts: one row a tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import aider, claude, codex, copilot, droid, gemini, pi, qwen
from .follow import Row, TextRow

Kind = Literal["lines", "text", "cline", "opencode"]
"""``lines``: JSON lines that grow; ``text``: plain lines that grow; the others are read in a way of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A tool's transcripts."""

    tool: str
    kind: Kind
    base: str
    """The folder below the home folder; for ``text``, the file's name in the folder that the tool works in."""
    moved_by: tuple[tuple[str, str], ...] = ()
    """Variables that move it, the first that is set wins, and what follows below the folder that it names."""
    depth: int = 1
    """How many folders lie between ``base`` and a transcript."""
    prefix: str = ""
    suffix: str = ".jsonl"
    never: tuple[str, ...] = ()
    """Beginnings and ends of names that are no session's own."""
    row: Row | None = None
    text: TextRow | None = None
    end_guessed: bool = False
    """Whether nothing marks the end of a turn: while a tool runs, the transcript looks as after an answer."""
    programs: tuple[str, ...] = ()
    """Names under which the program runs."""


FORMATS: dict[str, Format] = {
    one.tool: one
    for one in (
        Format(
            tool="claude",
            kind="lines",
            base=".claude/projects",
            moved_by=(("CLAUDE_CONFIG_DIR", "projects"),),
            never=("agent-",),
            row=claude.row,
            programs=("claude", "claude.exe"),
        ),
        Format(
            tool="codex",
            kind="lines",
            base=".codex/sessions",
            moved_by=(("CODEX_HOME", "sessions"),),
            depth=3,
            prefix="rollout-",
            row=codex.row,
            programs=("codex",),
        ),
        Format(
            tool="gemini",
            kind="lines",
            base=".gemini/tmp",
            depth=2,
            prefix="session-",
            row=gemini.row,
            end_guessed=True,
            programs=("gemini", "agy"),
        ),
        Format(tool="qwen", kind="lines", base=".qwen/projects", depth=2, row=qwen.row, programs=("qwen",)),
        Format(
            tool="copilot",
            kind="lines",
            base=".copilot/session-state",
            moved_by=(("COPILOT_HOME", "session-state"),),
            prefix="events",
            row=copilot.row,
            programs=("copilot",),
        ),
        Format(tool="droid", kind="lines", base=".factory/sessions", row=droid.row, programs=("droid",)),
        Format(
            tool="pi",
            kind="lines",
            base=".pi/agent/sessions",
            moved_by=(("PI_CODING_AGENT_DIR", "sessions"),),
            row=pi.row,
            programs=("pi",),
        ),
        Format(
            tool="cline",
            kind="cline",
            base=".cline/data/sessions",
            suffix=".json",
            never=(".messages.json",),
            programs=("cline",),
        ),
        Format(
            tool="opencode",
            kind="opencode",
            base=".local/share/opencode/opencode.db",
            moved_by=(("XDG_DATA_HOME", "opencode/opencode.db"),),
            depth=0,
            programs=("opencode",),
        ),
        Format(
            tool="aider",
            kind="text",
            base=".aider.chat.history.md",
            depth=0,
            suffix=".md",
            text=aider.line,
            programs=("aider",),
        ),
    )
}
"""Tool → where its transcripts lie and who reads them."""

OTHERS: dict[str, tuple[str, ...]] = {
    "cursor": ("cursor-agent",),
    "devin": ("devin",),
    "hermes": ("hermes",),
    "warp": ("oz",),
    "goose": ("goose",),
    "amp": ("amp",),
    "crush": ("crush",),
}
"""Tools whose transcripts nobody here can read: of their sessions a process is seen, and no more."""

PROGRAMS: dict[str, str] = {
    program: tool
    for tool, programs in [*((one.tool, one.programs) for one in FORMATS.values()), *OTHERS.items()]
    for program in programs
}
"""A program's name → its tool."""
