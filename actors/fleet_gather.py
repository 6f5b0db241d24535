"""Every transcript of every tool that was written to lately, with the facts of its end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..lanes.fleet_match import Script
from ..lanes.transcripts import cline
from ..lanes.transcripts.claude_presence import Told
from ..lanes.transcripts.claude_presence import read as read_presence
from ..lanes.transcripts.formats import FORMATS
from ..lanes.transcripts.tail import Tail
from ..messages.paths import is_absolute
from .fleet_opencode import Database
from .fleet_processes import Running
from .fleet_stores import base_of, gemini_folders, growing, listed, small_file
from .fleet_tail import TailFile

MOST = 2000
"""Transcripts of one tool that are followed, the newest."""
MOST_PRESENCES = 500
_CLINE_LIMIT = 2 * 1024 * 1024


@lru_cache(maxsize=4096)
def _physical(folder: str) -> str:
    """A folder as the kernel names it, which a process's folder is told by."""
    try:
        return os.path.realpath(folder)
    except (OSError, ValueError):
        return folder


@dataclass(frozen=True, slots=True)
class Found:
    """One transcript."""

    key: str
    tool: str
    path: str
    tail: Tail
    written_at: float
    """Epoch seconds, by the file system."""
    size: int | None
    cwd: str | None

    @property
    def script(self) -> Script:
        """What it is matched by."""
        tail = self.tail
        return Script(
            key=self.key,
            tool=self.tool,
            session_id=tail.session_id,
            cwd=_physical(self.cwd) if self.cwd else None,
            written_at=self.written_at,
            closed=tail.closed,
            pid=tail.pid,
            path=self.path,
        )


def _gemini_folder(base: str, path: str, folders: Mapping[str, str]) -> str | None:
    """Return the folder of a gemini session: by its list of projects, else by the project's own note."""
    project = path.removeprefix(f"{base}/").partition("/")[0]
    if project in folders:
        return folders[project]
    said = (small_file(f"{base}/{project}/.project_root", 4096) or b"").decode("utf-8", "replace").strip()
    return said if is_absolute(said) and said.isprintable() else None


class Gatherer:
    """Follows them all. One at a time uses it."""

    def __init__(self, environ: Mapping[str, str], kept: Mapping[str, Any]) -> None:
        """Nothing is read yet; ``kept`` is what an earlier one remembered."""
        self._environ = environ
        self._kept = dict(kept)
        self._files: dict[str, TailFile] = {}
        self._documents: dict[str, tuple[tuple[float, int], Tail | None]] = {}
        self._opencode = Database(base_of(FORMATS["opencode"], environ))
        self.changed = False
        """Whether something was read since ``remembered``."""

    def gather(self, running: Iterable[Running], since: float, notes: list[str]) -> list[Found]:
        """Return them, read as far as they go now. ``since`` is in epoch seconds."""
        found: list[Found] = []
        there: set[str] = set()
        for form in growing():
            base = base_of(form, self._environ)
            files = sorted(listed(form, base, since, notes), key=lambda one: one[1].st_mtime)[-MOST:]
            folders = gemini_folders(base) if form.tool == "gemini" and files else {}
            for path, seen in files:
                there.add(path)
                tail = self._followed(form.tool, path, seen)
                cwd = tail.cwd or (_gemini_folder(base, path, folders) if form.tool == "gemini" else None)
                found.append(Found(path, form.tool, path, tail, seen.st_mtime, seen.st_size, cwd))
        found += self._aider(running, since, there)
        for gone in set(self._files) - there:
            del self._files[gone]
        found += self._cline(since, notes)
        for session, (at, tail) in self._opencode.sessions(since).items():
            found.append(Found(f"opencode:{session}", "opencode", self._opencode.path, tail, at, None, tail.cwd))
        if self._opencode.problem:
            notes.append(self._opencode.problem)
        return found

    def presences(self) -> list[Told]:
        """Return what Claude Code says of its living sessions."""
        folder = base_of(FORMATS["claude"], self._environ).rpartition("/")[0] + "/sessions"
        try:
            names = [name for name in os.listdir(folder) if name.endswith(".json")]  # noqa: PTH208 - strings throughout
        except OSError:
            return []
        contents = (small_file(f"{folder}/{name}", 64 * 1024) for name in sorted(names)[:MOST_PRESENCES])
        return [told for told in map(read_presence, filter(None, contents)) if told is not None]

    def remembered(self) -> dict[str, Any]:
        """Return what lets a later one go on from here, oldest first."""
        self.changed = False
        ordered = sorted(self._files.values(), key=lambda one: one.seen.st_mtime if one.seen else 0.0)
        return {one.path: one.remembered() for one in ordered}

    def _followed(self, tool: str, path: str, seen: os.stat_result) -> Tail:
        known = self._files.get(path)
        if known is None:
            known = self._files[path] = TailFile(FORMATS[tool], path)
            kept = self._kept.pop(path, None)
            if isinstance(kept, dict):
                known.recall(kept)
        if known.look(seen):
            self.changed = True
        return known.tail

    def _aider(self, running: Iterable[Running], since: float, there: set[str]) -> list[Found]:
        """Aider keeps its chats where it works: those of running ones are found, and of earlier ones none."""
        form = FORMATS["aider"]
        found = []
        for folder in sorted({one.cwd for one in running if one.tool == "aider" and one.cwd}):
            path = f"{folder}/{form.base}"
            try:
                seen = os.lstat(path)
            except OSError:
                continue
            if seen.st_mtime >= since:
                there.add(path)
                tail = self._followed("aider", path, seen)
                found.append(Found(path, "aider", path, tail, seen.st_mtime, seen.st_size, folder))
        return found

    def _cline(self, since: float, notes: list[str]) -> list[Found]:
        form = FORMATS["cline"]
        found = []
        known, self._documents = self._documents, {}
        for path, seen in sorted(listed(form, base_of(form, self._environ), since, notes), key=lambda one: one[0])[
            -MOST:
        ]:
            messages = path.removesuffix(".json") + ".messages.json"
            try:
                written = max(seen.st_mtime, os.lstat(messages).st_mtime)
            except OSError:
                written = seen.st_mtime
            mark = (written, seen.st_size)
            before = known.get(path)
            tail = before[1] if before is not None and before[0] == mark else None
            if before is None or before[0] != mark:
                tail = cline.document(small_file(path) or b"", small_file(messages, _CLINE_LIMIT) or b"")
            self._documents[path] = (mark, tail)
            if tail is not None:
                found.append(Found(path, "cline", path, tail, written, seen.st_size, tail.cwd))
        return found
