"""What the members of a fan-out are made of: role files, task lists, routes. Pure.

A role file is Markdown with an optional front matter, as agent files of other tools have it:

    ---
    name: reviewer
    model: opus
    effort: high
    ---
    You review code for {LANGUAGE}.

Folders of hundreds of such files, written for other programs, are run as they are: a key that is not ours is
none of our business, whatever stands in it. Of ours a value that means nothing is named, never guessed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from ..messages.vocabulary import Effort, Tier

LABEL_LIMIT = 80
FRONT_LINES = 1000
"""A front matter has ended by then, or is none."""

_FENCE = "---"
_ENDS = frozenset({"---", "..."})
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63})[ \t]*:(?:[ \t]+|$)")
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]{0,63})\}")
_LANE = re.compile(r"[a-z][a-z0-9_.:-]{0,63}")
_NOTHING = frozenset({"", "inherit", "default", "auto", "null", "~"})
"""Words of other programs for "as the caller has it"."""
_KEYS = {
    "model": "model",
    "effort": "effort",
    "reasoning": "effort",
    "reasoning_effort": "effort",
    "tier": "tier",
    "lane": "lane",
    "provider": "lane",
    "description": "description",
}
_TASK_KEYS = ("task", "label", "model", "lane", "effort", "tier")


class RoleError(ValueError):
    """A file or a line that can't be used; the sentence says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One member in the making: its text, and what it says of how it is to be run."""

    label: str
    text: str
    model: str | None = None
    effort: str | None = None
    tier: str | None = None
    lane: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """Labels that match go to a model."""

    glob: str
    model: str


# --- role files


def parse_role(label: str, text: str) -> Role:
    """Return the role of a file's text. Raises RoleError for one that can't be used."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front, body = _split(text)
    found = _front(front)
    return Role(
        label=label_of(label),
        text=body.strip("\n"),
        model=_word(found, "model", _model),
        effort=_word(found, "effort", _one_of([word.value for word in Effort])),
        tier=_word(found, "tier", _one_of([word.value for word in Tier])),
        lane=_word(found, "lane", _lane),
        description=found.get("description") or None,
    )


def label_of(word: str) -> str:
    """Return a word as a label: without control characters, and not too long."""
    kept = "".join(character if character.isprintable() else " " for character in word).strip()
    return kept[:LABEL_LIMIT].strip() or "member"


def _split(text: str) -> tuple[list[str], str]:
    """Return the lines of the front matter, and what follows it."""
    first, newline, rest = text.partition("\n")
    if first.rstrip() != _FENCE or not newline:
        return [], text
    lines = rest.split("\n", FRONT_LINES)
    for number, line in enumerate(lines[:FRONT_LINES]):
        if line.rstrip() in _ENDS:
            return lines[:number], "\n".join(lines[number + 1 :])
    if lines and _KEY.match(lines[0]):
        raise RoleError("its front matter does not end: there is no second line of ---")
    return [], text  # a rule at the top of a plain text


def _front(lines: Sequence[str]) -> dict[str, str]:
    """Return our keys with their values as text; the first of two that mean one thing counts."""
    found: dict[str, str] = {}
    for number, line in enumerate(lines):
        match = _KEY.match(line)
        key = _KEYS.get(match[1].lower().replace("-", "_")) if match else None
        if match and key and key not in found:
            found[key] = _value(line[match.end() :].strip(), lines[number + 1 :])
    return found


def _value(given: str, following: Sequence[str]) -> str:
    """Return a scalar's text; of a list its first item; of a block its lines joined."""
    if given[:1] in ("'", '"'):
        end = given.find(given[0], 1)
        return (given[1:end] if end > 0 else given[1:]).strip()
    if given.startswith("["):
        return _value(given.lstrip("[ ").partition("]")[0].partition(",")[0].strip(), ())
    if given[:1] in ("|", ">") and len(given) <= 3:
        return " ".join(_indented(following)).strip()
    if not given:
        inside = _indented(following)
        return _value(inside[0][1:].strip(), ()) if inside and inside[0].startswith("- ") else ""
    return given.partition(" #")[0].strip()


def _indented(lines: Sequence[str]) -> list[str]:
    found = []
    for line in lines:
        if line.strip() and line[:1] not in (" ", "\t") and not line.startswith("- "):
            break
        if line.strip():
            found.append(line.strip())
    return found


def _word(found: Mapping[str, str], key: str, check: Callable[[str], str]) -> str | None:
    value = found.get(key, "")
    if value.lower() in _NOTHING:
        return None
    try:
        return check(value)
    except ValueError as error:
        raise RoleError(f"its {key} is {value[:60]!a}: {error}") from None


def _model(value: str) -> str:
    if len(value) > 1024 or not value.isprintable():
        raise ValueError("that can't be a model's name")
    return value


