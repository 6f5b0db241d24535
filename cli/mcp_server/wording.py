"""A refusal in a tool's own words: parameters for the command line's options, tools for its commands. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ...messages.vocabulary import Verb

_COMMAND = re.compile(r"(\bosrc (?!(?:in|is|itself|only)\b)[A-Za-z][^;,()]*)")
"""A command to type, up to where the sentence goes on: its options stay."""

_OPTION = re.compile(r"(?<![\w-])(?:--[a-z][a-z-]*|-m)(?![\w-])")

_OTHERWISE = {
    "-m": ("model", "models"),
    "--max": ("max_at_once", "max_laps"),
    "--ladder": ("models",),
    "--seats": ("models",),
    "--yolo": ("unasked",),
}
"""Options whose parameter has another name; the first that a tool has."""

_TYPED = {
    "--cloud-ack": "osrc mcp --cloud-ack",
    "--trust-lane": "osrc run --trust-lane",
}
"""Options that no tool has, for they are the person's to give: the command that takes them."""

_TOOLS = {
    **{word: word for word in ("status", "wait", "result", "cancel", "retry", "brief", "advise", "tab", "rundown")},
    "fanout status": "status",
    "fanout wait": "wait",
    "fanout collect": "result",
    "loop status": "status",
    "loop wait": "wait",
    "heartbeat status": "heartbeat",
    "fleet ls": "fleet",
    **{f"session {word}": f"session_{word}" for word in ("start", "read", "send", "answer", "stop", "interrupt")},
    "session relaunch": "session_relaunch",
    **{f"session {word}": "session_set" for word in ("mode", "model", "effort")},
    **{verb.value: "delegate" for verb in Verb},
}
"""Commands that a tool does too."""

_WORDS = "|".join(sorted(_TOOLS, key=len, reverse=True))
_KNOWN = re.compile(rf"osrc ({_WORDS})(?![\w-])(?! -h)((?: --(?:all|refresh))*)")

SHELL = " (What begins with osrc is typed in a shell: yours, or the person's; consent is theirs alone.)"
"""What is added where one stays."""


def in_parameters(words: str, parameters: Collection[str], tools: Mapping[str, Collection[str]] | None = None) -> str:
    """Return a refusal for a host that calls one of ``tools`` (each with its parameters), the one with ``parameters``.

    An option that this tool has not is the parameter of another; one that none has stays as it is, or becomes a
    command. Where a command is left, it is said who types it.

    >>> in_parameters("take --lane codex; or osrc wait ID", ("task", "lane"), {"wait": ("ids",)})
    'take lane codex; or the tool wait ID'
    """
    tools = tools or {}
    others = {name for given in tools.values() for name in given}
    parts = _COMMAND.split(words)
    told = "".join(
        _called(part, tools, others) if place % 2 else _given(part, parameters, others)
        for place, part in enumerate(parts)
    )
    return told + (SHELL if _COMMAND.search(told) else "")


def _called(part: str, tools: Mapping[str, Collection[str]], others: Collection[str]) -> str:
    """Return a command as the tool that does the same, where there is one."""
    found = _KNOWN.match(part)
    if found is None or (tool := _TOOLS[found[1]]) not in tools:
        return part
    verb = f" with verb {found[1]}" if tool == "delegate" else ""
    return f"the tool {tool}{verb}" + _given(part[found.end() :], tools[tool], others)


def _given(part: str, parameters: Collection[str], others: Collection[str]) -> str:
    """Return words in which options are parameters: this tool's, else another's."""

    def named(found: re.Match[str]) -> str:
        option = found[0]
        for known in (parameters, others):
            if option.startswith("--no-") and (switch := option[5:].replace("-", "_")) in known:
                return f"{switch} false"
            plain = option[2:].replace("-", "_")
            meant = _OTHERWISE.get(option, (plain, f"{plain}_s"))
            if (name := next((name for name in meant if name in known), None)) is not None:
                return name
        return _TYPED.get(option, option)

    return _OPTION.sub(named, part)
