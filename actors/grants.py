"""Reading the skills and MCP servers that a person grants a job: from Claude's own places, and nothing else.

Skills: the folder's ``.claude/skills`` (the nearest one up to the repository's root), then
``~/.claude/skills``, then plugins, of each the newest version that really contains the skill.
Servers: ``~/.claude.json`` (this folder's own first), then plugins' ``.mcp.json``.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..lanes.contract import Host, Lane
from ..lanes.grants import ENTRY, FILES_CAP, Caps, Granted, Server, Skill, SkillFile, grant
from ..lanes.values import as_object
from ..messages.job import JobRequest
from ..messages.paths import home_of
from ..messages.refusals import RefusalCode, Refused
from ..state import flags
from ..state.files import open_regular
from ..state.settings import Settings

ALL = "all"
CONFIG_CAP = 32 * 1024 * 1024
DEPTH = 12
SKIPPED = frozenset({".git", "__pycache__", ".DS_Store"})
PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"
_NUMBERS = re.compile(r"\d{1,9}")


class GrantError(Exception):
    """What was asked for can't be given."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        """Make the refusal that says so."""
        super().__init__(message)
        self.refusal = Refused(code=RefusalCode.BAD_GRANT, message=message, hint=hint)


def granted_to(request: JobRequest, lane: Lane, host: Host, settings: Settings, place: str) -> Granted | Refused:
    """Return what a job's delegate gets of what was asked for; all of it, or a refusal."""
    caps = Caps(
        listing=_count(settings, "with_max_bytes"),
        text=_count(settings, "with_text_max_bytes"),
        bundle=_count(settings, "bundle_max_bytes"),
    )
    environment = host.environment
    try:
        skills = read_skills(request.skills, environment, request.cwd, caps.bundle)
        servers = read_servers(request.mcp, environment, request.cwd)
    except GrantError as error:
        return error.refusal
    taken = lane if lane.road is None else replace(lane, skills=lane.road(host))
    return grant(skills, servers, taken, caps, place)


def _count(settings: Settings, key: str) -> int:
    return int(settings.number(key) or 0)


def read_skills(names: Sequence[str], environment: Mapping[str, str], cwd: str, cap: int) -> tuple[Skill, ...]:
    """Return the skills of these names (or all there are), whole. Raises GrantError."""
    if not names:
        return ()
    there = skill_folders(environment, cwd)
    wanted = sorted(name for name in there if ":" not in name) if ALL in names else list(dict.fromkeys(names))
    if not wanted:
        raise GrantError("there are no skills to grant", "they are looked for in ~/.claude/skills and .claude/skills")
    unknown = next((name for name in wanted if name not in there), None)
    if unknown is not None:
        known = ", ".join(sorted(name for name in there if ":" not in name)[:40]) or "none"
        raise GrantError(f"there is no skill {unknown}", f"skills here: {known}")
    left = cap
    skills = []
    for name in wanted:
        skill = Skill(name.rpartition(":")[2], tuple(_files(there[name], name, left)))
        left -= sum(len(file.content) for file in skill.files)
        skills.append(skill)
    return tuple(skills)


def skill_folders(environment: Mapping[str, str], cwd: str) -> dict[str, Path]:
    """Return every skill's folder by name; a plugin's also as ``plugin:skill``. The nearest place wins."""
    found = {**plugin_skills(environment), **own_skills(environment)}
    for place in reversed(list(_project_places(environment, cwd))):
        found.update(_skills_in(place))
    return found


def plugin_skills(environment: Mapping[str, str]) -> dict[str, Path]:
    """Return the skills of plugins, of each the newest version that has it, also as ``plugin:skill``."""
    found: dict[str, Path] = {}
    for plugin, version in reversed(list(_plugins(environment))):  # the newest is read last, and stays
        for name, folder in _skills_in(version / "skills"):
            found[name] = found[f"{plugin}:{name}"] = folder
    return found


def own_skills(environment: Mapping[str, str]) -> dict[str, Path]:
    """Return the skills in the person's own ``~/.claude/skills``."""
    return dict(_skills_in(claude_folder(environment) / "skills"))


def read_servers(names: Sequence[str], environment: Mapping[str, str], cwd: str) -> tuple[Server, ...]:
    """Return the MCP servers of these names as they are configured. Raises GrantError."""
    if not names:
        return ()
    there = user_servers(environment)
    projects = as_object(_json(_claude_json(environment)).get("projects"))
    there.update(_servers({"mcpServers": as_object(projects.get(cwd)).get("mcpServers")}))
    unknown = next((name for name in names if name not in there), None)
    if unknown is not None:
        known = ", ".join(sorted(there)[:40]) or "none"
        raise GrantError(f"there is no MCP server {unknown} in ~/.claude.json", f"servers there: {known}")
    return tuple(Server(name, there[name]) for name in dict.fromkeys(names))


