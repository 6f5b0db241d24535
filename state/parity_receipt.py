"""What parity did to other tools' files, so that it can be taken back to the byte: ``parity.json`` in the state home.

It holds what those files held before, which may be private: 0600, as everything here.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from .errors import StateError, from_os_error
from .file_locks import try_lock
from .files import FILES, read_private, write_private
from .home import Home

FILE = "parity.json"
LOCK = "parity.lock"
LIMIT = 256 * 1024 * 1024
VERSION = 1
Part = Literal["servers", "instructions"]


@dataclass(slots=True)
class LinkDone:
    """A link that was made. ``target`` is empty where a dead one was removed; ``was`` is what stood there."""

    path: str
    target: str
    was: str | None = None


@dataclass(slots=True)
class FileDone:
    """A file that was written. ``before``: its bytes, None where it was not there; ``after``: what tells ours."""

    path: str
    part: Part
    before: bytes | None = field(repr=False)
    after: str
    ours: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class HostDone:
    """What was done for one tool."""

    links: list[LinkDone] = field(default_factory=list)
    files: list[FileDone] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    """Folders that were made."""


@dataclass(slots=True)
class Receipt:
    """All of it, by the tool's name."""

    hosts: dict[str, HostDone] = field(default_factory=dict)


def read_receipt(home: Home) -> Receipt:
    """Return what was done; empty where nothing was. Raises StateError for a file that can't be believed."""
    path = home.root / FILE
    data = read_private(path, LIMIT)
    if data is None:
        return Receipt()
    try:
        value = json.loads(data)
        return _receipt(value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
        message = f"{path} can't be read as a receipt of parity: {str(error)[:120]}"
        raise StateError("state_damaged", message, f"look at {path}; without it parity can't be undone") from None


@contextlib.contextmanager
def alone(home: Home) -> Iterator[None]:
    """Hold parity's lock: two runs at once would each undo only their own half. Raises StateError where it is held."""
    home.preflight()
    path = home.root / LOCK
    try:
        descriptor = FILES.open(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise from_os_error(error, path, "use") from error
    try:
        if not try_lock(descriptor):
            raise StateError("denied", "another osrc parity is at work", "try again")
        yield
    finally:
        os.close(descriptor)


def save_receipt(home: Home, receipt: Receipt) -> None:
    """Keep it, on the disk before this returns; an empty one is removed. Raises StateError."""
    path = home.root / FILE
    if not receipt.hosts:
        path.unlink(missing_ok=True)
        return
    home.preflight()
    value = {"version": VERSION, "hosts": {name: _row(host) for name, host in receipt.hosts.items()}}
    write_private(path, json.dumps(value).encode(), fsync=True)


def _receipt(value: Any) -> Receipt:  # noqa: ANN401 - whatever the file holds
    if value["version"] != VERSION:
        raise ValueError("another version wrote it")
    return Receipt({str(name): _host(row) for name, row in value["hosts"].items()})


def _host(row: Mapping[str, Any]) -> HostDone:
    return HostDone(
        links=[LinkDone(str(one["path"]), str(one["target"]), one["was"]) for one in row["links"]],
        files=[_file(one) for one in row["files"]],
        folders=[str(folder) for folder in row["folders"]],
    )


def _file(row: Mapping[str, Any]) -> FileDone:
    before = None if row["before"] is None else base64.b64decode(row["before"], validate=True)
    part = row["part"]
    if part not in ("servers", "instructions"):
        raise ValueError("no such part")
    return FileDone(str(row["path"]), cast("Part", part), before, str(row["after"]), dict(row["ours"]))


def _row(host: HostDone) -> dict[str, Any]:
    return {
        "links": [{"path": one.path, "target": one.target, "was": one.was} for one in host.links],
        "files": list(_file_rows(host.files)),
        "folders": host.folders,
    }


def _file_rows(files: Iterable[FileDone]) -> Iterable[dict[str, Any]]:
    for one in files:
        before = None if one.before is None else base64.b64encode(one.before).decode()
        yield {"path": one.path, "part": one.part, "before": before, "after": one.after, "ours": dict(one.ours)}
