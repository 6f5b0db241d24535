"""From a task to a ``claude -p`` command. Pure.

The prompt always goes over stdin: any length works, nothing of it shows in a process list, and a
leading dash or slash-free text can't be read as an option.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..catalog.pools import CLAUDE_KEY
from ..contract import Host, Launch, Posture, Task
from ..launching import NESTING, missing_program, prompt_bytes

BINARY = "claude"
INSTALL = "Install Claude Code: npm install -g @anthropic-ai/claude-code, then run `claude` once to sign in."

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: Claude Code has no operating-system sandbox for commands on its command line."""

READ_TOOLS = "Read,Grep,Glob"
WRITE_TOOLS = "Read,Edit,Write,NotebookEdit,Bash,Grep,Glob"

EFFORTS: Mapping[Effort, str] = {
    Effort.MINIMAL: "low",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "max",
}

NO_HOOKS = '{"disableAllHooks":true}'
NO_SERVERS = '{"mcpServers":{}}'


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in VERBS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The claude lane can't {task.verb}: Claude Code runs commands without a sandbox.",
            hint=f"--lane codex can; or use explore (read-only) or edit here: osrc explore --lane {BINARY} ...",
        )
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    prompt = prompt_bytes(task.prompt)
    if isinstance(prompt, Refused):
        return prompt
    notices = []
    argv = [program, "-p", "--output-format", "stream-json", "--verbose"]
    if task.model is not None:
        argv += ["--model", task.model]
    if task.effort is not None:
        argv += ["--effort", EFFORTS[task.effort]]
        if EFFORTS[task.effort] != task.effort:
            notices.append(f"Claude Code has no effort {task.effort}; {EFFORTS[task.effort]} is used.")
    if host.environment.get("OSRC_CLAUDE_USER_CONFIG") != "1":
        argv += ["--strict-mcp-config", "--mcp-config", NO_SERVERS]
    argv += _permissions(task.verb, host.environment.get("OSRC_ALLOWED_TOOLS"))
    env_set: dict[str, str] = {}
    if task.verb is Verb.YOLO and host.is_root:
        env_set["IS_SANDBOX"] = "1"
        notices.append("You are root: Claude Code is told that it is in a sandbox, or it would refuse to start.")
    by_key = bool(host.environment.get("ANTHROPIC_API_KEY"))
    if by_key:
        notices.append("ANTHROPIC_API_KEY is set: the run is metered on that key, not on a Claude plan.")
    return Launch(
        argv=tuple(argv),
        env_set=env_set,
        env_strip=NESTING,
        stdin=prompt,
        notices=tuple(notices),
        billing=CLAUDE_KEY if by_key else None,
    )


def _permissions(verb: Verb, allowed: str | None) -> list[str]:
    """Return the flags of a verb.

    Read-only is ``--tools``: tools that don't exist can't be called. ``--permission-mode plan`` is no
    wall: in 2.1.332 a model decides there which shell command may run, and a file was written. Hooks are
    commands too, and those of the folder's own settings ran unasked with ``-p``: they are switched off.
    """
    if verb is Verb.YOLO:
        return ["--dangerously-skip-permissions"]
    if verb is Verb.EDIT:
        return ["--permission-mode", "acceptEdits", "--allowedTools", allowed or WRITE_TOOLS]
    return ["--tools", READ_TOOLS, "--allowedTools", READ_TOOLS, "--settings", NO_HOOKS]