def user_servers(environment: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    """Return the MCP servers of plugins and of the person, as they are configured. Raises GrantError."""
    there: dict[str, Mapping[str, Any]] = {}
    for _plugin, version in reversed(list(_plugins(environment))):
        text = json.dumps(_json(version / ".mcp.json")).replace(PLUGIN_ROOT, json.dumps(str(version))[1:-1])
        there.update(_servers(json.loads(text)))
    there.update(_servers({"mcpServers": _json(_claude_json(environment)).get("mcpServers")}))
    return there


def claude_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder in which Claude Code keeps what is the person's."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or Path(home_of(environment)) / ".claude")


def _claude_json(environment: Mapping[str, str]) -> Path:
    own = environment.get("CLAUDE_CONFIG_DIR")
    return Path(own or home_of(environment)) / ".claude.json"


def _project_places(environment: Mapping[str, str], cwd: str) -> Iterator[Path]:
    """Yield ``.claude/skills`` of the folder and of those above it, the nearest first, to the repository's root.

    Outside of a repository only the folder's own counts: what lies above it is nobody's project.
    """
    folder = Path(cwd)
    inside = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
    for place in (folder, *folder.parents):
        if place / ".claude" != claude_folder(environment):
            yield place / ".claude" / "skills"
        if place == inside:
            return


def _plugins(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield each plugin's name and versions, of each the newest first: ``plugins/cache/MARKET/PLUGIN/VERSION``."""
    for market in _folders(claude_folder(environment) / "plugins" / "cache"):
        for plugin in _folders(market):
            for version in sorted(_folders(plugin), key=_newness, reverse=True):
                yield plugin.name, version


def _newness(folder: Path) -> tuple[tuple[int, ...], float]:
    """Return a key by which newer versions sort higher: numbers of the name, then the time of the folder."""
    try:
        changed = folder.stat().st_mtime
    except OSError:
        changed = 0.0
    return tuple(int(number) for number in _NUMBERS.findall(folder.name)[:8]), changed


def _folders(place: Path) -> list[Path]:
    try:
        return sorted(entry for entry in place.iterdir() if entry.is_dir())
    except OSError:
        return []


def _skills_in(place: Path) -> Iterable[tuple[str, Path]]:
    return [(folder.name, folder) for folder in _folders(place) if (folder / ENTRY).is_file()]


def _servers(config: object) -> dict[str, Mapping[str, Any]]:
    row = as_object(config)
    servers = as_object(row.get("mcpServers", row))
    return {name: server for name, server in servers.items() if isinstance(server, dict)}


def _json(path: Path) -> Mapping[str, Any]:
    """Return a JSON object from a file; an empty one where there is none. Raises GrantError for a damaged one."""
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:  # a pipe would be waited for
            content = file.read(CONFIG_CAP + 1)
        if len(content) > CONFIG_CAP:
            raise GrantError(f"{path} is larger than {CONFIG_CAP} bytes")
        return as_object(json.loads(content))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise GrantError(f"{path} can't be read: {error}") from None


def _files(folder: Path, name: str, cap: int) -> Iterator[SkillFile]:
    """Yield a skill's files. Links may lead anywhere inside the skill, and nowhere else."""
    root = Path(os.path.realpath(folder))
    left, count = cap, 0
    for path, shown in _walk(root, root, name, DEPTH):
        content, executable = _read(path, f"{name}/{shown}", left)
        left, count = left - len(content), count + 1
        if count > FILES_CAP:
            raise GrantError(f"the skill {name} has more than {FILES_CAP} files")
        yield SkillFile(shown, content, executable)


def _walk(place: Path, root: Path, name: str, depth: int, below: str = "") -> Iterator[tuple[Path, str]]:
    if depth == 0:
        raise GrantError(f"the skill {name} is more than {DEPTH} folders deep, or a link in it leads back")
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError as error:
        raise GrantError(f"the skill {name} can't be read: {error.strerror}") from None
    for entry in entries:
        if entry.name in SKIPPED:
            continue
        path = Path(os.path.realpath(entry.path))
        if path != root and root not in path.parents:
            raise GrantError(f"the skill {name} has a link that leads out of it: {below}{entry.name}")
        if path.is_dir():
            yield from _walk(path, root, name, depth - 1, f"{below}{entry.name}/")
        else:
            yield path, f"{below}{entry.name}"


def _read(path: Path, shown: str, cap: int) -> tuple[bytes, bool]:
    """Return a file's bytes and whether it may be executed. No pipe or device is ever read, or waited for."""
    try:
        descriptor = os.open(path, flags.READ | flags.NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise GrantError(f"{shown} is no ordinary file")
            if found.st_size > cap:
                raise GrantError("the granted skills are too large", "grant fewer, or raise OSRC_BUNDLE_MAX_BYTES")
            return file.read(cap + 1), bool(found.st_mode & stat.S_IXUSR)
    except OSError as error:
        raise GrantError(f"{shown} can't be read: {error.strerror}") from None
