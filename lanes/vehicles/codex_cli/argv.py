"""The part of a ``codex exec`` command that is the same whoever serves the model. Pure.

The prompt goes over stdin (``-``), always: ``codex exec`` reads stdin to its end before it starts
even when the prompt is an argument, so an open pipe would hang it. The folder is the process's own,
never ``-C``: a folder whose name starts with a dash works.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....messages.refusals import RefusalCode, Refused
from ....messages.vocabulary import Effort, Verb
from ...contract import Host, Posture, Task
from ...launching import program_and_prompt

BINARY = "codex"
INSTALL = "Install Codex: npm install -g @openai/codex, then: codex login"
RESUME = ("resume", "{conversation}")
"""Behind all options: ``codex exec resume`` knows fewer of them (0.171.0)."""
MIN_VERSION = (0, 100, 0)
TESTED_VERSIONS = ("0.171.0",)

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.RESEARCH: Posture.SANDBOXED,
    Verb.EDIT: Posture.WORKSPACE_WRITE,
    Verb.YOLO: Posture.DANGER,
}

SANDBOX: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: ("-s", "read-only"),
    Verb.EXPLORE: ("-s", "read-only"),
    Verb.RESEARCH: ("-s", "workspace-write"),
    Verb.EDIT: ("-s", "workspace-write"),
    Verb.YOLO: ("--dangerously-bypass-approvals-and-sandbox",),
}
"""An operating-system sandbox holds the first four (seen: a shell write under read-only is refused)."""


def start(task: Task, host: Host, lane: str) -> tuple[str, bytes] | Refused:
    """Return the program and the prompt as it reads it, or why there is no launch."""
    if task.verb not in SANDBOX:
        return Refused(code=RefusalCode.VERB_UNSUPPORTED, message=f"The {lane} lane can't {task.verb}.")
    return program_and_prompt(task, host, BINARY, INSTALL)


def command(program: str, task: Task, *, user_config: bool) -> tuple[list[str], list[str], str | None]:
    """Return the command up to the closing ``-``, the notices about its effort, and the word that was used for it."""
    argv = [program, "exec", "--json", "--skip-git-repo-check"]
    if not user_config:
        argv.append("--ignore-user-config")
    argv += SANDBOX[task.verb]
    if task.model is not None:
        argv += ["-m", task.model]
    notices: list[str] = []
    effort: str | None = None
    if task.effort is not None:
        effort, notices = effort_word(task.effort, task.model)
        argv += ["-c", f'model_reasoning_effort="{effort}"']
    return argv, notices, effort


def effort_word(effort: Effort, model: str | None) -> tuple[str, list[str]]:
    """Return the word Codex takes, and what to say if it is another."""
    name = (model or "").lower()
    if effort is Effort.MINIMAL and (name.startswith("gpt-6") or "astra" in name):
        return "low", [f"{model} has no effort minimal; low is used."]
    return effort.value, []
