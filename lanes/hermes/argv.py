"""From a task to a ``hermes -z`` command. Pure. Public facts (2026-11): ``-z`` prints the final answer alone.

Exit code 0 is a completed turn, 2 a failed one. Approval is all or nothing: ``--yolo`` or none at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Verb
from ..contract import Host, Launch, Posture, Task
from ..launching import NESTING, program_and_prompt
from ..unseen import argument

BINARY = "hermes"
INSTALL = "Install Hermes Agent: https://hermes-agent.nousresearch.com, then: hermes setup"

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: its commands run without a sandbox."""


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in VERBS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The hermes lane can't {task.verb}: Hermes runs commands without a sandbox.",
            hint="--lane codex can; or use explore (read-only) or edit here",
        )
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    said, files = argument(prompt, task.prompt)
    argv = [program, *(("--model", task.model) if task.model else ())]
    notices: list[str] = []
    if not task.verb.read_only:
        argv.append("--yolo")
        notices.append("Hermes knows no permission between none and all: it may run anything.")
    if task.effort is not None:
        notices.append(f"effort {task.effort}: only as words in the prompt; Hermes is not told of it.")
    # A prompt that starts with a dash must not be read as an option.
    last = (f"--oneshot={said}",) if said.startswith("-") else ("-z", said)
    return Launch(argv=(*argv, *last), env_strip=NESTING, files=files, notices=tuple(notices))
