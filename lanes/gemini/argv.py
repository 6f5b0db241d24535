"""From a task to a ``gemini`` or an ``agy`` command. Pure.

Gemini CLI reads its prompt from stdin. ``agy`` takes it as the value of ``-p``; a long one lies in a
private file that the value names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Verb
from ..catalog.pools import ANTIGRAVITY_PLAN, GEMINI_KEY, GOOGLE_CLOUD, GOOGLE_PLAN
from ..contract import Billing, Host, Launch, Posture, PrivateFile, Task
from ..launching import NESTING, missing_program, prompt_bytes, resumed
from ..unseen import argument
from .models import FORCE, Chosen, Vehicle, choose, vehicle_of

INSTALL: Mapping[Vehicle, str] = {
    Vehicle.AGY: "Install Antigravity CLI from https://antigravity.google, then run `agy` once to sign in.",
    Vehicle.GEMINI: (
        "Install Gemini CLI: npm install -g @google/gemini-cli, then set GEMINI_API_KEY or run `gemini` once to "
        "sign in; or install Antigravity CLI (agy) from https://antigravity.google"
    ),
}

VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.RESEARCH: Posture.SANDBOXED,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""``research`` needs ``agy``. ``edit`` is called MUTATING although ``agy`` has a sandbox: Gemini CLI has none."""

AGY_FLAGS: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: (),
    Verb.EXPLORE: (),
    Verb.RESEARCH: ("--sandbox", "--dangerously-skip-permissions"),
    Verb.EDIT: ("--sandbox", "--dangerously-skip-permissions"),
    Verb.YOLO: ("--dangerously-skip-permissions",),
}
"""Without a flag ``agy`` asks before it changes anything, and here nobody answers: a rule, not a wall."""

GEMINI_FLAGS: Mapping[Verb, tuple[str, ...]] = {
    Verb.RUN: ("--approval-mode", "plan"),
    Verb.EXPLORE: ("--approval-mode", "plan"),
    Verb.EDIT: ("--approval-mode", "auto_edit"),
    Verb.YOLO: ("--approval-mode", "yolo"),
}

READ_ONLY_POLICY = b"""\
[[rule]]
toolName = ["exit_plan_mode", "enter_plan_mode", "write_file", "replace", "run_shell_command"]
decision = "deny"
priority = 900
"""
"""Headless plan mode alone is no wall (seen on 0.61.0): the model calls ``exit_plan_mode``, nobody is asked,
and it may write. With this policy none of these tools exists, and no other agent can be started."""

SHELL_POLICY = b"""\
[[rule]]
toolName = "run_shell_command"
decision = "allow"
priority = 500
"""
"""Headless ``auto_edit`` has no shell tool; work that changes code needs one to build and to test."""

POLICIES: Mapping[Verb, PrivateFile] = {
    Verb.RUN: PrivateFile(name="read-only.toml", content=READ_ONLY_POLICY),
    Verb.EXPLORE: PrivateFile(name="read-only.toml", content=READ_ONLY_POLICY),
    Verb.EDIT: PrivateFile(name="shell.toml", content=SHELL_POLICY),
}

PRINT_TIMEOUT = "OSRC_AGY_PRINT_TIMEOUT"
DEFAULT_PRINT_TIMEOUT = "60m"
"""``agy``'s own default of 5 minutes ends healthy jobs; ours are watched and capped anyway."""
_DURATION = re.compile(r"\d{1,5}(?:\.\d{1,3})?[smh]")

