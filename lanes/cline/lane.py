"""The cline lane's value: what it is, how ready it is."""

from __future__ import annotations

from ...messages.vocabulary import Tier
from .. import credentials, disclosure
from ..catalog.pools import OWN_PROVIDER
from ..contract import EffortSupport, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task, Wall
from ..launching import cli_readiness
from .argv import BINARY, INSTALL, VERBS, plan
from .events import ClineParser
from .folder import HEEDS
from .phrases import classify
from .session import over
from .terminal import terminal

MIN_VERSION = (3, 0, 36)
"""Older ones don't keep plan mode in headless runs."""
TESTED_VERSIONS = ("3.0.65",)
CREDENTIALS = ("~/.cline/data/settings/providers.json",)
KEYS = ("CLINE_API_KEY",)


def parser(_task: Task) -> Parser:
    """Return a parser of ``cline --json``."""
    return ClineParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a provider is set up; none of it is opened."""
    return cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in="cline auth",
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
    )


LANE = Lane(
    name="cline",
    provider="cline",
    vehicle="cline",
    summary="Cline, headless, on the provider that you have set up in it. Its conversations can't be continued.",
    homepage="https://cline.bot",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    wall=Wall.OURS,
    state=("~/.cline",),
    effort=EffortSupport.NATIVE,
    goes_to=disclosure.OWN_PROVIDER,
    rules=("~/Documents/Cline/Rules", "~/.cline/rules"),
    billing=OWN_PROVIDER,
    # It says nothing during a minute of retries.
    liveness=Liveness(first_output_s=180.0, stall_kill_floor_s=300.0),
    credential_files=CREDENTIALS,
    default_tier=Tier.MID,
    no_resume="Cline takes one up only in its own screen (3.0.65), and its stream names none",
    sessions={"acp": over, "pty": terminal},
    heeds=HEEDS,
    skills=Road.BUNDLE,
    own=credentials.CLINE,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
