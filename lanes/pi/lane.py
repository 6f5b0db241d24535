"""The pi lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from dataclasses import replace

from ...messages.vocabulary import Tier
from .. import credentials, disclosure
from ..catalog.pools import OWN_PROVIDER
from ..contract import EffortSupport, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task
from ..failures import classify
from ..launching import cli_readiness
from .argv import BINARY, INSTALL, RESUME, VERBS, plan
from .events import PiParser
from .folder import HEEDS
from .session import native
from .terminal import terminal

MIN_VERSION = (0, 70, 0)
TESTED_VERSIONS = ("0.73.1",)
CREDENTIALS = ("~/.pi/agent/models.json",)
"""Models of the person's own. ``auth.json`` beside it tells nothing: pi writes an empty one at its first start."""
SIGN_IN = "pi  (and /login once), or set a provider's key, for example OPENAI_API_KEY"
KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "KIMI_API_KEY",
    "AI_GATEWAY_API_KEY",
)


def parser(_task: Task) -> Parser:
    """Return a parser of ``pi --mode json``."""
    return PiParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a key or own models are there; none of it is opened."""
    found = cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in=SIGN_IN,
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
    )
    found = replace(found, signed_in=found.signed_in or None)
    if found.fix != SIGN_IN:
        return found
    known = f"pi {found.version}" if found.version else "pi"
    return replace(found, detail=f"{known}; whether it has a sign-in of its own can't be seen from here")


LANE = Lane(
    name="pi",
    provider="pi",
    vehicle="pi",
    summary="pi, headless, on your own keys and sign-ins. It asks for no permission where it may write.",
    homepage="https://github.com/badlogic/pi-mono",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.pi",),
    effort=EffortSupport.NATIVE,
    goes_to=disclosure.OWN_PROVIDER,
    rules=("~/.pi/agent/AGENTS.md", "~/.pi/agent/SYSTEM.md"),
    billing=OWN_PROVIDER,
    # It reports its retries, but a turn may think for minutes between two events.
    liveness=Liveness(first_output_s=180.0),
    credential_files=CREDENTIALS,
    default_tier=Tier.MID,
    resume=RESUME,
    sessions={"native": native, "pty": terminal},
    heeds=HEEDS,
    skills=Road.BUNDLE,
    own=credentials.PI,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
