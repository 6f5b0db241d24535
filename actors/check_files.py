"""What a check consists of on the disk, by content: so that a delegate that changes it is noticed.

before = look_at_check("make test", "/project", guard=("tests",))
...
changes(before, look_at_check("make test", "/project", guard=("tests",)))   # ("Makefile", ...)
"""

from __future__ import annotations

import configparser
import fnmatch
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..lanes.check_words import Parts, parts_of, script_parts
from ..state.files import open_regular
from .tree import PRUNED

MOST_FILES = 5000
MOST_BYTES = 64 * 1024 * 1024
"""Of one file: a larger one is known by its size alone."""
CHUNK = 1 << 20
FOLLOWED, MOST_SCRIPTS, SCRIPT_BYTES = 2, 50, 256 * 1024
"""So deep scripts are followed into what they run, so many of them, and so much of each."""
NEW_COUNTS = frozenset({"conftest.py", "sitecustomize.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
"""Files that change what a check does by being there at all."""

ABSENT = "absent"
"""What stands for a file that would change what a check does if it were made."""

Look = Mapping[str, str]
"""Path, relative to the folder where it lies in it → what names its content."""


def look_at_check(command: str, cwd: str, guard: Sequence[str] = ()) -> Look:
    """Return every file that the check is known to consist of. Blocks; bounded in number. Never raises."""
    parts = _parts(command)
    named = [_place(cwd, word) for word in (*guard, *parts.words)]
    parts, behind = _followed(parts, cwd)
    named += behind
    # A folder that a command names elsewhere is not its tests; one that a person names is meant, wherever it is.
    folders = [path for path in named if _below(cwd, path) or path in named[: len(guard)]]
    folders = [path for path in dict.fromkeys(folders) if os.path.isdir(path)]  # noqa: PTH112 - a plain look
    found: dict[str, str] = {}
    files: list[Iterable[str]] = [named, (_place(cwd, name) for name in parts.files)]
    files += [_walk(folder, ("*",)) for folder in folders]
    if parts.patterns and not folders:
        files.append(_walk(cwd, parts.patterns))
    for path in (path for group in files for path in group):
        if len(found) >= MOST_FILES:
            break
        name = os.path.relpath(path, cwd).replace(os.sep, "/") if _below(cwd, path) else path
        if name not in found and (digest := _digest(path)) is not None:
            found[name] = digest
    gone = dict.fromkeys(_configured(parts), NO_PART)
    gone |= dict.fromkeys((*_stand_ins(parts, found), *parts.shadows), ABSENT)
    return found | {name: word for name, word in gone.items() if not os.path.lexists(_place(cwd, name))}


def _followed(parts: Parts, cwd: str) -> tuple[Parts, list[str]]:
    """Return the parts with what their scripts run, and theirs, in the folder; and where the words of those are."""
    places: dict[str, None] = {}
    scripts = [_place(cwd, word) for word in parts.scripts]
    for _ in range(FOLLOWED):
        inner: list[str] = []
        for script in scripts[:MOST_SCRIPTS]:
            if (text := _script(script)) is None:
                continue
            found = script_parts(text)
            parts = replace(
                parts,
                files=tuple(dict.fromkeys((*parts.files, *found.files))),
                patterns=tuple(dict.fromkeys((*parts.patterns, *found.patterns))),
                shadows=tuple(dict.fromkeys((*parts.shadows, *found.shadows))),
            )
            for word in filter(None, (*found.words, *found.scripts)):
                for folder in (cwd, os.path.dirname(script)):  # noqa: PTH120 - a string
                    if _below(cwd, place := _place(folder, word)):
                        places[place] = None
                        inner += [place] if word in found.scripts else []
        scripts = [place for place in dict.fromkeys(inner) if place not in scripts]
    return parts, list(places)[:MOST_FILES]


def _script(path: str) -> str | None:
    """Return the text of a shell script; None for what is none."""
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            data = file.read(SCRIPT_BYTES)
        text = data.decode()
    except (OSError, ValueError):
        return None
    first = text.partition("\n")[0]
    return None if "\0" in text or (first.startswith("#!") and "sh" not in first) else text


def _stand_ins(parts: Parts, there: Collection[str]) -> list[str]:
    return [name for group in parts.instead if any(one in there for one in group) for name in group]


def _configured(parts: Parts) -> list[str]:
    return [name for name in parts.files if os.path.basename(name) in _CONFIGURED]  # noqa: PTH119 - a string


def changes(before: Look, after: Look) -> tuple[str, ...]:
    """Return the files that were changed, removed or displaced, and new ones that change a check, sorted."""
    new = (path for path in after if path not in before and os.path.basename(path) in NEW_COUNTS)  # noqa: PTH119 - a string
    return tuple(sorted({*(path for path, digest in before.items() if after.get(path) != digest), *new}))


def unbidden(command: str, after: Look, added: Collection[str]) -> set[str]:
    """Return those of ``added`` files that change what a check does by being there, by a look that has them."""
    parts = _parts(command)
    before = [path for path, word in after.items() if path not in added and word != ABSENT]
    counts = {*_stand_ins(parts, before), *parts.shadows}
    counts |= {path for path in _configured(parts) if after.get(path, NO_PART) != NO_PART}
    return {path for path in added if path in counts or os.path.basename(path) in NEW_COUNTS}  # noqa: PTH119 - a string


def _place(cwd: str, word: str) -> str:
    return os.path.normpath(os.path.join(cwd, word))  # noqa: PTH118 - a string


def _below(cwd: str, path: str) -> bool:
    return path.startswith(cwd.rstrip(os.sep) + os.sep)


def _parts(command: str) -> Parts:
    """What a command consists of. Where a backslash parts folders it is not a shell's own sign."""
    return parts_of(command.replace(os.sep, "/"))


def _walk(folder: str, patterns: Sequence[str]) -> Iterator[str]:
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in PRUNED)
        for name in sorted(names):
            seen += 1
            if seen > 20 * MOST_FILES:
                return
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns) and not name.endswith(".pyc"):
                yield os.path.join(place, name)  # noqa: PTH118 - many of them


