"""From a task to a ``cline --json`` command. Pure.

Cline appends what it reads from stdin to the prompt of its command line, but loses it when stdin is a file under
64 KiB (seen on 3.0.65): so the prompt is an argument, and a long one lies in a private file that the argument
names. A single word would be taken for a command.

By default it would start a hub, a daemon of its own that stays, and may run the tools in there: outside
any wall around this run, and shared by jobs. The local backend does without.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..contract import Host, Launch, Posture, PrivateFile, Task
from ..launching import ARGV_PROMPT_LIMIT, NESTING, effort_word, program_and_prompt

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

PROMPT_FILE = "cline-prompt.md"
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
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    effort, said = effort_word("Cline", task.effort, THINKING)
    notices = [*said]
    argv = [program, "--json", *MODE[task.verb]]
    if task.model is not None:
        argv += ["-m", task.model]
    if effort is not None:
        argv += ["--thinking", effort]
    words, files = _prompt(task.prompt, prompt)
    env_set = {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}
    if host.environment.get(USER_SERVERS) != "1":
        env_set["CLINE_MCP_SETTINGS_PATH"] = f"{{job}}/{SERVERS_FILE}"
        files = (*files, PrivateFile(name=SERVERS_FILE, content=NO_SERVERS))
    return Launch(
        argv=(*argv, "--", words),
        env_set=env_set,
        env_strip=STRIP,
        files=files,
        notices=tuple(notices),
        effort=effort,
    )


def _prompt(text: str, content: bytes) -> tuple[str, tuple[PrivateFile, ...]]:
    """Return the argument, and the file it names: for what is long, or would be read as something else."""
    if len(content) <= ARGV_PROMPT_LIMIT and len(text.split(maxsplit=1)) > 1 and "{job}" not in text:
        return text, ()
    words = f"Your whole task is in the file {{job}}/{PROMPT_FILE}. Read all of it first, then do it."
    return words, (PrivateFile(name=PROMPT_FILE, content=content),)
