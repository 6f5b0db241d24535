"""A session in words: its table, its events, its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .lines import age
from .plain import one_line
from .table import columns

WIDTH = 400
ASKED_WIDTH = 16_000
"""What somebody is to allow is shown whole: as much as is kept of it (``lanes/values.py``)."""


def session_table(sessions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of ``session list``."""
    rows = [("NAME", "STATE", "AGE", "LANE", "MODEL", "TURNS", "FOLDER")]
    for row in sessions:
        model = row.get("model_observed") or row.get("model") or "-"
        rows.append(
            (
                one_line(str(row.get("name")), 40),
                one_line(str(row.get("state")), 20),
                age(row.get("age_s")),
                one_line(f"{row.get('lane')}/{row.get('transport')}", 32),
                one_line(str(model), 28),
                str(row.get("turns")),
                one_line(str(row.get("cwd")), 60),
            )
        )
    return columns(rows)


def event_line(event: Mapping[str, Any]) -> str | None:
    """Return one event as a line (a text as it is, many lines), or None for what only programs want."""
    kind = str(event.get("type"))
    if kind == "text":
        return str(event.get("text"))
    if kind == "ask":
        return "\n".join(question_lines(event))
    made = _LINES.get(kind)
    return made(event) if made is not None else None


def _word(event: Mapping[str, Any], key: str, before: str = "") -> str:
    """Return a field as words on one line, ``before`` them; nothing where there is none."""
    value = event.get(key)
    return "" if value in (None, "") else before + one_line(str(value), WIDTH)


def _tool_end(event: Mapping[str, Any]) -> str | None:
    if event.get("ok"):
        return None
    return (
        f"[{'refused' if event.get('denied') else 'failed'}]{_word(event, 'name', ' ')}{_word(event, 'excerpt', ': ')}"
    )


def _end(event: Mapping[str, Any]) -> str:
    if event.get("ok"):
        return "[turn ended]"
    return f"[turn ended{_word(event, 'failure', ': ')}]{_word(event, 'message', ' ')}"


def _delivery(event: Mapping[str, Any]) -> str | None:
    if event.get("state") not in ("refused", "failed"):
        return None
    return f"[{_word(event, 'state')}] entry {event.get('number')}{_word(event, 'reason', ': ')}"


_LINES: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = {
    "tool": lambda event: f"[{_word(event, 'tool')}]{_word(event, 'name', ' ')}{_word(event, 'target', ' ')}",
    "tool_end": _tool_end,
    "answered": lambda event: f"[answered]{_word(event, 'choice', ' ') or ' by nobody: it was withdrawn'}",
    "end": _end,
    "retry": lambda event: f"[waits for its provider]{_word(event, 'message', ' ')}",
    "delivery": _delivery,
    "switched": lambda event: (
        f"[switched]{_word(event, 'model', ' model ')}{_word(event, 'effort', ' effort ')}"
        f"{_word(event, 'mode', ' mode ')}"
    ),
    "notice": lambda event: f"[note]{_word(event, 'text', ' ')}",
    "unrecognised": lambda event: f"[unrecognised]{_word(event, 'excerpt', ' ')}",
    "ending": lambda event: f"[ending]{_word(event, 'cause', ' ')}",
    "exited": lambda event: f"[the program ended]{_word(event, 'reason', ' ')}",
}
"""Kind → its line."""


def question_lines(ask: Mapping[str, Any]) -> list[str]:
    """Return a question and its options, numbered."""
    title, target = one_line(str(ask.get("title") or ""), ASKED_WIDTH), str(ask.get("target") or "")
    asked = [title] if title else []
    asked += [line for row in target.split("\n") if (line := one_line(row, ASKED_WIDTH))]
    lines = [f"[asks] {one_line(str(ask.get('name')), 80)}" + (f": {asked[0]}" if asked else "")]
    lines += [f"       {line}" for line in asked[1:]]
    for number, option in enumerate(ask.get("options") or (), 1):
        if isinstance(option, dict):
            lines.append(f"  {number}: {one_line(str(option.get('label')), 120)} ({option.get('kind')})")
    if ask.get("free"):
        lines.append("  or words of your own")
    return lines