def part_of(name: str, data: bytes) -> str | None:
    """Return what names the part of a file that a check reads, where that is less than the whole: else None.

    Of a package.json, a pyproject.toml and a setup.cfg much may well be part of the work: dependencies, a version.
    """
    read = _PARTLY.get(os.path.basename(name))  # noqa: PTH119 - a string
    if read is None:
        return None
    parse, keys = read
    try:
        value = parse(data.decode())
    except (ValueError, RecursionError):
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _ini(text: str) -> dict[str, dict[str, str]]:
    """Return the sections of such a file. Raises ValueError."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(error.message) from None
    return {name: dict(parser[name]) for name in parser.sections()}


_PARTLY: Mapping[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
    "package.json": (json.loads, ("scripts",)),
    "pyproject.toml": (tomllib.loads, ("tool", "pytest")),
    "setup.cfg": (_ini, ("tool:pytest",)),
    "tox.ini": (_ini, ()),
}
_CONFIGURED = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
"""Of these a new one counts too, where it has the part: it tells a program that was there before what to do."""
NO_PART = hashlib.sha256(b"null").hexdigest()
"""What names a part that is not there, as in a file that is not there."""


def _read_part(path: str) -> str | None:
    if os.path.basename(path) not in _PARTLY:  # noqa: PTH119 - a string
        return None
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            return part_of(path, file.read(CHUNK))
    except (OSError, ValueError):
        return None


def _digest(path: str) -> str | None:
    """Return what names a regular file's content; None for anything else."""
    if (known := _read_part(path)) is not None:
        return known
    try:
        descriptor = open_regular(path, follow=True)
    except (OSError, ValueError):
        return None
    try:
        size = os.fstat(descriptor).st_size
        if size > MOST_BYTES:
            return f"{size} bytes"
        digest = hashlib.sha256()
        while chunk := os.read(descriptor, CHUNK):
            digest.update(chunk)
        return digest.hexdigest()
    except OSError:
        return None
    finally:
        os.close(descriptor)
