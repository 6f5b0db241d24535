"""The part of a ``claude -p`` command that is the same whoever pays. Pure.

The prompt always goes over stdin: any length works, nothing of it shows in a process list, and a
leading dash or slash-free text can't be read as an option.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....messages.refusals import RefusalCode, Refused
from ....messages.vocabulary import Effort, Verb
from ...contract import Host, Posture, Task
from ...launching import program_and_prompt

BINARY = "claude"
INSTALL = "Install Claude Code: npm install -g @anthropic-ai/claude-code, then run `claude` once to sign in."
RESUME = ("-r", "{conversation}")
MIN_VERSION = (2, 1, 0)
TESTED_VERSIONS = ("2.1.332",)

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: Claude Code has no operating-system sandbox for commands on its command line."""

READ_TOOLS = "Read,Grep,Glob"
WRITE_TOOLS = "Read,Edit,Write,NotebookEdit,Bash,Grep,Glob"
NO_HOOKS = '{"disableAllHooks":true}'
NO_SERVERS = '{"mcpServers":{}}'

EFFORTS: Mapping[Effort, str] = {
    Effort.MINIMAL: "low",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "max",
}
"""The word that ``--effort`` takes."""

THINKING_TOKENS: Mapping[Effort, int] = {
    Effort.MINIMAL: 0,
    Effort.LOW: 4096,
    Effort.MEDIUM: 10000,
    Effort.HIGH: 24000,
    Effort.XHIGH: 32000,
    Effort.MAX: 48000,
}
"""``MAX_THINKING_TOKENS`` by effort. Seen on 2.1.332: 0 turns thinking off; the rest only older models heed."""


def start(task: Task, host: Host, lane: str) -> tuple[str, bytes] | Refused:
    """Return the program and the prompt as it reads it, or why there is no launch."""
    if task.verb not in VERBS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The {lane} lane can't {task.verb}: Claude Code runs commands without a sandbox.",
            hint=f"--lane codex can; or use explore (read-only) or edit here: osrc explore --lane {lane} ...",
        )
    return program_and_prompt(task, host, BINARY, INSTALL)


def servers(host: Host, granted: tuple[str, ...] = ()) -> list[str]:
    """Return the flags that keep the person's own MCP servers out, but for those granted, unless all are wanted."""
    own = ["--mcp-config", "{job}/mcp.json" if granted else NO_SERVERS]
    if host.environment.get("OSRC_CLAUDE_USER_CONFIG") == "1":
        return own if granted else []
    return ["--strict-mcp-config", *own]


def instructions(cwd: str, host: Host) -> tuple[list[str], dict[str, str]]:
    """Return what has the folder's CLAUDE.md read where its settings are not.

    Seen on 2.1.332: without the settings of a folder its CLAUDE.md and rules are left out too, unless the folder is
    named and this variable says so. Neither its ``env``, ``apiKeyHelper`` and hooks nor its plugins come along.
    """
    flags = [word for folder in host.project or (cwd,) for word in ("--add-dir", folder)]
    return flags, {"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}


def permissions(verb: Verb, allowed: str | None, granted: tuple[str, ...] = ()) -> list[str]:
    """Return the flags of a verb; ``granted`` MCP servers may be used under every one.

    Read-only is ``--tools``: tools that don't exist can't be called. ``--permission-mode plan`` is no
    wall: in 2.1.332 a model decides there which shell command may run, and a file was written. Hooks are
    commands too, and those of the folder's own settings ran unasked with ``-p``: they are switched off.
    """
    if verb is Verb.YOLO:
        return ["--dangerously-skip-permissions"]
    theirs = "".join(f",mcp__{name}" for name in granted)
    if verb is Verb.EDIT:
        return ["--permission-mode", "acceptEdits", "--allowedTools", (allowed or WRITE_TOOLS) + theirs]
    return ["--tools", READ_TOOLS, "--allowedTools", READ_TOOLS + theirs, "--settings", NO_HOOKS]


def as_root(task: Task, host: Host) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables and notices that let Claude Code start without permissions as root."""
    if task.verb is not Verb.YOLO or not host.is_root:
        return {}, ()
    notice = "You are root: Claude Code is told that it is in a sandbox, or it would refuse to start."
    return {"IS_SANDBOX": "1"}, (notice,)
