"""The agent that OpenCode is given: what each verb may do, as its own permission rules. Pure.

Its own ``plan`` agent lets a shell command write (seen on 1.18.33), and a rule that allows only some commands does
not help: ``git log > file`` passes ``git log*``. So the reading agent has a shell only where the work tree
is bound read-only for it; elsewhere the tool does not exist for it. Nothing is left to ask: a question in
a headless run ends it, with exit code 0. What is not named is denied, so that tools of MCP servers the
user has configured stay out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...messages.vocabulary import Verb

AGENT: Mapping[Verb, str] = {
    Verb.RUN: "osrc-read",
    Verb.EXPLORE: "osrc-read",
    Verb.EDIT: "osrc-edit",
    Verb.YOLO: "osrc-yolo",
}
"""Names of our own, so that no agent of the user's is changed."""

_ALLOW, _DENY, _ASK = "allow", "deny", "ask"
_READ = ("read", "glob", "grep", "list", "lsp", "skill", "todowrite", "todoread", "webfetch", "websearch", "codesearch")
_WORK = (*_READ, "edit", "bash", "task")


def config(  # noqa: PLR0913  keyword-only parts of one configuration
    verb: Verb,
    *,
    walled: bool,
    user_servers: bool,
    inherited: str | None,
    instructions: tuple[str, ...] = (),
    readable: str | None = None,
) -> str:
    """Return the configuration for one run, as JSON that OpenCode lays over all others.

    ``walled``: the work tree is read-only for it whatever it does. ``user_servers``: tools that are not
    OpenCode's own may be used as well. ``inherited`` is what the caller had in that variable.
    ``instructions``: files to be read beside those that the user's own configuration names.
    ``readable``: a folder outside the work tree that may be read.
    """
    rules: dict[str, Any] = permission(verb, walled=walled, user_servers=user_servers)
    if readable is not None and verb is not Verb.YOLO:
        rules["external_directory"] = {"*": _DENY, f"{readable}/*": _ALLOW}
    agent = {"mode": "primary", "description": "A delegate of Outsourcerer.", "permission": rules}
    own = {"autoupdate": False, "share": "disabled", "permission": rules, "agent": {AGENT[verb]: agent}}
    base = _object(inherited)
    return json.dumps(_over(base, own | _told(base, instructions)), separators=(",", ":"))


def permission(verb: Verb, *, walled: bool, user_servers: bool) -> dict[str, str]:
    """Return the rules; in OpenCode the last that matches decides."""
    tools = _WORK if verb.may_write else (*_READ, "bash") if walled else _READ
    unnamed = _ALLOW if user_servers or verb is Verb.YOLO else _DENY
    rules = {"*": unnamed, **dict.fromkeys(tools, _ALLOW)}
    if not verb.may_write:
        rules |= {"edit": _DENY, "task": _DENY, **({} if walled else {"bash": _DENY})}
    outside = _ALLOW if verb is Verb.YOLO else _DENY
    return rules | {"question": _DENY, "doom_loop": _DENY, "external_directory": outside}


def _object(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _over(base: dict[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Lay our keys over the caller's; their other agents stay."""
    agents = base.get("agent")
    merged = {**base, **top}
    if isinstance(agents, dict):
        merged["agent"] = {**agents, **top["agent"]}
    return merged


def asking(inherited: str | None, instructions: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the configuration of a session: what changes something is asked for, what reads is not."""
    rules = {"*": _ASK, **dict.fromkeys(_READ, _ALLOW), "task": _ALLOW, "doom_loop": _ASK, "external_directory": _ASK}
    own = {"autoupdate": False, "share": "disabled", "permission": rules, "agent": {}}
    base = _object(inherited)
    return _over(base, own | _told(base, instructions))


def telling(inherited: str | None, instructions: tuple[str, ...]) -> str:
    """Return the caller's own configuration with further files to be read, as JSON."""
    base = _object(inherited)
    return json.dumps(base | _told(base, instructions), separators=(",", ":"))


def _told(base: Mapping[str, Any], instructions: tuple[str, ...]) -> dict[str, Any]:
    theirs = base.get("instructions")
    return {"instructions": [*(theirs if isinstance(theirs, list) else ()), *instructions]} if instructions else {}
