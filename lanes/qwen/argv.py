"""From a task to a ``qwen`` command. Pure.

The prompt goes over stdin. Which service answers is Qwen Code's own business: its settings first, then
``OPENAI_API_KEY``, ``OPENAI_BASE_URL`` and ``OPENAI_MODEL`` together (or the like of other vendors).
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Verb
from ..catalog.pools import OPENAI_COMPATIBLE_KEY, OWN_PROVIDER
from ..contract import Billing, Host, Launch, Posture, Task
from ..launching import NESTING, program_and_prompt, resumed

BINARY = "qwen"
INSTALL = "Install Qwen Code: npm install -g @qwen-code/qwen-code, then run `qwen` once to choose a provider."

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""No ``research``: its sandbox needs a container engine, and was not seen."""

READ_ONLY = ("--approval-mode", "plan", "--exclude-tools", "enter_worktree", "exit_worktree", "cron_create")
"""Plan mode is a wall (seen on 0.24.4): write and shell tools are not offered, and refused when called.
A worktree made by the model would still be a change to the repository."""

_FLAGS: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: READ_ONLY,
    Verb.EXPLORE: READ_ONLY,
    # Without a mode it starts in ``auto``, where a model decides what may run.
    Verb.EDIT: ("--approval-mode", "auto-edit", "--allowed-tools", "run_shell_command"),
    Verb.YOLO: ("--approval-mode", "yolo"),
}

SETUPS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("OPENAI_API_KEY",), ("OPENAI_MODEL", "QWEN_MODEL"), ("OPENAI_BASE_URL",)),
    (("GEMINI_API_KEY",), ("GEMINI_MODEL",)),
    (("GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"), ("GOOGLE_MODEL",)),
    (("ANTHROPIC_API_KEY",), ("ANTHROPIC_MODEL",), ("ANTHROPIC_BASE_URL",)),
)
"""What Qwen Code 0.24.4 takes for a provider in the environment: one name of each group, the key first."""

RESUME = ("-r", "{conversation}")


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    if task.verb not in _FLAGS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The qwen lane can't {task.verb}: Qwen Code runs commands without a sandbox here.",
            hint=f"--lane codex can; or use explore (read-only) or edit here: osrc explore --lane {BINARY} ...",
        )
    ready = program_and_prompt(task, host, BINARY, INSTALL)
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    argv = [program, "-o", "stream-json", *resumed(task, RESUME)]
    if host.environment.get("OSRC_QWEN_USER_MCP") != "1":
        argv += ["--allowed-mcp-server-names", "__none__"]
    if task.skills:  # plan mode refuses to read anything outside of the work tree (seen on 0.24.4)
        argv += ["--include-directories", "{job}/skills"]
    env_set: dict[str, str] = {}
    notices = []
    if task.model is not None:
        argv += ["-m", task.model]
        if not any(host.environment.get(name) for name in ("OPENAI_MODEL", "QWEN_MODEL")):
            env_set["OPENAI_MODEL"] = task.model  # a key and a base URL alone are no provider to it
    if task.effort is not None:
        notices.append(f"Qwen Code has no effort setting: effort {task.effort} is in the prompt only.")
    by_key = environment_key({**host.environment, **env_set}) == "OPENAI_API_KEY"
    if by_key:
        notices.append("OPENAI_API_KEY is set: the run is metered on that key, unless your Qwen Code settings differ.")
    return Launch(
        argv=(*argv, *_FLAGS[task.verb]),
        env_set=env_set,
        env_strip=NESTING,
        stdin=prompt,
        notices=tuple(notices),
        billing=OPENAI_COMPATIBLE_KEY if by_key else None,
    )


def environment_key(environment: Mapping[str, str]) -> str | None:
    """Return the name of the key by which the environment alone sets Qwen Code up, or None."""
    for groups in SETUPS:
        found = [next((name for name in group if environment.get(name)), None) for group in groups]
        if all(found):
            return found[0]
    return None


def payer(host: Host) -> Billing:
    """Return who pays where nothing is said of the model: a key in the environment, or whoever it was set up with."""
    return OPENAI_COMPATIBLE_KEY if environment_key(host.environment) == "OPENAI_API_KEY" else OWN_PROVIDER
