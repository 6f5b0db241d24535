"""One MCP server of Claude Code's, and how another tool is told of it. Pure.

No value that may be a secret is ever copied: a tool that can take it from its own environment is told the
variable's name; for any other the server is left out, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .hosts import HostTool, Servers

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,120}", re.ASCII)
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,120})(?::-[^{}]{0,200})?\}", re.ASCII)
_SECRET_NAMES = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "DSN")
_ASSIGNED = re.compile(r"-{0,2}([A-Za-z][A-Za-z0-9_.-]{0,120})(=|:[ \t]*)(.+)", re.ASCII | re.DOTALL)
"""A word of a command line that names its value: ``--api-key=V``, ``TOKEN=V``, ``X-Api-Key: V``."""
_NO_VALUES = ("FILE", "PATH", "DIR", "URL", "URI", "NAME", "TYPE", "MODE", "METHOD", "ENV", "HEADER", "LIMIT")
"""Last words of names that tell of a secret, and are not followed by one."""
_PLAIN = re.compile(r"[0-9]{1,8}|true|false|yes|no|on|off|none|null|oauth|basic|bearer", re.ASCII | re.IGNORECASE)
_SIZE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Local:
    """A server that is a program on this machine."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    """Environment as it stands in the configuration."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Environment that is to come from the caller's own: name in the server → variable."""


class UnfitError(Exception):
    """A server that can't be passed on; the message says why."""


def local(name: str, config: Mapping[str, Any], is_secret: Callable[[str], bool]) -> Local | str:
    """Return a server as it may be passed on, or why it may not."""
    try:
        command, args = _command(config, is_secret)
        values, variables = _environment(config.get("env", {}), is_secret)
    except UnfitError as error:
        return str(error)
    texts = (name, command, *args, *values, *values.values())
    if not name or not name.isprintable() or any("\0" in text for text in texts) or sum(map(len, texts)) > _SIZE:
        return "it is too large, or its name can't be passed on"
    return Local(name, command, args, values, variables)


def _command(config: Mapping[str, Any], is_secret: Callable[[str], bool]) -> tuple[str, tuple[str, ...]]:
    command, args = config.get("command"), config.get("args", [])
    if not isinstance(command, str) or not command:
        raise UnfitError("it is no program here: a remote service, or a connector that only Claude Code can reach")
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        raise UnfitError("its arguments are no list of words")
    if any("${" in word for word in (command, *args)):
        raise UnfitError("its command line refers to variables, which only Claude Code fills in")
    if any(is_secret(word) for word in (command, *args)) or _named_secret(args):
        raise UnfitError("its command line holds what looks like a secret")
    return command, tuple(args)


def _environment(table: object, is_secret: Callable[[str], bool]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the plain values, and the variables that others are to come from."""
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise UnfitError("its environment is no table of words")
    values: dict[str, str] = {}
    variables: dict[str, str] = {}
    for key, value in table.items():
        if not NAME.fullmatch(key):
            raise UnfitError(f"its environment has a name that is none: {key[:40]!a}")
        if (found := _REFERENCE.fullmatch(value)) is not None:
            variables[key] = found[1]
        elif "${" in value:
            raise UnfitError(f"its {key} is put together of variables, which only Claude Code does")
        elif _secret_name(key) or is_secret(value):
            variables[key] = key
        else:
            values[key] = value
    return values, variables


def entry(server: Local, servers: Servers) -> dict[str, Any] | str:
    """Return what stands for a server in a host's configuration, or why it can't."""
    if server.variables and servers.reference is None:
        names = ", ".join(sorted(server.variables))
        return f"it needs {names}, and there is no known way to refer to a variable there"
    if servers.shape == "codex":
        return _codex(server)
    environment = dict(server.values)
    for key, variable in server.variables.items():
        environment[key] = (servers.reference or "").replace("NAME", variable)
    row: dict[str, Any]
    if servers.shape == "opencode":
        row = {"type": "local", "command": [server.command, *server.args], "enabled": True}
        return {**row, "environment": environment} if environment else row
    row = {"command": server.command, "args": list(server.args)}
    if servers.shape == "stdio":
        row = {"type": "stdio", **row}
    elif servers.shape == "copilot":
        row = {"type": "local", "tools": ["*"], **row}
    return {**row, "env": environment} if environment else row


def needed(server: Local, tool: HostTool) -> str | None:
    """Return the sentence about variables that the host will have to find in its environment."""
    if not server.variables:
        return None
    return f"{server.name}: {tool.title} takes {', '.join(sorted(set(server.variables.values())))} from its environment"


def _codex(server: Local) -> dict[str, Any] | str:
    other = sorted(key for key, variable in server.variables.items() if key != variable)
    if other:
        return f"its {other[0]} comes from a variable of another name, and Codex passes variables on as they are"
    row: dict[str, Any] = {"command": server.command, "args": list(server.args)}
    if server.variables:
        row["env_vars"] = sorted(server.variables)
    if server.values:
        row["env"] = dict(server.values)
    return row


def _named_secret(words: Sequence[str]) -> bool:
    """Whether a word is called a secret by its own name, or by the option before it."""
    for word, following in pairwise((*words, "")):
        assigned = _ASSIGNED.fullmatch(word)
        if assigned is not None:
            name, value = assigned[1], assigned[3]
            if assigned[2] != "=" and value.startswith("/"):
                continue  # an address, or a folder that is mounted
        elif word.startswith("-") and "=" not in word and not following.startswith("-"):
            name, value = word, following
        else:
            continue
        last = re.split(r"[-_.]", name)[-1].upper()
        if value and _secret_name(name) and last not in _NO_VALUES and not _PLAIN.fullmatch(value):
            return True
    return False


def _secret_name(key: str) -> bool:
    return any(word in key.upper() for word in _SECRET_NAMES)
