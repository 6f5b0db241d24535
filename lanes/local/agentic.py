"""A local model with hands: Claude Code or Codex as the agent, the server on this machine as its model. Pure.

A server that only chats gets Claude Code, with a translator of ours between them for as long as the run
lasts; ``OSRC_LOCAL_API=responses`` says that the server speaks what Codex speaks, which needs none.
"""

from __future__ import annotations

import json
from dataclasses import replace

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Verb
from ..contract import Host, Launch, Task
from ..launching import NESTING
from ..loopback import is_loopback, normal_base
from ..vehicles.claude_code.argv import BINARY as CLAUDE
from ..vehicles.claude_code.argv import WRITE_TOOLS, as_root, permissions, servers
from ..vehicles.claude_code.argv import start as claude
from ..vehicles.codex_cli.argv import BINARY as CODEX
from ..vehicles.codex_cli.argv import command
from ..vehicles.codex_cli.argv import start as codex
from ..vehicles.codex_cli.retries import log_words

MODULE = "outsourcerer.actors.delegates.local_agent"
KEY = "OSRC_LOCAL_KEY"
PROGRAMS = (CLAUDE, CODEX)

STRIP = frozenset(
    {
        *NESTING,
        "ANTHROPIC_*",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_*",
        "CLAUDE_EFFORT",
        "MAX_THINKING_TOKENS",
        "CODEX_API_KEY",
        "OPENAI_*",
    }
)
"""Whatever would lead the agent to an account, and the work off this machine."""

MAX_RETRIES = "2"
"""A server on this machine that fails three times in a row is broken; Claude Code alone would try for minutes."""

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
"""Nothing of a local run leaves the machine: no telemetry, no look for updates (Claude Code 2.1.332)."""


def wanted(verb: Verb, host: Host) -> bool:
    """Whether a job needs hands: it may write, or ``OSRC_LOCAL_AGENTIC=1`` asks for them."""
    return not verb.read_only or host.environment.get("OSRC_LOCAL_AGENTIC") == "1"


def launch(task: Task, host: Host, base: str, model: str, answer_s: float) -> Launch | Refused:
    """Return the launch of one headless turn of an agent on ``model`` at ``base`` (``http://.../v1``)."""
    if host.environment.get("OSRC_LOCAL_API") == "responses":
        return _codex(task, host, base, model, answer_s)
    return _claude(task, host, base, model, answer_s)


def _claude(task: Task, host: Host, base: str, model: str, answer_s: float) -> Launch | Refused:
    if host.executables.get(CLAUDE) is None:
        return _absent("Claude Code", CLAUDE, "npm install -g @anthropic-ai/claude-code; no sign-in is needed", task)
    ready = claude(task, host, "local")
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    argv = [program, "-p", "--output-format", "stream-json", "--verbose", "--model", model]
    # No settings of the folder or the person: their "env" would outrank the address of our server.
    argv += ["--setting-sources=", *servers(host)]
    tools = host.environment.get("OSRC_LOCAL_TOOLS")
    if not task.verb.read_only:
        # A small model has little room: only the tools that it is to use are described to it.
        argv += ["--tools", tools or WRITE_TOOLS]
    argv += permissions(task.verb, host.environment.get("OSRC_ALLOWED_TOOLS") or tools)
    env_set, notices = as_root(task, host)
    options = [f"--base-url={base}", f"--model={model}", f"--answer-s={answer_s:g}", "--vehicle=claude"]
    between = "through a translator that runs only as long as it does"
    if own := host.environment.get("OSRC_LOCAL_ANTHROPIC_URL"):
        spoken = _own_dialect(own, host)
        if isinstance(spoken, Refused):
            return spoken
        env_set |= spoken
        options, between = ["--vehicle=claude", "--direct"], "over the server's own Messages API"
    return Launch(
        argv=(host.python, "-P", "-m", MODULE, *options, "--", *argv),
        env_set={
            **env_set,
            **QUIET,
            **_direct(host),
            **_models(model),
            "API_TIMEOUT_MS": f"{answer_s * 1000:.0f}",
            "CLAUDE_CODE_MAX_RETRIES": MAX_RETRIES,
        },
        env_strip=STRIP,
        stdin=prompt,
        notices=(*notices, f"Claude Code works with {model} {between}."),
    )


def _own_dialect(address: str, host: Host) -> dict[str, str] | Refused:
    """Return the variables that lead Claude Code to a server that speaks its dialect by itself."""
    base = normal_base(address)
    if base is None or not (is_loopback(base) or host.environment.get("OSRC_LOCAL_ALLOW_REMOTE") == "1"):
        return Refused(
            code=RefusalCode.DENIED,
            message="OSRC_LOCAL_ANTHROPIC_URL is no http address of this machine.",
            hint="OSRC_LOCAL_ALLOW_REMOTE=1 allows one elsewhere",
        )
    key = host.environment.get(KEY) or "local"
    return {"ANTHROPIC_BASE_URL": base.removesuffix("/v1"), "ANTHROPIC_API_KEY": key}


def _codex(task: Task, host: Host, base: str, model: str, answer_s: float) -> Launch | Refused:
    if host.executables.get(CODEX) is None:
        return _absent("Codex", CODEX, "npm install -g @openai/codex; no sign-in is needed", task)
    ready = codex(task, host, "local")
    if isinstance(ready, Refused):
        return ready
    program, prompt = ready
    argv, notices, _ = command(program, replace(task, model=model, effort=None), user_config=False)
    provider = {
        "name": "local",
        "base_url": base,
        "wire_api": "responses",
        "stream_idle_timeout_ms": round(answer_s * 1000),
        **({"env_key": KEY} if host.environment.get(KEY) else {}),
    }
    rows = ", ".join(f"{name} = {json.dumps(value)}" for name, value in provider.items())
    argv += ["-c", 'model_provider="oslocal"', "-c", f"model_providers.oslocal={{ {rows} }}", "-"]
    return Launch(
        argv=(host.python, "-P", "-m", MODULE, "--vehicle=codex", "--", *argv),
        env_set=_direct(host) | log_words(host.environment),
        env_strip=STRIP,
        stdin=prompt,
        notices=(*notices, f"Codex works with {model} over the server's own Responses API."),
    )


def _absent(name: str, program: str, install: str, task: Task) -> Refused:
    return Refused(
        code=RefusalCode.LANE_NOT_READY,
        message=f"A local model needs {name} as its hands to {task.verb}, and {program} was not found on PATH.",
        hint=f"{install}; or use run or explore here for an answer in text",
    )


def _models(model: str) -> dict[str, str]:
    """Return the variables by which Claude Code takes one model for whatever it does by itself."""
    kinds = ("MODEL", "SMALL_FAST_MODEL", "DEFAULT_HAIKU_MODEL", "DEFAULT_SONNET_MODEL", "DEFAULT_OPUS_MODEL")
    return {f"ANTHROPIC_{kind}": model for kind in kinds}


def _direct(host: Host) -> dict[str, str]:
    """Return the variables that keep a proxy of the person's from what is meant for this machine."""
    given = host.environment.get("NO_PROXY") or host.environment.get("no_proxy") or ""
    direct = ",".join(part for part in (given, "127.0.0.1", "localhost", "::1") if part)
    return {"NO_PROXY": direct, "no_proxy": direct}
