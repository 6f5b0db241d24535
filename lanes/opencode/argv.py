"""From a task to an ``opencode run`` command. Pure.

The prompt goes over stdin, which it reads to the end. A title is given, or it would ask a model for one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..contract import Host, Launch, Posture, Task
from ..launching import NESTING, program_and_prompt, resumed
from .rules import AGENT, config

BINARY = "opencode"
INSTALL = "Install OpenCode: npm install -g opencode-ai, then: opencode auth login"

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: OpenCode has no sandbox for commands."""

VARIANTS: Mapping[Effort, str] = {
    Effort.MINIMAL: "minimal",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "max",
}

MODELS: Mapping[str, str] = {
    "free": "opencode/big-pickle",
    "free-large": "opencode/muse-spark-1.3-contributor-free",
    "free-fast": "opencode/nemotron-3.5-lightning-free",
}
"""Words for models of its own hosted provider that cost nothing (as of 2026-11)."""

CONFIG = "OPENCODE_CONFIG_CONTENT"
READ_AGENT = "OSRC_OPENCODE_READ_AGENT"
USER_SERVERS = "OSRC_OPENCODE_USER_MCP"
NO_FOLDER = {"OPENCODE_DISABLE_PROJECT_CONFIG": "1"}
"""Seen on 1.18.33: a folder's ``opencode.json`` may send the person's provider key elsewhere, and starts servers and
plugins by itself. This leaves its AGENTS.md out too, which is therefore named as an instruction."""
TITLE = "Outsourcerer job"

STRIP = NESTING | {
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_CLIENT",
    "OPENCODE_ROUTE",
    "OPENCODE_RUN_ID",
    "OPENCODE_PROCESS_ROLE",
    "OPENCODE_TERMINAL",
    "OPENCODE_AUTO_SHARE",
}

FORM = ("--format", "json", "--thinking", "--print-logs", "--log-level=ERROR")
"""Errors of its log come on stderr: nothing else tells why it waits."""

RESUME = ("-s", "{conversation}")


def words_of(cwd: str, host: Host) -> tuple[str, ...]:
    """Return the files of the folder that are read although its configuration is not."""
    return () if host.trust_folder else tuple(f"{folder}/AGENTS.md" for folder in host.project or (cwd,))


def folder_variables(host: Host) -> Mapping[str, str]:
    """Return what keeps the folder's own configuration out."""
    return {} if host.trust_folder else NO_FOLDER


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in VERBS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The opencode lane can't {task.verb}: OpenCode runs commands without a sandbox.",
            hint="--lane codex can; or use explore (read-only) or edit here: osrc explore --lane opencode ...",
        )
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    agent = AGENT[task.verb]
    if task.verb.read_only:
        agent = host.environment.get(READ_AGENT) or agent
    argv = [program, "run", *FORM, f"--title={TITLE}", f"--agent={agent}"]
    argv += resumed(task, RESUME)
    notices = []
    model = MODELS.get(task.model, task.model) if task.model is not None else None
    if task.model is not None:
        argv.append(f"--model={model}")
        if task.model in MODELS:
            notices.append(f"{task.model} is {MODELS[task.model]} on OpenCode's own provider.")
        elif "/" not in task.model:
            notices.append(f"OpenCode names models PROVIDER/MODEL; {task.model} is sent as it is.")
    if task.effort is not None:
        argv.append(f"--variant={VARIANTS[task.effort]}")
        notices.append(f"OpenCode takes effort as the model's variant {VARIANTS[task.effort]}, where it has one.")
    rules = config(
        task.verb,
        walled=host.walled,
        user_servers=host.environment.get(USER_SERVERS) == "1",
        inherited=host.environment.get(CONFIG),
        readable="{job}/skills" if task.skills else None,
        instructions=words_of(task.cwd, host),
    )
    return Launch(
        argv=tuple(argv),
        env_set={CONFIG: rules, "OPENCODE_DISABLE_AUTOUPDATE": "1", **folder_variables(host)},
        env_strip=STRIP,
        stdin=prompt,
        notices=tuple(notices),
        model=model,
        effort=VARIANTS[task.effort] if task.effort is not None else None,
    )
