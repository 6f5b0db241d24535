"""From a scripted tool call to the tool that the client itself declares.

Claude Code 2.1.332 declares ``Write`` and ``Bash``; Codex 0.171.0 with gpt-5.5 a freeform ``apply_patch``
and ``exec_command``, with newer models one freeform ``exec`` that takes JavaScript. Clients of chat
completions are told apart by a tool that they always declare (``CHAT_CLIENTS``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fakes.model_dialects import Call

Arguments = dict[str, Any]


@dataclass(frozen=True)
class ChatClient:
    """How one CLI over chat completions names its writing tools, and what they take."""

    known_by: frozenset[str]
    """Tools that it declares in every mode; one of them is enough."""
    write: str
    write_arguments: Callable[[str, str], Arguments]
    shell: str
    shell_arguments: Callable[[str], Arguments]


def droid_command(command: str) -> Arguments:
    """Droid lets the model judge its own command: ``low`` passes its read-only mode, sudo is never called that."""
    risk = "high" if command.startswith("sudo ") else "low"
    return {"command": command, "riskLevel": risk, "riskLevelReason": "scripted", "summary": "scripted"}


CHAT_CLIENTS: tuple[ChatClient, ...] = (
    ChatClient(  # droid 0.215.0
        frozenset({"LS", "ExitSpecMode"}),
        "Create",
        lambda path, content: {"file_path": path, "content": content},
        "Execute",
        droid_command,
    ),
    ChatClient(  # copilot 1.0.102
        frozenset({"view"}),
        "create",
        lambda path, content: {"path": path, "file_text": content},
        "bash",
        lambda command: {"command": command, "description": "scripted"},
    ),
    ChatClient(  # qwen 0.24.4; in every mode, with or without the right to write
        frozenset({"report_findings", "loop_wakeup", "read_file"}),
        "write_file",
        lambda path, content: {"file_path": path, "content": content},
        "run_shell_command",
        lambda command: {"command": command, "is_background": False},
    ),
    ChatClient(  # cline 3.0.65
        frozenset({"read_files", "search_codebase"}),
        "editor",
        lambda path, content: {"path": path, "new_text": content},
        "run_commands",
        lambda command: {"commands": [command]},
    ),
    ChatClient(  # opencode 1.18.33
        frozenset({"todowrite", "webfetch"}),
        "write",
        lambda path, content: {"filePath": path, "content": content},
        "bash",
        lambda command: {"command": command, "description": "scripted"},
    ),
    ChatClient(  # pi 0.73.1; last, for others declare a ``read`` as well
        frozenset({"read"}),
        "write",
        lambda path, content: {"path": path, "content": content},
        "bash",
        lambda command: {"command": command},
    ),
    ChatClient(  # Claude Code 2.1.332, through our translator; last: droid too has a Grep
        frozenset({"NotebookEdit", "Grep"}),
        "Write",
        lambda path, content: {"file_path": path, "content": content},
        "Bash",
        lambda command: {"command": command, "description": "scripted"},
    ),
)
"""The first whose sign is among the declared tools is meant."""


def declared(body: dict[str, Any]) -> set[str]:
    """The names of the tools a request declares, wherever the dialect puts them."""
    rows = list(body.get("tools") or [])
    for item in body.get("input") or []:
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            rows += item.get("tools") or []
    names: set[str] = set()
    for row in rows:
        if row.get("type") == "namespace":
            names |= {inner.get("name") for inner in row.get("tools", [])}
        elif "functionDeclarations" in row:
            names |= {inner.get("name") for inner in row["functionDeclarations"]}
        else:
            names.add(row.get("name") or row.get("function", {}).get("name") or row.get("type"))
    return names


def resolve(action: dict[str, Any], call_id: str, dialect: str, names: set[str]) -> Call:
    """One scripted action (``{"write": PATH, "content": T}`` or ``{"shell": COMMAND}``) as a real call.

    It is made even when the client does not declare the tool: that is how a refused edit is tried.
    """
    if "raw" in action:
        return Call(call_id, action["raw"], action["args"], namespace=action.get("namespace"))
    if dialect == "anthropic":
        return claude_call(action, call_id)
    if dialect == "gemini":
        return gemini_call(action, call_id)
    if dialect == "chat":
        return chat_call(action, call_id, names)
    return codex_call(action, call_id, code_mode="exec" in names and "exec_command" not in names)


def claude_call(action: dict[str, Any], call_id: str) -> Call:
    if "write" in action:
        return Call(call_id, "Write", {"file_path": action["write"], "content": action["content"]})
    return Call(call_id, "Bash", {"command": action["shell"], "description": "Run a scripted command"})


def gemini_call(action: dict[str, Any], call_id: str) -> Call:
    """As Gemini CLI 0.61.0 names its tools."""
    if "write" in action:
        return Call(call_id, "write_file", {"file_path": action["write"], "content": action["content"]})
    return Call(call_id, "run_shell_command", {"command": action["shell"]})


def chat_call(action: dict[str, Any], call_id: str, names: set[str]) -> Call:
    client = next((client for client in CHAT_CLIENTS if client.known_by & names), CHAT_CLIENTS[-1])
    if "write" in action:
        return Call(call_id, client.write, client.write_arguments(action["write"], action["content"]))
    return Call(call_id, client.shell, client.shell_arguments(action["shell"]))


def codex_call(action: dict[str, Any], call_id: str, *, code_mode: bool) -> Call:
    if "write" in action:
        patch = add_file_patch(action["write"], action["content"])
        if code_mode:
            return Call(call_id, "exec", text=f"text(await tools.apply_patch({json.dumps(patch)}))")
        return Call(call_id, "apply_patch", text=patch)
    if code_mode:
        return Call(call_id, "exec", text=f"text(await tools.exec_command({{cmd: {json.dumps(action['shell'])}}}))")
    return Call(call_id, "exec_command", {"cmd": action["shell"]})


def add_file_patch(path: str, content: str) -> str:
    """A patch that adds one file, in the form of Codex's apply_patch."""
    body = "".join(f"+{line}\n" for line in content.rstrip("\n").split("\n"))
    return f"*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch\n"
