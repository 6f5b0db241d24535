"""The droid lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from ...messages.vocabulary import Tier
from .. import credentials
from ..catalog.pools import FACTORY
from ..contract import EffortSupport, Lane, Liveness, Parser, ProbeFacts, Readiness, Road, Task
from ..failures import classify
from ..launching import cli_readiness
from .argv import BINARY, INSTALL, VERBS, plan
from .events import DroidParser
from .folder import HEEDS
from .servers import granted
from .session import over
from .terminal import terminal

MIN_VERSION = (0, 200, 0)
TESTED_VERSIONS = ("0.215.0",)
CREDENTIALS = (
    "~/.factory/auth.v2.file",
    "~/.factory/auth.v2.keyring",
    "~/.factory/auth.v2.loginkeychain",
    "~/.factory/auth.encrypted",
    "~/.factory/settings.json",
)
"""A sign-in in any of its forms; the settings, which its first start does not write, hold own models."""
KEYS = ("FACTORY_API_KEY",)


def parser(_task: Task) -> Parser:
    """Return a parser of ``droid exec -o stream-json``."""
    return DroidParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, its version, and whether a key, a sign-in or own models are there; none is opened."""
    return cli_readiness(
        facts,
        binary=BINARY,
        install=INSTALL,
        sign_in="droid  (and sign in once), or set FACTORY_API_KEY, or add customModels to ~/.factory/settings.json",
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
    )


LANE = Lane(
    name="droid",
    provider="droid",
    vehicle="droid",
    summary="Droid (Factory), headless, on your own account or your own models.",
    homepage="https://docs.factory.ai",
    install=INSTALL,
    binary=BINARY,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    state=("~/.factory",),
    effort=EffortSupport.NATIVE,
    goes_to="Factory, and the maker of the model",
    rules=("~/.factory/AGENTS.md",),
    billing=FACTORY,
    # It says nothing while a message is being written, and nothing during 90 s of retries (429).
    liveness=Liveness(stall_kill_floor_s=300.0, first_output_s=180.0),
    credential_files=CREDENTIALS,
    default_tier=Tier.MID,
    no_resume="Droid 0.215.0 needs its maker's server for it, and ends before the model is asked",
    sessions={"acp": over, "pty": terminal},
    heeds=HEEDS,
    skills=Road.BUNDLE,
    own=credentials.DROID,
    mcp=True,
    servers=granted,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
