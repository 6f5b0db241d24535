"""What parity would do to one tool: a list of typed file actions, made of what was seen. Pure.

    plan = plan_for(tool, seen, skills, servers, text)

The same world gives the same plan, and a world in which a plan was carried out gives an empty one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .edits import TEXT_MARKS, CannotEditError, with_block, with_servers
from .hosts import HostTool
from .servers import Local, entry, needed


@dataclass(frozen=True, slots=True)
class Node:
    """What stands at a place where a skill would be linked."""

    kind: Literal["link", "folder", "other"]
    target: str | None = None
    """Where a link leads, as it is written."""
    alive: bool = True
    real: str | None = None
    """Where a link leads in the end."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is there and can't be edited, with the reason."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What earlier runs put into one tool; from the receipt."""

    links: Mapping[str, str] = field(default_factory=dict)
    """Path → target."""
    servers: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One tool as it was found. Paths are absolute."""

    folder: str
    skills: Mapping[str, Mapping[str, Node]] = field(default_factory=dict)
    """Folder of skills → name → what is there. A folder that leads into Claude's own is left out."""
    files: Mapping[str, bytes | Unreadable | None] = field(default_factory=dict, repr=False)
    given: Given = Given()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What every tool is to have."""

    skills: Mapping[str, str] = field(default_factory=dict)
    """Name → folder."""
    own_skills: frozenset[str] = frozenset()
    """Names of ``skills`` that stand in ``~/.claude/skills``, which some tools read by themselves."""
    servers: Sequence[Local] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Server → why it goes nowhere."""
    instructions: str = ""
    """The block for a tool's instructions; empty: none."""
    sources: tuple[str, ...] = ()
    """Real folders that skills are linked from: a dead link into one of them is of no use to anybody."""


@dataclass(frozen=True, slots=True)
class Link:
    """Make ``path`` a link to ``target``; ``was``: the dead or outdated link that stands there."""

    path: str
    target: str
    was: str | None = None


@dataclass(frozen=True, slots=True)
class Unlink:
    """Remove a link that leads nowhere any more."""

    path: str
    was: str


@dataclass(frozen=True, slots=True)
class Write:
    """Make ``path`` hold ``content``; ``before``: what it held, None where it was not there."""

    path: str
    content: bytes = field(repr=False)
    before: bytes | None = field(repr=False)
    part: Literal["servers", "instructions"]
    ours: Mapping[str, Any] = field(default_factory=dict, repr=False)


Action = Link | Unlink | Write


@dataclass(frozen=True, slots=True)
class Plan:
    """The actions, and what is to be said beside them."""

    actions: tuple[Action, ...] = ()
    notes: tuple[str, ...] = ()


def plan_for(tool: HostTool, seen: Seen, wanted: Wanted) -> Plan:
    """Return what is to be done for one tool."""
    notes: list[str] = []
    actions: list[Action] = []
    for folder in seen.skills:
        actions += _links(tool, folder, seen, wanted, notes)
    if tool.instructions and wanted.instructions:
        actions += _instructions(f"{seen.folder}/{tool.instructions}", seen, wanted.instructions, notes)
    if tool.servers is not None:
        actions += _servers(tool, seen, wanted, notes)
    return Plan(tuple(actions), tuple(notes))


def _links(tool: HostTool, folder: str, seen: Seen, wanted: Wanted, notes: list[str]) -> list[Action]:
    actions: list[Action] = []
    there = seen.skills[folder]
    for name, target in sorted(wanted.skills.items()):
        if not (tool.reads_claude and name in wanted.own_skills):
            actions += _linked(f"{folder}/{name}", target, there.get(name), seen, notes)
    for name, node in sorted(there.items()):
        path, leads = f"{folder}/{name}", node.target
        if node.kind != "link" or node.alive or leads is None or name in wanted.skills:
            continue
        if _ours(node, path, seen) or any(leads.startswith(f"{source}/") for source in wanted.sources):
            actions.append(Unlink(path, leads))
    return actions


def _linked(path: str, target: str, node: Node | None, seen: Seen, notes: list[str]) -> list[Action]:
    if node is None:
        return [Link(path, target)]
    if node.kind != "link":
        notes.append(f"{path} is {'a folder' if node.kind == 'folder' else 'a file'} of your own: it stays")
    elif node.target != target and (not node.alive or _ours(node, path, seen)):
        return [Link(path, target, node.target)]
    elif node.alive and target not in (node.real, node.target):
        notes.append(f"{path} leads to {node.target}: it stays")
    return []


def _ours(node: Node, path: str, seen: Seen) -> bool:
    return node.target is not None and seen.given.links.get(path) == node.target


def _instructions(path: str, seen: Seen, body: str, notes: list[str]) -> list[Action]:
    content = seen.files.get(path)
    if isinstance(content, Unreadable):
        notes.append(f"{path} was left alone: {content.why}")
        return []
    try:
        text = "" if content is None else content.decode("utf-8")
        made = with_block(text, body, TEXT_MARKS).encode()
    except (UnicodeDecodeError, CannotEditError) as error:
        why = "it is no UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        notes.append(f"{path} was left alone: {why}")
        return []
    return [] if made == content else [Write(path, made, content, "instructions")]


def _servers(tool: HostTool, seen: Seen, wanted: Wanted, notes: list[str]) -> list[Action]:
    form = tool.servers
    if form is None:
        return []
    path = f"{seen.folder}/{form.path}"
    rows: dict[str, Any] = {}
    for server in wanted.servers:
        made = entry(server, form)
        if isinstance(made, str):
            notes.append(f"the MCP server {server.name} was left out: {made}")
            continue
        rows[server.name] = made
        if (words := needed(server, tool)) is not None:
            notes.append(words)
    notes += [f"the MCP server {name} was left out: {why}" for name, why in sorted(wanted.skipped.items())]
    content = seen.files.get(path)
    hint = f" ({form.command} adds one)" if form.command else ""
    if not rows and not seen.given.servers:
        return []
    if isinstance(content, Unreadable):
        notes.append(f"{path} was left alone: {content.why}{hint}")
        return []
    try:
        edited = with_servers(content, form.form, form.key, rows, seen.given.servers)
    except CannotEditError as error:
        notes.append(f"{path} was left alone: {error}{hint}")
        return []
    notes += [f"the MCP server {name} is set up in {path} already: it stays" for name in edited.kept]
    if edited.content == (content or b""):
        return []
    return [Write(path, edited.content, content, "servers", edited.ours)]


def fingerprint(content: bytes) -> str:
    """Return what tells one content from another."""
    return hashlib.sha256(content).hexdigest()


def rows_of(actions: Sequence[Action]) -> list[dict[str, Any]]:
    """Return the actions as objects without any content: what may be shown."""
    rows: list[dict[str, Any]] = []
    for one in actions:
        if isinstance(one, Write):
            rows.append({"do": "write", "path": one.path, "part": one.part, "new": one.before is None})
        elif isinstance(one, Link):
            rows.append({"do": "link", "path": one.path, "target": one.target, "new": one.was is None})
        else:
            rows.append({"do": "unlink", "path": one.path, "target": one.was})
    return rows
