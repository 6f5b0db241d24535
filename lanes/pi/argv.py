"""From a task to a ``pi -p --mode json`` command. Pure. Seen on 0.73.1.

The prompt goes over stdin, which pi reads to its end before it starts; nothing of it is read as an
option or as an ``@file``. pi has no permission system: what it may do is which tools it has.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..contract import Host, Launch, Posture, Task
from ..launching import NESTING, effort_word, program_and_prompt, resumed

BINARY = "pi"
INSTALL = "Install pi: npm install -g @mariozechner/pi-coding-agent, then run `pi` once and /login, or set a key."

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: pi has no sandbox."""

_READ_ONLY = ("--tools", "read,grep,find,ls", "--no-extensions")
_PERMISSIONS: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: _READ_ONLY,
    Verb.EXPLORE: _READ_ONLY,
    Verb.EDIT: ("--tools", "read,bash,edit,write,grep,find,ls"),
    Verb.YOLO: (),
}
"""``--tools`` also leaves out what extensions add: "Tool bash not found". An extension is a program that
pi runs itself, and a repository may bring one: a read-only verb starts none."""

THINKING: Mapping[Effort, str] = {
    Effort.MINIMAL: "minimal",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "xhigh",
}

OWN_SESSION = frozenset({"PI_CODING_AGENT"})
"""What pi sets for the commands it runs."""

RESUME = ("--session", "{conversation}")


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in _PERMISSIONS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The pi lane can't {task.verb}: pi runs commands without a sandbox.",
            hint="--lane codex can; or use explore (read-only) or edit here: osrc explore --lane pi ...",
        )
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    effort, said = effort_word("pi", task.effort, THINKING)
    notices = [*said]
    argv = [program, "-p", "--mode", "json", *resumed(task, RESUME), *_PERMISSIONS[task.verb]]
    if task.model is not None:
        argv += ["--model", task.model]
    if effort is not None:
        argv += ["--thinking", effort]
    if task.verb is Verb.EDIT:
        notices.append("pi asks nobody: under edit it may change files and run any command.")
    return Launch(
        argv=tuple(argv), env_strip=NESTING | OWN_SESSION, stdin=prompt, notices=tuple(notices), effort=effort
    )
