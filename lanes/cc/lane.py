"""The cc lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from ...messages.vocabulary import Tier
from .. import disclosure, failures, openrouter
from ..catalog.pools import OPENROUTER
from ..contract import EffortSupport, Ending, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task
from ..launching import cli_readiness
from ..vehicles.claude_code.argv import BINARY, INSTALL, MIN_VERSION, RESUME, TESTED_VERSIONS, VERBS
from ..vehicles.claude_code.events import ClaudeParser
from .argv import plan


def parser(_task: Task) -> Parser:
    """Return a parser of stream-json."""
    return ClaudeParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed; OpenRouter's own words come through Claude Code's."""
    return failures.classify(ending, openrouter.PHRASES)


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether there is a key. A Claude sign-in is no help here."""
    seen = cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in=openrouter.FIX,
        keys=(),
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
        keyless=True,
    )
    return openrouter.with_key(seen, facts)


LANE = Lane(
    name="cc",
    provider="cc",
    vehicle="claude",
    summary="Claude Code driving a model of OpenRouter, on your key there.",
    homepage="https://openrouter.ai",
    install=f"{INSTALL} No sign-in is needed here: {openrouter.FIX}.",
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.claude",),
    effort=EffortSupport.NATIVE,
    goes_to=disclosure.OPENROUTER,
    redirects=("OSRC_OPENROUTER_URL",),
    rules=disclosure.CLAUDE_RULES,
    billing=OPENROUTER,
    # It reports its retries, but a turn may think for minutes between two events.
    liveness=Liveness(first_output_s=180.0),
    secrets=(openrouter.KEY,),
    receipts="openrouter",
    default_tier=Tier.MID,
    skills=Road.BUNDLE,
    mcp=True,
    resume=RESUME,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