def _lane(value: str) -> str:
    if not _LANE.fullmatch(value.lower()):
        raise ValueError("that can't be a lane's name")
    return value.lower()


def _one_of(words: Sequence[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value.lower() not in words:
            raise ValueError(f"one of {', '.join(words)} is meant")
        return value.lower()

    return check


# --- lists of tasks


def parse_tasks(text: str, prefix: str = "task") -> list[Role]:
    """Return one role a line: plain text, or JSON objects where the first line is one.

    Blank lines and, in plain text, lines that begin with ``#`` are left out. Raises RoleError naming the line.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    if lines and _object(lines[0][1]) is not None:
        rows = [_json_task(number, line) for number, line in lines]
    else:
        rows = [Role(label="", text=line) for _, line in lines if not line.startswith("#")]
    width = max(2, len(str(len(rows))))
    return [
        row if row.label else replace(row, label=label_of(f"{prefix}-{number:0{width}}"))
        for number, row in enumerate(rows, 1)
    ]


def _json_task(number: int, line: str) -> Role:
    value = _object(line)
    if value is None:
        raise RoleError(f"line {number} is no JSON object, though the first one is")
    unknown = [key for key in value if key not in _TASK_KEYS]
    if unknown:
        raise RoleError(f"line {number} has the unknown key {unknown[0][:40]!a}: known are {', '.join(_TASK_KEYS)}")
    wrong = [key for key in _TASK_KEYS if not isinstance(value.get(key, ""), str)]
    if wrong or not value.get("task", "").strip():
        raise RoleError(f"line {number}: {wrong[0] if wrong else 'task'} is to be a text")
    try:
        return Role(
            label=label_of(value["label"]) if value.get("label", "").strip() else "",
            text=value["task"],
            model=_word(value, "model", _model),
            effort=_word(value, "effort", _one_of([word.value for word in Effort])),
            tier=_word(value, "tier", _one_of([word.value for word in Tier])),
            lane=_word(value, "lane", _lane),
        )
    except RoleError as error:
        raise RoleError(f"line {number}: {error}") from None


def _object(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "task" in value else None


# --- putting a member together


def parse_route(word: str) -> list[Route]:
    """Return the routes of ``glob=model,glob=model``. Raises RoleError for a part that is none."""
    routes = []
    for part in word.split(","):
        glob, equals, model = part.strip().partition("=")
        if not equals or not glob.strip() or not model.strip():
            raise RoleError(f"{part.strip()[:60]!a} is no route: glob=model")
        routes.append(Route(glob.strip(), model.strip()))
    return routes


def parse_subs(words: Iterable[str]) -> dict[str, str]:
    """Return the values of ``K=V`` words. Raises RoleError for a word that is none."""
    subs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not _PLACE.fullmatch(f"{{{key}}}"):
            raise RoleError(f"{word[:60]!a} is no substitution: K=V")
        subs[key] = value
    return subs


def fill(text: str, subs: Mapping[str, str]) -> str:
    """Return ``text`` with every ``{K}`` that has a value replaced by it, once: a value is not looked into.

    >>> fill("{A} and {B}, {C}", {"A": "{B}", "B": "two"})
    '{B} and two, {C}'
    """
    return _PLACE.sub(lambda place: subs.get(place[1], place[0]), text) if subs else text


def compose(role: Role, *, preamble: str = "", shared: Sequence[str] = (), task: str = "") -> str:
    """Return the text that a member is given: preamble, shared texts, its own, and the task under a heading.

    Raises RoleError when nothing is left to say.
    """
    parts = [part.strip("\n") for part in (preamble, *shared, role.text) if part.strip()]
    if not role.text.strip() and not task.strip():
        raise RoleError("it has no text, and no --task was given")
    if task.strip():
        parts.append(f"## Task\n\n{task.strip()}")
    return "\n\n".join(parts)


def terms(  # noqa: PLR0913  one flag for each word of a command line
    role: Role, routes: Sequence[Route], *, model: bool, lane: bool, effort: bool, tier: bool
) -> dict[str, str]:
    """Return what a member asks for beyond what the whole fan-out does: model, lane, effort, tier.

    The flags say what the command line gave for all: that goes first, then a route, then the role's own. Where
    the model or the lane comes from elsewhere, the role's own model, lane and the tier that goes with them do
    not hold.
    """
    routed = None if model else next((one.model for one in routes if fnmatchcase(role.label, one.glob)), None)
    elsewhere = model or lane or routed is not None
    found = {
        "model": routed if elsewhere else role.model,
        "lane": None if elsewhere else role.lane,
        "effort": None if effort else role.effort,
        "tier": None if tier or (elsewhere and role.model is not None) else role.tier,
    }
    return {name: value for name, value in found.items() if value is not None}
