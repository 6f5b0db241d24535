"""The claudex lane's value: what it is, how ready it is, what it does with a task.

The proxy speaks Anthropic Messages to Claude Code and a person's own ChatGPT sign-in on the other side.
It is the person's: looked for, never installed or started. Claude models are refused there.
"""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Tier
from .. import disclosure, failures
from ..catalog.pools import CLAUDEX_PLAN
from ..contract import (
    EffortSupport,
    Ending,
    Host,
    Lane,
    Launch,
    Liveness,
    Parser,
    ProbeFacts,
    Readiness,
    ReadinessLevel,
    Road,
    Task,
)
from ..launching import NESTING, effort_word, version_of
from ..vehicles.claude_code.argv import (
    BINARY,
    EFFORTS,
    INSTALL,
    MIN_VERSION,
    TESTED_VERSIONS,
    VERBS,
    as_root,
    instructions,
    permissions,
    servers,
    start,
)
from ..vehicles.claude_code.events import ClaudeParser
from ..vehicles.claude_code.gateway import STRIP, environment, sources

TOKEN = "OSRC_CLAUDEX_TOKEN"  # noqa: S105 - a name
DEFAULT_MODEL = "gpt-5.6-sol"
START = "start your proxy; OSRC_CLAUDEX_URL says where it is, OSRC_CLAUDEX_TOKEN its key"
_CLAUDE_WORDS = ("claude", "anthropic", "opus", "sonnet", "haiku", "fable")


def plan(task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one headless turn through the proxy."""
    ready = start(task, host, "claudex")
    if isinstance(ready, Refused):
        return ready
    model = task.model or DEFAULT_MODEL
    if any(word in model.lower() for word in _CLAUDE_WORDS):
        return Refused(
            code=RefusalCode.LANE_CONFLICT,
            message=f"{model} is a Claude model: it is not sent through somebody else's proxy.",
            hint=f"leave out --lane: osrc run -m {model} ... uses your own sign-in",
        )
    bridge = _bridge(host)
    if isinstance(bridge, Refused):
        return bridge
    (program, prompt), (base, token) = ready, bridge
    argv = [program, "-p", "--output-format", "stream-json", "--verbose", sources(host), "--model", model]
    env_set, notices = as_root(task, host)
    effort, said = effort_word("Claude Code", task.effort, EFFORTS)
    if effort is not None:
        argv += ["--effort", effort]
        env_set["CLAUDE_CODE_ALWAYS_ENABLE_EFFORT"] = "1"
        notices = (*notices, *said)
    read, told = instructions(task.cwd, host)
    argv += [
        *read,
        *servers(host, task.servers),
        *permissions(task.verb, host.environment.get("OSRC_ALLOWED_TOOLS"), task.servers),
    ]
    return Launch(
        argv=tuple(argv),
        env_set=env_set | told | environment(base, token, model),
        env_strip=STRIP | NESTING,
        stdin=prompt,
        notices=notices,
        model=model,
        effort=effort,
    )


def _bridge(host: Host) -> tuple[str, str] | Refused:
    """Return the proxy's address and token, or why it can't be used."""
    token = host.secrets.get(TOKEN)
    if host.server is None:
        message = "OSRC_CLAUDEX_URL is no address that a token may be sent to: https, or http on this machine."
    elif token is None:
        message = "No token for the claudex proxy was found."
    elif not host.server_models:
        message = f"The claudex proxy at {host.server} does not answer to its token."
    else:
        return host.server, token
    return Refused(code=RefusalCode.LANE_NOT_READY, message=message, hint=START)


def parser(_task: Task) -> Parser:
    """Return a parser of stream-json."""
    return ClaudeParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending)


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the proxy: one that lists models to the token answers. Claude Code must be there too."""
    if facts.host.executables.get(BINARY) is None:
        return Readiness(level=ReadinessLevel.ABSENT, detail=f"{BINARY} is not on PATH", fix=INSTALL)
    found = _bridge(facts.host)
    version = version_of(facts.version_output)
    tested = version in TESTED_VERSIONS if version else None
    if isinstance(found, Refused):
        return Readiness(level=ReadinessLevel.ABSENT, detail=found.message, version=version, tested=tested, fix=START)
    others = len(facts.host.server_models) - 1
    return Readiness(
        level=ReadinessLevel.ANSWERING,
        detail=f"{found[0]}: {facts.host.server_models[0]}" + (f" and {others} more" if others else ""),
        version=version,
        tested=tested,
    )


LANE = Lane(
    name="claudex",
    provider="claudex",
    vehicle="claude",
    summary="Claude Code driving a ChatGPT model through your own local proxy, which is only looked for.",
    homepage="https://github.com/router-for-me/CLIProxyAPI",
    install=f"{INSTALL} The proxy is yours to install: {START}.",
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.claude",),
    effort=EffortSupport.NATIVE,
    goes_to="OpenAI, through your own proxy",
    redirects=("OSRC_CLAUDEX_URL",),
    rules=disclosure.CLAUDE_RULES,
    billing=CLAUDEX_PLAN,
    liveness=Liveness(first_output_s=180.0),
    needs=frozenset({"bridge"}),
    default_tier=Tier.FRONTIER,
    skills=Road.BUNDLE,
    mcp=True,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
