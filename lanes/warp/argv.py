"""From a task to an ``oz agent run`` command. Pure. Public facts (2026-11).

There is no permission for one run: the profile decides what the agent may do, and the one that is taken
by default lets it do nearly everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Verb
from ..contract import Host, Launch, Posture, Task
from ..launching import NESTING, program_and_prompt
from ..unseen import argument

BINARY = "oz"
INSTALL = "Install Warp's Oz CLI: https://docs.warp.dev/reference/cli, then: oz login"
HARNESSES = ("claude", "codex")

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
            message=f"The warp lane can't {task.verb}: Oz runs commands without a sandbox.",
            hint="--lane codex can; or use explore (read-only) or edit here",
        )
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    said, files = argument(prompt, task.prompt)
    argv = [program, "agent", "run", f"--prompt={said}", "--output-format", "text"]
    if task.model:
        argv += ["--model", task.model]
    harness = host.environment.get("OSRC_WARP_HARNESS")
    if harness in HARNESSES:
        argv += ["--harness", harness]
    profile = host.environment.get("OSRC_WARP_PROFILE")
    notices = []
    if profile:
        argv.append(f"--profile={profile}")
    elif not task.verb.read_only:
        notices.append("Warp's default profile lets the agent do nearly everything; OSRC_WARP_PROFILE names another.")
    if task.effort is not None:
        notices.append(f"effort {task.effort}: only as words in the prompt; Oz has no setting for it.")
    return Launch(argv=tuple(argv), env_strip=NESTING, files=files, notices=tuple(notices))
