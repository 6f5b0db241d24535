"""``--with``: what of the person's own skills and MCP servers reaches a delegate, and by which road. Pure.

    granted = grant(skills, servers, lane, caps, place)      # or Refused

A lane's road is data: ``bundle`` copies each skill's folder into the job folder and tells the delegate
where it is; ``text`` puts the files into the prompt. Nothing is ever cut short or left out in silence:
what can't be given whole is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..messages.refusals import RefusalCode, Refused
from .contract import Lane, PrivateFile, Road
from .values import clip

FOLDER = "skills"
MCP_FILE = "mcp.json"
ENTRY = "SKILL.md"
FILES_CAP = 2000
DESCRIPTION_CHARS = 300
_FRONT_MATTER_LINES = 60


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One file of a skill; ``path`` is relative to its folder, with ``/``."""

    path: str
    content: bytes = field(repr=False)
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as it was found."""

    name: str
    files: tuple[SkillFile, ...]


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server as its owner configured it. May hold keys."""

    name: str
    config: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Bounds in bytes."""

    listing: int = 20_000
    """``OSRC_WITH_MAX_BYTES``: what the list of bundled skills may add to the prompt."""
    text: int = 100_000
    """``OSRC_WITH_TEXT_MAX_BYTES``: what inlined skills may add to the prompt."""
    bundle: int = 8_388_608
    """``OSRC_BUNDLE_MAX_BYTES``: all files of all bundled skills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What a grant becomes."""

    prompt: str = ""
    """Words to put behind the task."""
    files: tuple[PrivateFile, ...] = ()
    """Files for the job folder."""
    servers: tuple[str, ...] = ()
    bundled: bool = False
    """Whether the skills are among ``files``."""
    place: str
    """What stands for the job folder in the prompt, until there is one."""
    notices: tuple[str, ...] = ()


def grant(skills: Sequence[Skill], servers: Sequence[Server], lane: Lane, caps: Caps, place: str) -> Granted | Refused:
    """Return what the lane's delegate gets. ``place`` stands for the job folder in the prompt."""
    if servers and not lane.mcp:
        return _refused(
            f"the lane {lane.name} has no road for MCP servers", "claude, cc, droid, copilot and ACP agents take them"
        )
    made = _skills(skills, lane, caps, place)
    if isinstance(made, Refused) or not servers:
        return made
    names = tuple(server.name for server in servers)
    config = {server.name: server.config for server in servers}
    content = lane.servers(config) if lane.servers else json.dumps({"mcpServers": config}, indent=1).encode()
    file = PrivateFile(name=MCP_FILE, content=content)
    notice = f"with MCP {', '.join(names)}: what a server does is its own affair, whatever the verb promises."
    return replace(made, files=(*made.files, file), servers=names, notices=(*made.notices, notice))


def _skills(skills: Sequence[Skill], lane: Lane, caps: Caps, place: str) -> Granted | Refused:
    if not skills:
        return Granted(place=place)
    for skill in skills:
        if (wrong := unfit(skill)) is not None:
            return _refused(wrong, "osrc help lanes")
    if lane.skills is Road.NONE:
        return _refused(f"the lane {lane.name} has no road for skills", "leave out --with skills, or take another lane")
    return _bundle(skills, caps, place) if lane.skills is Road.BUNDLE else _text(skills, lane, caps, place)


def unfit(skill: Skill) -> str | None:
    """Return what is wrong with a skill's files, or None."""
    if not any(file.path == ENTRY for file in skill.files):
        return f"the skill {skill.name} has no {ENTRY}"
    if len(skill.files) > FILES_CAP:
        return f"the skill {skill.name} has more than {FILES_CAP} files"
    for file in skill.files:
        parts = file.path.split("/")
        if not file.path.isprintable() or any(part in ("", ".", "..") for part in parts):
            return f"the skill {skill.name} has a file whose name can't be passed on: {file.path[:80]!a}"
    return None


def _bundle(skills: Sequence[Skill], caps: Caps, place: str) -> Granted | Refused:
    size = sum(len(file.content) for skill in skills for file in skill.files)
    if size > caps.bundle:
        return _too_much("the granted skills", size, caps.bundle, "OSRC_BUNDLE_MAX_BYTES")
    lines = [
        "Skills granted for this job. Before you do work that one of them is about, read its SKILL.md and follow",
        "it; the paths in it are relative to its own folder.",
        *(f"- {skill.name}: {place}/{FOLDER}/{skill.name}/{ENTRY}{_about(skill)}" for skill in skills),
    ]
    words = "\n".join(lines)
    if len(words.encode("utf-8", "replace")) > caps.listing:
        return _too_much("the list of granted skills", len(words), caps.listing, "OSRC_WITH_MAX_BYTES")
    files = tuple(
        PrivateFile(name=f"{FOLDER}/{skill.name}/{file.path}", content=file.content, executable=file.executable)
        for skill in skills
        for file in skill.files
    )
    notice = _said(skills, f"copied, {len(files)} files, {size} bytes")
    return Granted(prompt=words, files=files, bundled=True, place=place, notices=(notice,))


def _text(skills: Sequence[Skill], lane: Lane, caps: Caps, place: str) -> Granted | Refused:
    parts = ["Skills granted for this job, as text. Follow the one that your work is about."]
    for skill in skills:
        for file in sorted(skill.files, key=lambda file: (file.path != ENTRY, file.path)):
            try:
                text = file.content.decode("utf-8")
            except UnicodeDecodeError:
                text = "\0"
            if "\0" in text:
                hint = "take a lane that gets skills as files, for example --lane claude"
                return _refused(f"{skill.name}/{file.path} is no text, and the lane {lane.name} takes only text", hint)
            parts.append(f"--- {skill.name}/{file.path}\n{text.rstrip()}")
    words = "\n\n".join(parts)
    size = len(words.encode())
    if size > caps.text:
        return _too_much("the granted skills as text", size, caps.text, "OSRC_WITH_TEXT_MAX_BYTES")
    return Granted(prompt=words, place=place, notices=(_said(skills, f"as text, {size} bytes"),))


def _about(skill: Skill) -> str:
    """Return the description in a skill's front matter, as the end of its line."""
    entry = next(file.content for file in skill.files if file.path == ENTRY)
    lines = entry[:16384].decode("utf-8", "replace").splitlines()[:_FRONT_MATTER_LINES]
    if not lines or lines[0].strip() != "---":
        return ""
    for line in lines[1:]:
        key, colon, value = line.partition(":")
        if line.strip() == "---":
            break
        if colon and key == "description" and value.strip():
            return f" ({clip(' '.join(value.split()), DESCRIPTION_CHARS)})"
    return ""


def _said(skills: Sequence[Skill], how: str) -> str:
    return f"with skills {', '.join(skill.name for skill in skills)} ({how})"


def _too_much(what: str, size: int, cap: int, setting: str) -> Refused:
    return _refused(f"{what} are {size} bytes, more than {cap}", f"grant fewer, or raise {setting}")


def _refused(message: str, hint: str) -> Refused:
    return Refused(code=RefusalCode.BAD_GRANT, message=message, hint=hint)
