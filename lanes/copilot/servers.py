"""Which MCP servers Copilot would start, and the words that keep them out. Pure. Seen on 1.0.102.

Nothing switches all of them off at once, so each is named: those of the person, of their plugins, and of a folder
that they trust. The list is Copilot's own, which knows of all three and starts none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...messages.refusals import RefusalCode, Refused
from ..contract import Host, OwnServers
from ..launching import SERVER_NAME
from ..values import as_object

BINARY = "copilot"
WANTED = "OSRC_COPILOT_USER_MCP"
MOST = 200
LONGEST = 200


def read(output: bytes) -> tuple[str, ...] | None:
    """Return the names in ``copilot mcp list --json``, None where it is no such list."""
    try:
        listed = json.loads(output).get("mcpServers")
    except (ValueError, AttributeError, RecursionError):
        return None
    if not isinstance(listed, dict) or len(listed) > MOST:
        return None
    names = tuple(sorted(as_object(listed)))
    return None if any(len(name) > LONGEST or "\0" in name for name in names) else names


OWN_SERVERS = OwnServers(program=BINARY, argv=("mcp", "list", "--json"), read=read, wanted=WANTED)


TOOLS = frozenset({"bash", "create", "edit", "glob", "grep", "memory", "read", "shell", "skill", "sql", "task", "url"})
TOOLS |= {"view", "write"}
"""Words that mean a tool, or several, where a server may be named too."""


def granted(servers: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return the configuration of these servers, with all of their tools."""
    return json.dumps({"mcpServers": {name: {"tools": ["*"], **server} for name, server in servers.items()}}).encode()


def with_servers(names: tuple[str, ...]) -> tuple[str, ...] | Refused:
    """Return the words that start the granted servers and let their tools be used."""
    for name in names:
        if not SERVER_NAME.fullmatch(name) or name.lower() in TOOLS:
            return Refused(
                code=RefusalCode.BAD_GRANT,
                message=f"Copilot would take the name of the MCP server {name[:80]!a} for something else.",
                hint="rename it where it is configured: letters, digits, - and _, and no tool's word",
            )
    if not names:
        return ()
    return ("--additional-mcp-config=@{job}/mcp.json", *(f"--allow-tool={name}" for name in names))


def without_servers(host: Host, but: tuple[str, ...] = ()) -> tuple[str, ...] | Refused:
    """Return the words that keep the person's servers out, ``but`` those granted; none where they are wanted."""
    if host.environment.get(WANTED) == "1":
        return ()
    if host.own_servers is None:
        return Refused(
            code=RefusalCode.LANE_NOT_READY,
            message="Copilot does not say which MCP servers it would start, so that yours can't be kept out.",
            hint=f"see what is wrong with: copilot mcp list; or let them start: {WANTED}=1 osrc ...",
        )
    return tuple(f"--disable-mcp-server={name}" for name in host.own_servers if name not in but)
