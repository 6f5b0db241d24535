"""What parity reads: Claude Code's skills and servers here, other tools' folders there. Files only.

    wanted, problems = wanted_of(environment, ...)
    found = survey(names, wanted, environment, receipt, named=False)

``parity_apply.py`` carries plans out and takes them back; ``state/parity_receipt.py`` keeps what was done. Nothing is
started, nothing leaves this machine.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..lanes.parity.edits import MOST
from ..lanes.parity.hosts import HOST_TOOLS, HostTool, folder_of
from ..lanes.parity.plan import Given, Node, Plan, Seen, Unreadable, Wanted, plan_for
from ..lanes.parity.servers import Local, local
from ..state.files import open_regular
from ..state.parity_receipt import HostDone, Receipt
from .grants import GrantError, claude_folder, own_skills, plugin_skills, user_servers

SKILL = "outsourcerer"
"""The name of the program's own skill and server."""


@dataclass(frozen=True, slots=True)
class Found:
    """One tool, and what is to be done for it. ``plan`` is None where it is not here."""

    tool: HostTool
    folder: str | None
    plan: Plan | None


def wanted_of(
    environment: Mapping[str, str],
    is_secret: Callable[[str], bool],
    bridge: Local | None,
    skill: Path | None,
    text: str,
) -> tuple[Wanted, list[str]]:
    """Return what every tool is to have, and what could not be read."""
    own, plugins = own_skills(environment), plugin_skills(environment)
    folders = {name: str(path) for name, path in {**plugins, **own}.items() if ":" not in name}
    if skill is not None:
        folders[SKILL] = str(skill)
    problems: list[str] = []
    servers: list[Local] = []
    skipped: dict[str, str] = {}
    try:
        there = user_servers(environment)
    except GrantError as error:
        there = {}
        problems.append(error.refusal.message)
    for name, config in sorted(there.items()):
        made = local(name, config, is_secret)
        if isinstance(made, Local):
            servers.append(made)
        else:
            skipped[name] = made
    if bridge is not None:
        servers = [server for server in servers if server.name != bridge.name] + [bridge]
    claude = claude_folder(environment)
    wanted = Wanted(
        skills=folders,
        own_skills=frozenset(own) - {SKILL},
        servers=tuple(servers),
        skipped=skipped,
        instructions=text,
        sources=(str(claude / "skills"), str(claude / "plugins" / "cache")),
    )
    return wanted, problems


def survey(
    names: Sequence[str], wanted: Wanted, environment: Mapping[str, str], receipt: Receipt, *, named: bool
) -> list[Found]:
    """Return each tool with its plan. Unless it was ``named``, one that is not here gets none."""
    found = []
    for name in names:
        tool = HOST_TOOLS[name]
        folder = folder_of(tool, environment)
        here = folder is not None and (named or is_here(tool, folder))
        if folder is None or not here:
            found.append(Found(tool, folder, None))
            continue
        done = receipt.hosts.get(name, HostDone())
        found.append(Found(tool, folder, plan_for(tool, look(tool, folder, wanted, done), wanted)))
    return found


def is_here(tool: HostTool, folder: str) -> bool:
    """Whether the tool has been at work for this user."""
    if tool.marks:
        return any(os.path.lexists(f"{folder}/{mark}") for mark in tool.marks)
    return Path(folder).is_dir()


def look(tool: HostTool, folder: str, wanted: Wanted, done: HostDone) -> Seen:
    """Return one tool as it stands."""
    skills = {}
    for below in tool.skills:
        place = f"{folder}/{below}"
        if os.path.realpath(place) not in {os.path.realpath(source) for source in wanted.sources}:
            skills[place] = _nodes(place)
    files = {}
    paths = [tool.instructions, tool.servers.path if tool.servers else None]
    for path in (f"{folder}/{below}" for below in paths if below):
        files[path] = read(path)
    servers = next((one.ours for one in done.files if one.part == "servers"), {})
    given = Given(links={one.path: one.target for one in done.links}, servers=servers)
    return Seen(folder=folder, skills=skills, files=files, given=given)


def read(path: str) -> bytes | Unreadable | None:
    """Return a file's bytes; a link is followed, for people keep their settings elsewhere. Waits for nothing."""
    try:
        descriptor = open_regular(path, follow=True)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MOST + 1)
    except FileNotFoundError:
        return Unreadable("it is a link that leads nowhere") if os.path.lexists(path) else None
    except NotADirectoryError:
        return Unreadable("its folder is none")
    except OSError as error:
        return Unreadable(error.strerror or "it can't be read")
    return content if len(content) <= MOST else Unreadable(f"it is larger than {MOST} bytes")


def _nodes(place: str) -> dict[str, Node]:
    try:
        with os.scandir(place) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return {}
    return {name: node for name in names if (node := _node(f"{place}/{name}")) is not None}


def _node(path: str) -> Node | None:
    try:
        seen = os.lstat(path)
        if stat.S_ISLNK(seen.st_mode):
            return Node("link", os.readlink(path), Path(path).exists(), os.path.realpath(path))  # noqa: PTH115  a string
    except OSError:
        return None
    return Node("folder" if stat.S_ISDIR(seen.st_mode) else "other")
