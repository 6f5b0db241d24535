"""What an agent is allowed to do, by verb. Pure.

Options of a permission request are chosen by their ``kind``: ids and order differ with every agent
(seen on nine of them, 2026-11-30). A mode that asks is chosen where the agent's own default is one
that does not: claude-agent-acp 0.101 and qwen 0.24.4 start in ``auto``, where a model decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....messages.vocabulary import Verb
from ...values import as_list, as_object, as_word

ASKING = ("read-only", "default", "manual", "ask", "normal")
"""Ids of modes in which an agent asks before it changes anything, the strictest first."""

_AS_ROLE = "https://agentclientprotocol.com/protocol/session-modes#"
"""Start of the ids of copilot 1.0.102's modes."""
MODES: Mapping[str, tuple[str, ...]] = {
    "plan": ("plan", "spec", f"{_AS_ROLE}plan"),
    "ask": (*ASKING, "act", "build", f"{_AS_ROLE}agent"),
    "edits": ("acceptEdits", "autoEdit", "auto-edit", "auto-low"),
    "yolo": ("bypassPermissions", "yolo", "full-access", "auto-high", f"{_AS_ROLE}autopilot"),
}
"""A session's mode → ids by which agents call it. ``auto`` is in none: in it a model decides, or much is allowed."""

ID_CHARS = 1024
_SWITCH_MODE = "switch_mode"
_ALLOW = {Verb.EDIT: ("allow_once",), Verb.YOLO: ("allow_once", "allow_always")}
_REJECT = ("reject_once", "reject_always")


def allowed(verb: Verb, tool_kind: str | None) -> bool:
    """Whether a tool of this kind may run. Read-only verbs grant nothing: what needs no question needs no answer."""
    return verb is Verb.YOLO or (verb is Verb.EDIT and tool_kind != _SWITCH_MODE)


def choose(verb: Verb, tool_kind: str | None, options: object) -> tuple[str | None, bool]:
    """Return the id of the option to take (None: none fits, the request is cancelled), and whether it allows.

    ``allow_always`` is only taken where everything is allowed anyway: agents keep it beyond the job.
    """
    if allowed(verb, tool_kind):
        for kind in _ALLOW[verb]:
            if (option := _of_kind(options, kind)) is not None:
                return option, True
    for kind in _REJECT:
        if (option := _of_kind(options, kind)) is not None:
            return option, False
    return None, False


def _of_kind(options: object, kind: str) -> str | None:
    for option in map(as_object, as_list(options)):
        name = option.get("optionId")
        if option.get("kind") == kind and isinstance(name, str) and len(name) <= ID_CHARS:
            return name
    return None


def asking_mode(session: Mapping[str, Any]) -> str | None:
    """Return the mode to switch a new session to, or None where it asks already, or has no such mode.

    ``session`` is the answer to ``session/new``.
    """
    modes = as_object(session.get("modes"))
    current = modes.get("currentModeId")
    if current in ASKING:
        return None
    there = {as_object(mode).get("id") for mode in as_list(modes.get("availableModes"))}
    return next((mode for mode in ASKING if mode in there), None)


def mode_of(session: Mapping[str, Any], mode: str) -> str | None:
    """Return the agent's own id of a session's mode, or None where it has none."""
    return next((name for name in MODES[mode] if name in modes_there(session)), None)


def modes_there(session: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the modes that an agent offers, in its order."""
    rows = map(as_object, as_list(as_object(session.get("modes")).get("availableModes")))
    return tuple(name for row in rows if (name := as_word(row.get("id"), ID_CHARS)) is not None)


def model_option(session: Mapping[str, Any]) -> str | None:
    """Return the id of the configuration option that chooses the model, or None."""
    for option in map(as_object, as_list(session.get("configOptions"))):
        name = as_word(option.get("id")) or ""
        # Some have a provider under the same category (cline 3.0.65): the model's own is called so.
        if option.get("category") == "model" and "model" in name.lower() and option.get("type", "select") == "select":
            return name
    return None


def models_of(session: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the models that a new session offers, in the agent's order; empty when it does not say."""
    offered: list[object] = [
        as_object(row).get("modelId") for row in as_list(as_object(session.get("models")).get("availableModels"))
    ]
    wanted = model_option(session)
    for option in map(as_object, as_list(session.get("configOptions"))):
        if wanted is not None and option.get("id") == wanted:
            for row in map(as_object, as_list(option.get("options"))):
                offered.append(row.get("value"))
                offered += [as_object(inner).get("value") for inner in as_list(row.get("options"))]
    return tuple(dict.fromkeys(name for name in offered if isinstance(name, str) and 0 < len(name) <= ID_CHARS))


def current_model(session: Mapping[str, Any]) -> str | None:
    """Return the model that a new session runs on, unless that is only a word for "you choose"."""
    wanted = model_option(session)
    name = as_word(as_object(session.get("models")).get("currentModelId"))
    for option in map(as_object, as_list(session.get("configOptions"))):
        if wanted is not None and option.get("id") == wanted:
            name = as_word(option.get("currentValue")) or name
    if name is not None and "|" in name:  # qwen 0.24.4: ``$runtime|openai|NAME(openai)``, and the name beside it
        rows = map(as_object, as_list(as_object(session.get("models")).get("availableModels")))
        name = next((as_word(row.get("name")) for row in rows if row.get("modelId") == name), name)
    return name if name not in (None, "auto", "default") else None


def mcp_servers(config: object) -> list[dict[str, Any]]:
    """Return the servers of a configuration in Claude's form (``mcpServers``) in the protocol's."""
    found: list[dict[str, Any]] = []
    for name, row in as_object(as_object(config).get("mcpServers")).items():
        server = as_object(row)
        kind = server.get("type", "stdio")
        pairs = as_object(server.get("env" if kind == "stdio" else "headers"))
        listed = [{"name": key, "value": value} for key, value in pairs.items() if isinstance(value, str)]
        if kind == "stdio":
            found.append(
                {
                    "name": name,
                    "command": server.get("command"),
                    "args": list(as_list(server.get("args"))),
                    "env": listed,
                }
            )
        else:
            found.append({"type": kind, "name": name, "url": server.get("url"), "headers": listed})
    return found


def unfit_server(servers: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> str | None:
    """Return the first server of a kind that the agent did not say it takes, or None. All take stdio.

    ``told`` is the answer to ``initialize``.
    """
    can = as_object(as_object(told.get("agentCapabilities")).get("mcpCapabilities"))
    for server in servers:
        kind = server.get("type")
        if kind is not None and can.get(str(kind)) is not True:
            return f"{server.get('name')}: it takes none over {kind}"
    return None
