"""From a task to a ``codex exec`` command. Pure.

The prompt goes over stdin (``-``), always: ``codex exec`` reads stdin to its end before it starts
even when the prompt is an argument, so an open pipe would hang it. The folder is the process's own,
never ``-C``: a folder whose name starts with a dash works.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..catalog.pools import OPENAI_KEY
from ..contract import Host, Launch, Posture, Task
from ..launching import NESTING, missing_program, prompt_bytes

BINARY = "codex"
INSTALL = "Install Codex: npm install -g @openai/codex, then: codex login"

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.RESEARCH: Posture.SANDBOXED,
    Verb.EDIT: Posture.WORKSPACE_WRITE,
    Verb.YOLO: Posture.DANGER,
}

_SANDBOX: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: ("-s", "read-only"),
    Verb.EXPLORE: ("-s", "read-only"),
    Verb.RESEARCH: ("-s", "workspace-write"),
    Verb.EDIT: ("-s", "workspace-write"),
    Verb.YOLO: ("--dangerously-bypass-approvals-and-sandbox",),
}
"""An operating-system sandbox holds the first four (seen: a shell write under read-only is refused)."""


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in _SANDBOX:
        return Refused(code=RefusalCode.VERB_UNSUPPORTED, message=f"The codex lane can't {task.verb}.")
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    prompt = prompt_bytes(task.prompt)
    if isinstance(prompt, Refused):
        return prompt
    notices = []
    argv = [program, "exec", "--json", "--skip-git-repo-check"]
    if host.environment.get("OSRC_CODEX_USER_CONFIG") != "1":
        argv.append("--ignore-user-config")
    argv += _SANDBOX[task.verb]
    if task.model is not None:
        argv += ["-m", task.model]
    if task.effort is not None:
        effort, notice = _effort(task.effort, task.model)
        argv += ["-c", f'model_reasoning_effort="{effort}"']
        notices += notice
    by_key = bool(host.environment.get("CODEX_API_KEY"))
    if by_key:
        notices.append("CODEX_API_KEY is set: the run is metered on that key, not on a ChatGPT plan.")
    return Launch(
        argv=(*argv, "-"),
        env_strip=NESTING,
        stdin=prompt,
        notices=tuple(notices),
        billing=OPENAI_KEY if by_key else None,
    )


def _effort(effort: Effort, model: str | None) -> tuple[str, list[str]]:
    """Return the word Codex takes, and what to say if it is another."""
    name = (model or "").lower()
    if effort is Effort.MINIMAL and (name.startswith("gpt-6") or "astra" in name):
        return "low", [f"{model} has no effort minimal; low is used."]
    return effort.value, []
