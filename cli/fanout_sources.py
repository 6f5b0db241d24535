"""Where the members of a fan-out come from: a folder of role files, a list of tasks, the command line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from typing import Any

import click

from ..lanes import roles
from ..lanes.roles import Role, RoleError
from .errors import CliError
from .output import say

FILE_LIMIT = 1024 * 1024
"""Longest role file in bytes."""
LIST_LIMIT = 64 * 1024 * 1024
NAMED = 5
_NO_ROLES = frozenset({"readme.md", "changelog.md", "contributing.md", "license.md", "code_of_conduct.md"})
"""What stands in a folder of roles and is none."""

Member = dict[str, Any]


def members(flags: dict[str, Any], tasks: Sequence[str], task: str) -> tuple[list[Member], list[dict[str, str]]]:
    """Return the members that a command line names, and those that can't be used: label, code, message.

    ``task`` is what every role is given. Raises click.UsageError for words that contradict each other, CliError
    for what can't be read.
    """
    sources = [flags["agents"] is not None, flags["tasks"] is not None, bool(tasks)]
    if sum(sources) != 1:
        raise click.UsageError("Give one of --agents DIR, --tasks FILE, or the tasks after --.")
    if task and flags["agents"] is None:
        raise click.UsageError("--task and --task-file go with --agents: they are what every role is given.")
    try:
        subs = roles.parse_subs(flags["subs"])
        routes = [route for word in flags["routes"] for route in roles.parse_route(word)]
    except RoleError as error:
        raise click.UsageError(str(error)) from None
    preamble = _text(flags["preamble"], FILE_LIMIT) if flags["preamble"] else ""
    shared: list[str] = []
    bad: list[dict[str, str]] = []
    if flags["agents"] is not None:
        found, shared, bad = _agents(flags["agents"])
    elif flags["tasks"] is not None:
        found = _listed(flags["tasks"], flags["label_prefix"])
    else:
        found = _inline(tasks, flags["label_prefix"])
    given = {name: flags[name] is not None for name in ("model", "effort", "tier")}
    made: list[Member] = []
    for role in found:
        try:
            text = roles.compose(role, preamble=preamble, shared=shared, task=task)
        except RoleError as error:
            bad.append(_unusable(role.label, str(error)))
            continue
        terms = roles.terms(role, routes, lane=flags["lane_given"], **given)
        made.append({"label": role.label, "task": roles.fill(text, subs), **terms})
    return made, bad


def _agents(folder: str) -> tuple[list[Role], list[str], list[dict[str, str]]]:
    """Return the roles of a folder, its shared texts, and the files that can't be used."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.lower().endswith(".md"))
    except OSError as error:
        raise CliError("bad_task", f"can't read the folder {folder}: {error.strerror}") from None
    shared, found, bad, left = [], [], [], []
    for name in names:
        path = os.path.join(folder, name)  # noqa: PTH118 - no pathlib in the front end
        stem = name[:-3]
        if name.lower() in _NO_ROLES:
            left.append(name)
            continue
        try:
            text = _text(path, FILE_LIMIT)
            if name.startswith("_"):
                shared.append(roles.parse_role(stem, text).text)
            else:
                found.append(roles.parse_role(stem, text))
        except (RoleError, CliError) as error:
            bad.append(_unusable(stem, getattr(error, "message", str(error))))
    if left:
        say(f"left out, as they are no roles: {', '.join(left)}")
    if not found and not bad:
        raise CliError("bad_task", f"there is no role file (*.md) in {folder}", "give the folder that holds them")
    return found, shared, bad


def _listed(path: str, prefix: str) -> list[Role]:
    text = _stdin() if path == "-" else _text(path, LIST_LIMIT)
    where = "stdin" if path == "-" else path
    try:
        found = roles.parse_tasks(text, prefix)
    except RoleError as error:
        raise CliError("bad_task", f"{where}: {error}") from None
    if not found:
        raise CliError("bad_task", f"{where} holds no task", "one task a line; lines that begin with # are left out")
    return found


def _inline(tasks: Sequence[str], prefix: str) -> list[Role]:
    width = max(2, len(str(len(tasks))))
    found = []
    for number, word in enumerate(tasks, 1):
        if not word.strip():
            raise CliError("bad_task", f"task {number} is empty")
        found.append(Role(label=roles.label_of(f"{prefix}-{number:0{width}}"), text=_utf8(os.fsencode(word), "a task")))
    return found


def _text(path: str, limit: int) -> str:
    """Return the text of a regular file, or of one that a person named and waits for. Raises CliError."""
    try:
        with os.fdopen(_open(path, wait=limit == LIST_LIMIT), "rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise CliError("bad_task", f"can't read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > limit:
        raise CliError("bad_task", f"{path} is longer than {limit >> 10} KiB")
    return _utf8(data, path)


def _open(path: str, *, wait: bool) -> int:
    """Return a descriptor; without ``wait`` of a regular file only: a folder may hold a pipe that never ends."""
    descriptor = os.open(path, os.O_RDONLY | (0 if wait else getattr(os, "O_NONBLOCK", 0)))
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind) or (wait and not stat.S_ISDIR(kind)):
        return descriptor
    os.close(descriptor)
    raise OSError(22, "it is not a regular file", path)


def _stdin() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise CliError("bad_task", "--tasks is -, but there is no stdin")
    data = sys.stdin.buffer.read(LIST_LIMIT + 1)
    if len(data) > LIST_LIMIT:
        raise CliError("bad_task", f"the tasks on stdin are longer than {LIST_LIMIT >> 20} MiB")
    return _utf8(data, "stdin")


def _utf8(data: bytes, what: str) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CliError(
            "bad_task", f"{what} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        ) from None
    if "\0" in text:
        raise CliError("bad_task", f"{what} holds a NUL byte")
    return text


def _unusable(label: str, message: str) -> dict[str, str]:
    return {"label": label, "code": "bad_task", "message": message}


def refuse_unusable(bad: list[dict[str, str]], usable: int) -> CliError:
    """Return the refusal that names the files that can't be used."""
    named = "; ".join(f"{one['label']}: {one['message']}" for one in bad[:NAMED])
    more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
    hint = f"--skip-refused starts the other {usable}" if usable else "mend them"
    return CliError(
        "bad_task", f"{len(bad)} of {len(bad) + usable} can't be used, nothing was started. {named}{more}", hint
    )
