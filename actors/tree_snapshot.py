"""What a work tree holds, before and after a delegate: to say file by file what a read-only job changed.

In a git tree: every file that is tracked or not ignored, ignored files that lie beside them (not those
in ignored folders), what is staged, HEAD, branches, tags, the stash, configuration and hooks; not
what reading touches (the index's timestamps, logs, fetched refs). Elsewhere: every file and folder,
without any ``.git``. Bounded in files, bytes and seconds: beyond that nothing is claimed, and said so.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .work_tree import Guard

MOST_FILES = 100_000
MOST_S = 10.0
"""Seconds that one look may take."""
HASHED_FILE = 8 * 1024 * 1024
HASHED_ALL = 256 * 1024 * 1024
"""Bytes of one file, and of all, that are read; larger files are known by size and times alone."""
SAVED_LIMIT = 256 * 1024 * 1024

_GIT = (
    "git",
    "-c",
    "safe.directory=*",  # the caller chose the folder; what is asked runs nothing of its configuration
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "core.quotePath=false",
)
_HEADS = ("refs/heads", "refs/tags", "refs/stash")


class TooLarge(Exception):  # noqa: N818  not an error: a bound that was met
    """The tree is beyond a bound; the words say which."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, link or folder. ``digest`` None: too large to be read, or a folder."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    digest: str | None

    @property
    def stamp(self) -> tuple[int, int, int, int, int]:
        """What can't stay the same when the content changes (nobody sets a change time)."""
        return self.mode, self.size, self.mtime_ns, self.ctime_ns, self.inode


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tree at one moment. ``why``: it was not looked at, because."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """By path relative to the tree's root; git's own by ``.git/…`` names."""
    why: str | None = None


@dataclass
class _Look:
    """One look under way, and what it may still cost."""

    guard: Guard
    known: Mapping[str, Entry]
    ends: float
    entries: dict[str, Entry] = field(default_factory=dict)
    unread: int = HASHED_ALL

    def left_s(self) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TooLarge(f"looking at it takes longer than {MOST_S:.0f} s")
        return left

    def note(self, name: str, entry: Entry) -> None:
        self.entries[name] = entry
        if len(self.entries) > MOST_FILES:
            raise TooLarge(f"it has more than {MOST_FILES} files")


def take(guard: Guard, before: Snapshot | None = None) -> Snapshot:
    """Look at the tree now. Blocks for ``MOST_S`` at most. With ``before``, only what differs from it is read again."""
    look = _Look(guard, before.entries if before else {}, time.monotonic() + MOST_S)
    try:
        if not guard.git_folders or not _git_tree(look):
            _walk(look, guard.root, "")
    except TooLarge as bound:
        return Snapshot(why=f"too large: {bound}")
    except OSError as error:
        return Snapshot(why=f"it can't be read: {error.strerror or error}")
    return Snapshot(look.entries)


def changes(before: Snapshot, after: Snapshot) -> list[str]:
    """Return what differs, one sentence an entry: ``added a.txt``, ``modified b.txt``, ``deleted c.txt``."""
    found = []
    for name in sorted(before.entries.keys() | after.entries.keys()):
        old, new = before.entries.get(name), after.entries.get(name)
        if old is None:
            found.append(f"added {_shown(name)}")
        elif new is None:
            found.append(f"deleted {_shown(name)}")
        elif _differs(old, new):
            found.append(f"modified {_shown(name)}")
    return found


def dump(snapshot: Snapshot) -> bytes:
    """Return a snapshot as bytes to keep."""
    rows = {name: [*entry.stamp, entry.digest] for name, entry in snapshot.entries.items()}
    return zlib.compress(json.dumps({"why": snapshot.why, "entries": rows}).encode(), 1)


def load(data: bytes) -> Snapshot | None:
    """Return what ``dump`` made; None for anything else."""
    try:
        reader = zlib.decompressobj()
        value = json.loads(reader.decompress(data, SAVED_LIMIT))
        rows = {str(name): _entry(row) for name, row in value["entries"].items()}
        return Snapshot(rows, value["why"])
    except (zlib.error, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _entry(row: list[Any]) -> Entry:
    mode, size, mtime_ns, ctime_ns, inode, digest = row
    return Entry(
        int(mode), int(size), int(mtime_ns), int(ctime_ns), int(inode), None if digest is None else str(digest)
    )


def _differs(old: Entry, new: Entry) -> bool:
    if old.stamp == new.stamp:
        return old.digest != new.digest
    if old.mode != new.mode:
        return True
    if stat.S_ISDIR(old.mode):
        return False  # its times are its entries', which are compared themselves
    if old.digest is not None and new.digest is not None:
        return old.digest != new.digest
    return old.stamp[:4] != new.stamp[:4]


def _shown(name: str) -> str:
    text = name.encode("utf-8", "backslashreplace").decode()
    return text if text.isprintable() else repr(text)


def _git_tree(look: _Look) -> bool:
    """Look at a git tree; False when git can't be asked (it is not there, the folder is damaged)."""
    listed = _git(look, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    beside = _git(look, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    staged = _git(look, "ls-files", "-z", "--stage")
    refs = _git(look, "for-each-ref", "--format=%(refname) %(objectname)", *_HEADS)
    if listed is None or beside is None or staged is None or refs is None:
        return False
    for name in {*_names(listed), *(name for name in _names(beside) if not name.endswith("/"))}:
        _file(look, os.path.join(look.guard.root, name), name)  # noqa: PTH118  names may be any bytes
    own, common = look.guard.git_folders[0], look.guard.git_folders[-1]
    look.note(".git/index", _said(staged))
    for line in refs.decode("utf-8", "surrogateescape").splitlines():
        name, _, value = line.partition(" ")
        look.note(f".git/{name}", _said(value.encode()))
    _file(look, f"{own}/HEAD", ".git/HEAD")
    for name in ("config", "config.worktree", "info/exclude", "info/attributes"):
        _file(look, f"{common}/{name}", f".git/{name}")
    _walk(look, f"{common}/hooks", ".git/hooks/")
    return True


def _git(look: _Look, *words: str) -> bytes | None:
    environ = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
    environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            (*_GIT, *words),
            cwd=look.guard.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=look.left_s(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooLarge(f"looking at it takes longer than {MOST_S:.0f} s") from None
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _names(listed: bytes) -> Iterator[str]:
    return (os.fsdecode(name) for name in listed.split(b"\0") if name)


def _walk(look: _Look, folder: str, prefix: str) -> None:
    """Look at everything in a folder; one that can't be read has nothing in it, before as after."""
    waiting = [(folder, prefix)]
    while waiting:
        place, name = waiting.pop()
        look.left_s()
        for entry in _entries(place):
            if entry.name == ".git" or entry.path in look.guard.skip:
                continue
            if not look.guard.hidden and place == look.guard.root and entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                look.note(f"{name}{entry.name}/", Entry(entry.stat(follow_symlinks=False).st_mode, 0, 0, 0, 0, None))
                waiting.append((entry.path, f"{name}{entry.name}/"))
            else:
                _file(look, entry.path, f"{name}{entry.name}")


def _entries(place: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return list(entries)
    except OSError:
        return ()


def _file(look: _Look, path: str, name: str) -> None:
    """Note one file; one that is not there is noted by its absence."""
    if path in look.guard.skip or any(path.startswith(f"{folder}/") for folder in look.guard.skip):
        return
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISDIR(status.st_mode):  # a repository within this one
        look.note(f"{name.rstrip('/')}/", Entry(status.st_mode, 0, 0, 0, 0, None))
        _walk(look, path.rstrip("/"), f"{name.rstrip('/')}/")
        return
    entry = Entry(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, None)
    known = look.known.get(name)
    digest = known.digest if known is not None and known.stamp == entry.stamp else _digest(look, path, status)
    look.note(name, Entry(*entry.stamp, digest))
    if len(look.entries) % 256 == 0:
        look.left_s()


def _digest(look: _Look, path: str, status: os.stat_result) -> str | None:
    """Return the digest of a file's content or a link's target; None when it is not read."""
    try:
        if stat.S_ISLNK(status.st_mode):
            return hashlib.blake2b(os.fsencode(Path(path).readlink()), digest_size=16).hexdigest()
        if not stat.S_ISREG(status.st_mode) or status.st_size > min(HASHED_FILE, look.unread):
            return None
        look.unread -= status.st_size
        with Path(path).open("rb", buffering=0) as file:
            content = hashlib.blake2b(digest_size=16)
            left = status.st_size + 1
            while left > 0 and (part := file.read(min(left, 1 << 20))):
                content.update(part)
                left -= len(part)
    except OSError:
        return None
    return content.hexdigest()


def _said(data: bytes) -> Entry:
    """Return the entry of something git tells."""
    return Entry(0, len(data), 0, 0, 0, hashlib.blake2b(data, digest_size=16).hexdigest())
