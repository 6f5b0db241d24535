"""The codex lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from ...messages.vocabulary import Tier
from .. import credentials, disclosure
from ..catalog.pools import CHATGPT_PLAN
from ..contract import EffortSupport, Lane, Parser, ProbeFacts, Readiness, Road, Task
from ..failures import classify
from ..launching import cli_readiness
from ..vehicles.codex_cli.argv import BINARY, INSTALL, MIN_VERSION, RESUME, TESTED_VERSIONS, VERBS
from ..vehicles.codex_cli.events import CodexParser
from ..vehicles.codex_cli.rollout import used_in
from .adapter import ADAPTER, over
from .argv import payer, plan
from .session import native
from .terminal import terminal

CREDENTIALS = ("~/.codex/auth.json",)
KEYS = ("CODEX_API_KEY",)


def parser(_task: Task) -> Parser:
    """Return a parser of ``codex exec --json``."""
    return CodexParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a key or a sign-in is there; none of it is opened."""
    return cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in="codex login",
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
        keyless=facts.host.environment.get("OSRC_CODEX_USER_CONFIG") == "1",
    )


LANE = Lane(
    name="codex",
    provider="codex",
    vehicle="codex",
    summary="Codex CLI, headless, on your own sign-in, in its own sandbox.",
    homepage="https://developers.openai.com/codex",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.codex",),
    effort=EffortSupport.NATIVE,
    goes_to="OpenAI",
    redirects=("OPENAI_BASE_URL",),
    own_config="OSRC_CODEX_USER_CONFIG",
    rules=disclosure.CODEX_RULES,
    billing=CHATGPT_PLAN,
    payer=payer,
    credential_files=CREDENTIALS,
    executables=(ADAPTER,),
    default_tier=Tier.FRONTIER,
    skills=Road.BUNDLE,
    resume=RESUME,
    sessions={"native": native, "acp": over, "pty": terminal},
    own=credentials.CODEX,
    plan=plan,
    parser=parser,
    meter=used_in,
    classify=classify,
    probe=probe,
)
