"""From a task to a ``droid exec`` command. Pure. Seen on 0.215.0.

The prompt goes over stdin, which ``droid exec`` reads to its end where no prompt is an argument. The
folder is the process's own, never ``--cwd``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..catalog.pools import OWN_PROVIDER
from ..contract import Host, Launch, Posture, Task
from ..launching import NESTING, SERVER_NAME, program_and_prompt
from .servers import WANTED, settings, tools

BINARY = "droid"
INSTALL = "Install Droid: npm install -g droid, then run `droid` once to sign in."

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: Droid's autonomy levels are its own judgement of a command, no sandbox around it."""

READ_TOOLS = ("Read", "LS", "Grep", "Glob")
WORK_TOOLS = (*READ_TOOLS, "Execute", "Edit", "Create", "ApplyPatch", "TaskOutput", "TaskStop", "Skill")
"""Droid's own for work here; one that a model has not (``ApplyPatch``, ``Edit``) is passed over in silence."""
_PERMISSIONS: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: (),
    Verb.EXPLORE: (),
    Verb.EDIT: ("--auto", "medium"),
    Verb.YOLO: ("--skip-permissions-unsafe",),
}
"""Read-only is ``--only-tools``: "Tool Execute is not permitted in this exec session". The mode without
flags, which Droid calls read-only, is no wall: a command runs there if the model labels it low risk, and
a file was written that way."""

EFFORTS: Mapping[Effort, str] = {
    Effort.MINIMAL: "minimal",
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "max",
}

OWN_MODEL = "custom:"
"""Start of the ids of models that the person has set up with a key of their own."""

OWN_SESSION = frozenset({"FACTORY_DISABLE_SETTINGS_PERSISTENCE", "FACTORY_EXEC_TARGET_AUTONOMY"})
"""What Droid sets for the commands it runs: the autonomy of that session is not to be inherited."""


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in _PERMISSIONS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The droid lane can't {task.verb}: Droid runs commands without a sandbox.",
            hint="--lane codex can; or use explore (read-only) or edit here: osrc explore --lane droid ...",
        )
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    if (odd := next((name for name in task.servers if not SERVER_NAME.fullmatch(name)), None)) is not None:
        return Refused(
            code=RefusalCode.BAD_GRANT,
            message=f"Droid can't be told of an MCP server called {odd[:80]!a}.",
            hint="rename it where it is configured: letters, digits, - and _",
        )
    argv = [program, "exec", "-o", "stream-json", *_PERMISSIONS[task.verb]]
    if task.verb.read_only:
        argv += ["--only-tools", tools(READ_TOOLS, task.servers)]
    elif host.environment.get(WANTED) != "1":
        argv += ["--only-tools", tools(WORK_TOOLS, task.servers)]
    env_set, files = settings(host, task)
    if task.model is not None:
        argv += ["-m", task.model]
    if task.effort is not None:
        argv += ["-r", EFFORTS[task.effort]]
    own = task.model is not None and task.model.startswith(OWN_MODEL)
    return Launch(
        argv=tuple(argv),
        env_set=env_set,
        env_strip=NESTING | OWN_SESSION,
        stdin=prompt,
        files=files,
        billing=OWN_PROVIDER if own else None,
        effort=EFFORTS[task.effort] if task.effort is not None else None,
    )
