"""The qwen lane's value: what it is, how ready it is."""

from __future__ import annotations

from ...messages.vocabulary import Tier
from .. import credentials, disclosure
from ..catalog.pools import OWN_PROVIDER
from ..contract import EffortSupport, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task
from ..launching import cli_readiness
from .argv import BINARY, INSTALL, RESUME, VERBS, environment_key, payer, plan
from .events import QwenParser
from .folder import HEEDS
from .phrases import classify
from .session import over
from .terminal import terminal

MIN_VERSION = (0, 20, 0)
TESTED_VERSIONS = ("0.24.4",)
CREDENTIALS = ("~/.qwen/settings.json", "~/.qwen/oauth_creds.json")


def parser(_task: Task) -> Parser:
    """Return a parser of stream-json."""
    return QwenParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a provider seems to be set up; nothing is opened."""
    key = environment_key(facts.host.environment)
    return cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in="qwen  (and /auth once), or set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL",
        keys=(key,) if key else (),
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
    )


LANE = Lane(
    name="qwen",
    provider="qwen",
    vehicle="qwen",
    summary="Qwen Code, headless, with the provider that you set it up for.",
    homepage="https://github.com/QwenLM/qwen-code",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.qwen",),
    effort=EffortSupport.ADVISORY,
    goes_to=disclosure.OWN_PROVIDER,
    redirects=("OPENAI_BASE_URL",),
    rules=("~/.qwen/QWEN.md",),
    billing=OWN_PROVIDER,
    payer=payer,
    # Up to seven requests are retried in silence (80 s seen) before the first retry is told.
    liveness=Liveness(first_output_s=240.0),
    credential_files=CREDENTIALS,
    default_tier=Tier.CAPABLE,
    resume=RESUME,
    sessions={"acp": over, "pty": terminal},
    heeds=HEEDS,
    skills=Road.BUNDLE,
    own=credentials.QWEN,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
