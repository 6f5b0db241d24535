"""Where the tools keep their transcripts, listed: bounded, and whatever can't be read is left out."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping

from ..lanes.transcripts.formats import FORMATS, Format
from ..messages.paths import home_of, is_absolute
from ..state.files import open_regular

MOST_ENTRIES = 20_000
"""Entries of one tool's folders that are looked at."""
_SMALL = 512 * 1024


def base_of(form: Format, environ: Mapping[str, str]) -> str:
    """Return the folder (for opencode the file) where a tool's transcripts are."""
    for name, below in form.moved_by:
        if is_absolute(environ.get(name, "")):
            return f"{environ[name].rstrip('/')}/{below}"
    return f"{home_of(environ).rstrip('/')}/{form.base}"


def listed(form: Format, base: str, since: float, notes: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the transcripts that were written to since then (epoch seconds), each with how it is now."""
    looked = 0
    for entry in _files(base, form.depth, _sub(form)):
        looked += 1
        if looked > MOST_ENTRIES:
            notes.append(f"{form.tool} keeps more than {MOST_ENTRIES} transcripts: the rest was not looked at")
            return
        name = entry.name
        if not name.endswith(form.suffix) or not name.startswith(form.prefix):
            continue
        if any(name.startswith(word) or name.endswith(word) for word in form.never):
            continue
        with contextlib.suppress(OSError):
            seen = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(seen.st_mode) and seen.st_mtime >= since:
                yield entry.path, seen


def _sub(form: Format) -> str | None:
    """The one name that the last folder has, where it has one."""
    return "chats" if form.tool in {"gemini", "qwen"} else None


def _files(folder: str, depth: int, last: str | None) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        if depth == 0:
            yield entry
        elif depth > 1 or last is None or entry.name == last:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(entry.path, depth - 1, last)


def read_at(descriptor: int, length: int, offset: int) -> bytes:
    """Return up to so many bytes from there on. One descriptor is one thread's. Raises OSError."""
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, length)


def small_file(path: str, limit: int = _SMALL) -> bytes | None:
    """Return a regular file's content, or None where there is none that small."""
    try:
        descriptor = open_regular(path)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_size > limit:
            return None
        return read_at(descriptor, limit, 0)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def gemini_folders(base: str) -> dict[str, str]:
    """Return each project's name and its folder, as gemini keeps them."""
    content = small_file(f"{base.rpartition('/')[0]}/projects.json")
    try:
        value = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    projects = value.get("projects") if isinstance(value, dict) else None
    if not isinstance(projects, dict):
        return {}
    return {name: path for path, name in projects.items() if isinstance(name, str) and is_absolute(path)}


def growing() -> tuple[Format, ...]:
    """The tools whose transcripts are files that grow, in a place of their own."""
    return tuple(form for form in FORMATS.values() if form.kind == "lines")
