"""From a task to a ``devin -p`` command. Pure. Public facts (2026-11): it prints its answer at its end.

The prompt is a private file (``--prompt-file``), never an argument. Nobody is there to answer, so the
question whether to trust the folder is turned off.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import Refused
from ...messages.vocabulary import Effort, Verb
from ..contract import Host, Launch, Posture, PrivateFile, Task
from ..launching import NESTING, program_and_prompt
from ..unseen import PROMPT_FILE

BINARY = "devin"
INSTALL = "Install the Devin CLI: https://docs.devin.ai/cli, then: devin auth login"

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.RESEARCH: Posture.SANDBOXED,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}

_MODES: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: ("auto",),
    Verb.EXPLORE: ("auto",),
    Verb.RESEARCH: ("autonomous", "--sandbox"),
    Verb.EDIT: ("accept-edits",),
    Verb.YOLO: ("dangerous",),
}
"""``auto`` asks before it writes, and without a person the answer is no. It is a rule, not a wall."""

_BY_EFFORT: Mapping[Effort, str] = {
    Effort.MINIMAL: "low",
    Effort.LOW: "low",
    Effort.MEDIUM: "high",
    Effort.HIGH: "high",
    Effort.XHIGH: "max",
    Effort.MAX: "max",
}
NO_MODEL = "osrc-lists-models"
LIST = ("--model", NO_MODEL, "--permission-mode", "auto", "--respect-workspace-trust", "false", "-p", "Reply with OK.")
"""It has no command that lists its models, but names them when it refuses one that it does not have."""
_SUFFIXES = ("-low", "-medium", "-high", "-max", "-none")
_DEEPSEEK = "deepseek"
_WEAK_AT_WORK = "swe-1.7"


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    model, notices = _model(task)
    named = model is not None and model != task.model and task.effort is not None
    if model and host.catalogue and model not in host.catalogue:
        notices = (*notices, f"Devin did not list {model} when it was last asked: osrc models --refresh")
    argv = [program, *(("--model", model) if model else ())]
    argv += ["--permission-mode", *_MODES[task.verb], "--respect-workspace-trust", "false"]
    return Launch(
        argv=(*argv, "--prompt-file", f"{{job}}/{PROMPT_FILE}", "-p"),
        env_strip=NESTING,
        files=(PrivateFile(name=PROMPT_FILE, content=prompt),),
        notices=notices,
        model=model,
        effort=_BY_EFFORT[task.effort] if named and task.effort is not None else None,
    )


def _model(task: Task) -> tuple[str | None, tuple[str, ...]]:
    """Return the id to send. DeepSeek's ids end in their effort; elsewhere effort is words in the prompt."""
    model = task.model
    if model and model.startswith(_DEEPSEEK) and not model.endswith(_SUFFIXES):
        model = f"{model}-{_BY_EFFORT[task.effort] if task.effort else 'high'}"
        return model, (f"On Devin the effort of this model is part of its id: {model}.",)
    notices = []
    if task.effort is not None:
        notices.append(f"effort {task.effort}: only as words in the prompt; Devin has no setting for it.")
    if model == _WEAK_AT_WORK and not task.verb.read_only:
        notices.append(f"{model} is a small model: check what it changes.")
    return model, tuple(notices)
