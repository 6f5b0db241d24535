"""From a task to a ``copilot`` command. Pure. Seen on 1.0.102.

The prompt goes over stdin: without ``-p`` and without a terminal, what is piped in is the prompt. The
folder is the process's own, never ``-C``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..catalog.pools import COPILOT_PLAN, OWN_PROVIDER
from ..contract import Billing, Host, Launch, Posture, PrivateFile, Task
from ..launching import NESTING, program_and_prompt, resumed
from .servers import with_servers, without_servers

BINARY = "copilot"
INSTALL = "Install GitHub Copilot CLI: npm install -g @github/copilot, then: copilot login"

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: the sandbox of 1.0.102 holds shell commands only, not the file edits beside them."""

_READ_TOOLS = ("view", "grep", "glob")
_READ_ONLY = ("--deny-tool=write", "--deny-tool=shell")
_PERMISSIONS: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: _READ_ONLY,
    Verb.EXPLORE: _READ_ONLY,
    Verb.EDIT: ("--allow-tool=write", "--allow-tool=shell"),
    Verb.YOLO: ("--allow-all",),
}
"""Read-only is ``--available-tools``: "Tool 'bash' does not exist." It holds even where the environment
says COPILOT_ALLOW_ALL. What is not allowed is refused, for nobody is there to be asked: under ``edit``
that is every path outside the work tree and the temporary folder, and every tool of an MCP server that nobody
granted."""

EFFORTS: Mapping[Effort, str] = {
    Effort.MINIMAL: "minimal",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "max",
}

OWN_SESSION = frozenset(
    {
        "COPILOT_AGENT_SESSION_ID",
        "COPILOT_ALLOW_ALL",
        "COPILOT_ASSISTED_APPROVAL",
        "COPILOT_CLI",
        "COPILOT_CLI_BINARY_VERSION",
        "COPILOT_CLI_RESOLVED_DIST_DIR",
        "COPILOT_LOADER_PID",
    }
)
"""What Copilot sets for the commands it runs, and the variables that would grant more than the verb does."""

REPORT = "usage.json"
"""File in the job folder for the tokens, which its stream does not tell."""

PROVIDER = "COPILOT_PROVIDER_BASE_URL"
"""Set where the person has a model provider of their own."""

RESUME = ("--resume={conversation}",)


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in _PERMISSIONS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The copilot lane can't {task.verb}: Copilot has no sandbox that holds all of its tools.",
            hint="--lane codex can; or use explore (read-only) or edit here: osrc explore --lane copilot ...",
        )
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    closed, opened = without_servers(host, task.servers), with_servers(task.servers)
    if isinstance(closed, Refused):
        return closed
    if isinstance(opened, Refused):
        return opened
    argv = [
        program,
        "--output-format",
        "json",
        "--no-auto-update",
        "--no-ask-user",
        *resumed(task, RESUME),
        *((f"--available-tools={','.join((*_READ_TOOLS, *task.servers))}",) if task.verb.read_only else ()),
        *_PERMISSIONS[task.verb],
        *closed,
        *opened,
    ]
    if task.model is not None:
        argv += ["--model", task.model]
    if task.effort is not None:
        argv += ["--reasoning-effort", EFFORTS[task.effort]]
    if task.skills:
        argv.append("--add-dir={job}/skills")
    argv.append(f"--usage-output-file={{job}}/{REPORT}")
    own = bool(host.environment.get(PROVIDER))
    effort = EFFORTS[task.effort] if task.effort is not None else None
    notices = (f"{PROVIDER} is set: that provider answers and bills the run, not GitHub Copilot.",) if own else ()
    return Launch(
        argv=tuple(argv),
        env_strip=NESTING | OWN_SESSION,
        stdin=prompt,
        files=(PrivateFile(name=REPORT, content=b""),),
        notices=notices,
        billing=payer(host),
        effort=effort,
    )


def payer(host: Host) -> Billing:
    """Return who pays: a provider in the environment goes before the plan."""
    return OWN_PROVIDER if host.environment.get(PROVIDER) else COPILOT_PLAN
