"""The opencode lane's value: what it is, how ready it is."""

from __future__ import annotations

from ...messages.vocabulary import Tier
from .. import credentials, disclosure
from ..catalog.pools import OWN_PROVIDER
from ..contract import EffortSupport, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task, Wall
from ..launching import cli_readiness
from .argv import BINARY, INSTALL, RESUME, VERBS, plan
from .events import OpenCodeParser
from .phrases import classify
from .session import over
from .terminal import terminal

MIN_VERSION = (1, 1, 1)
"""Older ones have other permission rules."""
TESTED_VERSIONS = ("1.18.33",)
CREDENTIALS = (
    "~/.local/share/opencode/auth.json",
    "~/.config/opencode/opencode.json",
    "~/.config/opencode/opencode.jsonc",
)
KEYS = ("OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_CONFIG")
STATE = ("~/.local/share/opencode", "~/.local/state/opencode", "~/.config/opencode", "~/.cache/opencode")


def parser(_task: Task) -> Parser:
    """Return a parser of ``opencode run --format json``."""
    return OpenCodeParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a provider seems set up; none of it is opened."""
    return cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in="opencode auth login",
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
    )


LANE = Lane(
    name="opencode",
    provider="opencode",
    vehicle="opencode",
    summary="OpenCode, headless, on the providers that you have set up in it.",
    homepage="https://opencode.ai",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    wall=Wall.OURS,
    state=STATE,
    effort=EffortSupport.NATIVE,
    goes_to=disclosure.OWN_PROVIDER,
    rules=("~/.config/opencode/AGENTS.md", *disclosure.CLAUDE_RULES),
    billing=OWN_PROVIDER,
    # It takes 10 s and more to start, says nothing while a part is made, and nothing during 80 s of retries.
    liveness=Liveness(first_output_s=240.0, stall_kill_floor_s=600.0),
    credential_files=CREDENTIALS,
    default_tier=Tier.MID,
    resume=RESUME,
    sessions={"acp": over, "pty": terminal},
    skills=Road.BUNDLE,
    own=credentials.OPENCODE,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
