"""The claude lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...messages.vocabulary import Tier
from .. import credentials, disclosure
from ..catalog.pools import CLAUDE_PLAN
from ..contract import EffortSupport, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task
from ..failures import classify
from ..launching import cli_readiness
from ..vehicles.claude_code.argv import BINARY, INSTALL, MIN_VERSION, RESUME, TESTED_VERSIONS, VERBS
from ..vehicles.claude_code.events import ClaudeParser
from .adapter import ADAPTER, over
from .argv import payer, plan
from .session import native
from .terminal import terminal

STARTED = "~/.claude.json"
"""Claude Code (2.1.332) writes it at its first start, signed in or not; on macOS the sign-in is in the keychain."""

CREDENTIALS = ("~/.claude/.credentials.json", STARTED)
SIGN_IN = "claude  (and sign in once), or set ANTHROPIC_API_KEY"
KEYS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")


def parser(_task: Task) -> Parser:
    """Return a parser of stream-json."""
    return ClaudeParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a key or a sign-in is there; none of it is opened."""
    found = cli_readiness(
        replace(facts, credentials=facts.credentials - {STARTED}),
        binary=BINARY,
        install=INSTALL,
        sign_in=SIGN_IN,
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
        keyless=_cloud(facts.host.environment),
    )
    if found.signed_in or STARTED not in facts.credentials:
        return found
    found = replace(found, signed_in=None)
    if found.fix != SIGN_IN:
        return found
    known = f"{BINARY} {found.version}" if found.version else BINARY
    return replace(
        found, detail=f"{known}; it was started here before, whether it is signed in can't be seen from here"
    )


def _cloud(environment: Mapping[str, str]) -> bool:
    """Whether the user's own settings send Claude Code to a cloud account, which needs no sign-in here."""
    return any(environment.get(f"CLAUDE_CODE_USE_{cloud}") == "1" for cloud in ("BEDROCK", "VERTEX", "FOUNDRY"))


LANE = Lane(
    name="claude",
    provider="claude",
    vehicle="claude",
    summary="Claude Code, headless, on your own sign-in.",
    homepage="https://code.claude.com",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.claude",),
    effort=EffortSupport.NATIVE,
    goes_to="Anthropic",
    redirects=("ANTHROPIC_BASE_URL",),
    rules=disclosure.CLAUDE_RULES,
    billing=CLAUDE_PLAN,
    payer=payer,
    # It reports its retries, but a turn may think for minutes between two events.
    liveness=Liveness(first_output_s=180.0),
    credential_files=CREDENTIALS,
    executables=(ADAPTER,),
    default_tier=Tier.FRONTIER,
    skills=Road.BUNDLE,
    mcp=True,
    resume=RESUME,
    sessions={"native": native, "acp": over, "pty": terminal},
    own=credentials.CLAUDE,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