RESUME = ("-r", "{conversation}")


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn."""
    vehicle = _able(task.verb, host)
    if isinstance(vehicle, Refused):
        return vehicle
    program = host.executables.get(vehicle)
    if program is None:
        return missing_program(vehicle, INSTALL[vehicle])
    prompt = prompt_bytes(task.prompt)
    if isinstance(prompt, Refused):
        return prompt
    listed = host.catalogue if vehicle is Vehicle.AGY else ()
    chosen = choose(task.model, task.effort, vehicle, host.environment, listed)
    if vehicle is Vehicle.AGY:
        if task.conversation is not None:
            return Refused(
                code=RefusalCode.VERB_UNSUPPORTED,
                message="Antigravity CLI (agy) takes up no earlier conversation by its id.",
                hint=f"ask anew; or {FORCE}=gemini, if that conversation was Gemini CLI's",
            )
        return _agy(program, task, prompt, chosen, host.environment)
    return _gemini(program, task, prompt, chosen, host)


def _able(verb: Verb, host: Host) -> Vehicle | Refused:
    """Return the program to drive, or refuse a verb that it can't honour."""
    vehicle = vehicle_of(host)
    if vehicle is Vehicle.GEMINI and verb in VERBS and verb not in GEMINI_FLAGS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"Gemini CLI can't {verb}: it has no sandbox of its own for commands.",
            hint=f"--lane codex can; so can Antigravity CLI (agy) on this lane, unless {FORCE} says gemini",
        )
    if verb not in VERBS:
        return Refused(code=RefusalCode.VERB_UNSUPPORTED, message=f"The gemini lane can't {verb}.")
    return vehicle


def _gemini(program: str, task: Task, prompt: bytes, chosen: Chosen, host: Host) -> Launch:
    argv = [program, "-o", "stream-json", *resumed(task, RESUME)]
    if host.environment.get("OSRC_GEMINI_USER_MCP") != "1":
        argv += ["--allowed-mcp-server-names", "__none__"]
    if chosen.model is not None:
        argv += ["-m", chosen.model]
    env_set, billing, notice = own_environment(host)
    argv += GEMINI_FLAGS[task.verb]
    if task.skills:
        argv += ["--include-directories", "{job}/skills"]
    policy = POLICIES.get(task.verb)
    if policy is not None:
        argv += ["--policy", f"{{job}}/{policy.name}"]
    return Launch(
        argv=tuple(argv),
        env_set=env_set,
        env_strip=NESTING,
        stdin=prompt,
        files=() if policy is None else (policy,),
        notices=(*chosen.notices, *notice),
        billing=billing,
        model=chosen.model,
    )


def own_environment(host: Host) -> tuple[dict[str, str], Billing, tuple[str, ...]]:
    """Return what Gemini CLI gets in its environment, who pays then, and what to say of it."""
    # An untrusted folder ends 0.61.0 with exit code 55. The variable is ignored by older versions; the flag is not.
    env_set = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    if (key := host.secrets.get("GEMINI_API_KEY")) and not host.environment.get("GEMINI_API_KEY"):
        env_set["GEMINI_API_KEY"] = key
    billing, notice = who_pays({**host.environment, **env_set})
    return env_set, billing, notice


def who_pays(environment: Mapping[str, str]) -> tuple[Billing, tuple[str, ...]]:
    """Return who pays, in the order in which Gemini CLI reads its environment."""
    if environment.get("GOOGLE_GENAI_USE_GCA") == "true":
        return GOOGLE_PLAN, ()
    if environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return GOOGLE_CLOUD, ("GOOGLE_GENAI_USE_VERTEXAI is set: the run is metered on your Google Cloud project.",)
    if environment.get("GEMINI_API_KEY"):
        return GEMINI_KEY, (
            "GEMINI_API_KEY is set: the run is metered on that key, unless your Gemini CLI settings choose a sign-in.",
        )
    return GOOGLE_PLAN, ()


def _agy(program: str, task: Task, prompt: bytes, chosen: Chosen, environment: Mapping[str, str]) -> Launch:
    words, files = argument(prompt, task.prompt)
    argv = [program, "-p", words, *AGY_FLAGS[task.verb]]
    if chosen.model is not None:
        argv += ["--model", chosen.model]
    if chosen.effort is not None:
        argv += ["--effort", chosen.effort]
    timeout = environment.get(PRINT_TIMEOUT, "").strip()
    argv += ["--print-timeout", timeout if _DURATION.fullmatch(timeout) else DEFAULT_PRINT_TIMEOUT]
    return Launch(
        argv=tuple(argv),
        env_strip=NESTING,
        files=files,
        notices=chosen.notices,
        billing=ANTIGRAVITY_PLAN,
        model=chosen.model,
        effort=chosen.effort if task.effort is not None else None,
    )
