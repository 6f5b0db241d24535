"""Which tool a command line is of, by its program alone: never by a word among its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from .formats import PROGRAMS

_INTERPRETERS = frozenset({"node", "nodejs", "bun", "deno", "python", "python3"})
_SCRIPTS = (".js", ".mjs", ".cjs")
_PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "@qwen-code/qwen-code": "qwen",
    "@github/copilot": "copilot",
    "pi-coding-agent": "pi",
    "opencode-ai": "opencode",
}
"""A part of a script's path → the tool whose package it is."""
_NO_SESSION = frozenset(
    {
        "--version",
        "-V",
        "--help",
        "-h",
        "--cline-hub-daemon",
        "mcp",
        "mcp-server",
        "app-server-daemon",
        "pid-update-loop",
    }
)
"""Words after which a program is no session: it serves, or only says something of itself."""


def tool_of(argv: Sequence[str]) -> str | None:
    """Return the tool that a command line runs, or None."""
    if not argv or not argv[0]:
        return None
    words = argv[0].split(" ")[0] if len(argv) == 1 else argv[0]  # a title that a program gave itself
    name = _name(words)
    if name in PROGRAMS:
        return PROGRAMS[name]
    if name.rstrip("0123456789.") not in _INTERPRETERS:
        return None
    script = script_of(argv)
    if script is None:
        return None
    packaged = next((tool for part, tool in _PACKAGES.items() if f"/{part}/" in script), None)
    if packaged is not None:
        return packaged
    bare = _name(script)
    for ending in _SCRIPTS:
        bare = bare.removesuffix(ending)
    return PROGRAMS.get(bare) if "/" in script else None


def script_of(argv: Sequence[str]) -> str | None:
    """Return the script that an interpreter's command line runs."""
    return next((word for word in argv[1:12] if not word.startswith("-")), None)


def tool_of_package(name: object) -> str | None:
    """Return the tool whose package bears that name, or None."""
    return next(
        (tool for part, tool in _PACKAGES.items() if isinstance(name, str) and f"/{name}".endswith(f"/{part}")), None
    )


def is_session(argv: Sequence[str]) -> bool:
    """Whether such a command line is a session, and no server or question about the program itself."""
    return not any(word in _NO_SESSION for word in argv[1:6])


def _name(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2]
