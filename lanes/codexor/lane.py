"""The codexor lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from ...messages.vocabulary import Tier
from .. import disclosure, failures, openrouter
from ..catalog.pools import OPENROUTER
from ..contract import EffortSupport, Ending, Lane, Parser, ProbeFacts, Readiness, Road, Task
from ..launching import cli_readiness
from ..vehicles.codex_cli.argv import BINARY, INSTALL, MIN_VERSION, RESUME, TESTED_VERSIONS, VERBS
from ..vehicles.codex_cli.events import CodexParser
from ..vehicles.codex_cli.rollout import used_in
from .argv import plan


def parser(_task: Task) -> Parser:
    """Return a parser of ``codex exec --json``."""
    return CodexParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed; OpenRouter's own words come through Codex's."""
    return failures.classify(ending, openrouter.PHRASES)


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether there is a key. A ChatGPT sign-in is no help here."""
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
    name="codexor",
    provider="codex",
    vehicle="codex",
    summary="Codex CLI driving a model of OpenRouter, on your key there, in its own sandbox.",
    homepage="https://openrouter.ai",
    install=f"{INSTALL} No sign-in is needed here: {openrouter.FIX}.",
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.codex",),
    effort=EffortSupport.NATIVE,
    goes_to=disclosure.OPENROUTER,
    redirects=("OSRC_OPENROUTER_URL",),
    rules=disclosure.CODEX_RULES,
    billing=OPENROUTER,
    secrets=(openrouter.KEY,),
    receipts="openrouter",
    default_tier=Tier.MID,
    skills=Road.BUNDLE,
    resume=RESUME,
    plan=plan,
    parser=parser,
    meter=used_in,
    classify=classify,
    probe=probe,
)
