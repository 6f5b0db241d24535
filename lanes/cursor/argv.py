"""From a task to a ``cursor-agent -p`` command. Pure. Public facts (2026-11).

In print mode it has every tool, also writing ones, and may edit without being asked. ``--mode ask`` is its
read-only mode: a rule for the model, so our own wall stands around it. Nobody is there to answer, so the
question whether to trust the folder is turned off.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import Refused
from ...messages.vocabulary import Verb
from ..contract import Host, Launch, Posture, Task
from ..launching import ARGV_PROMPT_LIMIT, NESTING, program_and_prompt

BINARY = "cursor-agent"
INSTALL = "Install the Cursor CLI: https://cursor.com/cli, then: cursor-agent login"

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.RESEARCH: Posture.SANDBOXED,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}

_MODES: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: ("--mode", "ask"),
    Verb.EXPLORE: ("--mode", "ask"),
    Verb.RESEARCH: ("--force", "--sandbox", "enabled"),
    Verb.EDIT: ("--force",),
    Verb.YOLO: ("--force", "--sandbox", "disabled"),
}


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn. A prompt too long for a command line goes over stdin."""
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    argv = [program, "-p", "--output-format", "stream-json", "--trust", *_MODES[task.verb]]
    if task.model:
        argv += ["--model", task.model]
    by_stdin = len(prompt) > ARGV_PROMPT_LIMIT
    notices: tuple[str, ...] = ()
    if task.effort is not None:
        notices = (f"effort {task.effort}: only as words in the prompt; Cursor's models carry it in their ids.",)
    return Launch(
        argv=(*argv, "--") if by_stdin else (*argv, "--", task.prompt),
        env_strip=NESTING | {"CURSOR_AGENT", "CURSOR_TRACE_ID"},
        stdin=prompt if by_stdin else None,
        notices=notices,
    )
