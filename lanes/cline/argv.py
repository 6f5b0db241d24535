"""From a task to a ``cline --json`` command. Pure.

Cline wants some prompt as an argument and appends what it reads from stdin: so a fixed sentence is the argument
(a single word would be taken for a command) and the whole prompt goes over stdin.

By default it would start a hub, a daemon of its own that stays, and may run the tools in there: outside
any wall around this run, and shared by jobs. The local backend does without.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..contract import Host, Launch, Posture, PrivateFile, Task
from ..launching import NESTING, missing_program, prompt_bytes

BINARY = "cline"
INSTALL = "Install Cline: npm install -g cline, then: cline auth"

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: Cline has no sandbox for commands."""

MODE: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: ("--plan",),
    Verb.EXPLORE: ("--plan",),
    Verb.EDIT: ("--auto-approve", "true"),
    Verb.YOLO: ("--auto-approve", "true"),
}
"""Plan mode has no tool that writes, but judges shell commands by their words: one that writes under /tmp passes."""

THINKING: Mapping[Effort, str] = {
    Effort.MINIMAL: "none",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "xhigh",
}

OPENING = "Do the task that follows."
NO_SERVERS = b'{"mcpServers":{}}'
SERVERS_FILE = "cline-mcp.json"
USER_SERVERS = "OSRC_CLINE_USER_MCP"

STRIP = NESTING | {
    "CLINE_ACTIVE",
    "CLINE_RUN_AS_HUB_DAEMON",
    "CLINE_CONNECTOR_SUPERVISED",
    "CLINE_CONNECTOR_STARTING_INSTANCE",
    "CLINE_CONNECTOR_CLI_LAUNCH",
    "CLINE_HOOK_AGENT_RESUME",
    "CLINE_HUB_ADDRESS",
    "CLINE_RPC_ADDRESS",
}


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in VERBS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The cline lane can't {task.verb}: Cline runs commands without a sandbox.",
            hint="--lane codex can; or use explore (read-only) or edit here: osrc explore --lane cline ...",
        )
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    prompt = prompt_bytes(task.prompt)
    if isinstance(prompt, Refused):
        return prompt
    notices = []
    argv = [program, "--json", *MODE[task.verb]]
    if task.model is not None:
        argv += ["-m", task.model]
    if task.effort is not None:
        argv += ["--thinking", THINKING[task.effort]]
        if THINKING[task.effort] != task.effort:
            notices.append(f"Cline has no effort {task.effort}; {THINKING[task.effort]} is used.")
    env_set = {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}
    files: tuple[PrivateFile, ...] = ()
    if host.environment.get(USER_SERVERS) != "1":
        env_set["CLINE_MCP_SETTINGS_PATH"] = f"{{job}}/{SERVERS_FILE}"
        files = (PrivateFile(name=SERVERS_FILE, content=NO_SERVERS),)
    return Launch(
        argv=(*argv, "--", OPENING),
        env_set=env_set,
        env_strip=STRIP,
        stdin=prompt,
        files=files,
        notices=tuple(notices),
    )
