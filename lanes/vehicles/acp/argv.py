"""From a task to our own delegate program, which then starts the agent and speaks the protocol with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ....messages.refusals import RefusalCode, Refused
from ....messages.vocabulary import Verb
from ...contract import Host, Launch, Posture, Task
from ...launching import NESTING, prompt_bytes
from ...text_delegates import positive_number

MODULE = "outsourcerer.actors.delegates.acp_agent"
"""Named, not imported: lanes plan a process, they don't know its code."""

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: the protocol has no word for a sandbox."""

FIRST_OUTPUT_S = 150.0
"""How long a job may be silent at first, where neither its lane nor the person says otherwise (state/watchdog.py)."""
_BEFORE_S = 15.0
_LEAST_S = 5.0


def launch(task: Task, host: Host, agent: tuple[str, ...], *, first_output_s: float | None = None) -> Launch | Refused:
    """Return the launch of one prompt turn of ``agent`` (its command, an absolute program first).

    The prompt goes over stdin; a value is one item with its option, because it may start with a dash.
    ``first_output_s`` is the lane's own (``Liveness``).
    """
    if task.verb not in VERBS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"An ACP agent can't {task.verb}: the protocol has no word for a sandbox.",
            hint="--lane codex can; or use explore (read-only) or edit here",
        )
    prompt = prompt_bytes(task.prompt)
    if isinstance(prompt, Refused):
        return prompt
    options = [f"--verb={task.verb}", f"--quiet={quiet_s(host.environment, first_output_s):g}"]
    if task.model is not None:
        options.append(f"--model={task.model}")
    if task.servers:
        options.append("--mcp-config={job}/mcp.json")
    return Launch(
        argv=(host.python, "-P", "-m", MODULE, *options, "--", *agent),
        env_strip=NESTING,
        stdin=prompt,
    )


def quiet_s(environment: Mapping[str, str], first_output_s: float | None) -> float:
    """Return how long to wait for an agent's first word: a little less than the watchdog, which knows no reason."""
    whole = positive_number(environment.get("OSRC_NOINIT_SECS")) or first_output_s or FIRST_OUTPUT_S
    return max(_LEAST_S, whole - _BEFORE_S)
