"""The gemini lane's value: what it is, how ready it is."""

from __future__ import annotations

from ...messages.refusals import Refused
from ...messages.vocabulary import Tier
from .. import credentials
from ..catalog.pools import ANTIGRAVITY_PLAN
from ..contract import (
    Billing,
    EffortSupport,
    Host,
    Lane,
    Listing,
    Liveness,
    Parser,
    ProbeFacts,
    Readiness,
    ReadinessLevel,
    Road,
    Task,
    Wall,
)
from ..launching import cli_readiness
from ..listings import one_a_line
from .argv import INSTALL, RESUME, VERBS, own_environment, plan
from .folder import HEEDS
from .models import Vehicle, vehicle_of
from .phrases import classify
from .session import over
from .sniff import GeminiParser
from .terminal import terminal

MIN_VERSION = (0, 50, 0)
"""Older ones have no plan mode for headless runs, or no ``--policy``."""
TESTED_VERSIONS = ("0.61.0",)
AGY_STATE = "~/.gemini/antigravity-cli"
GEMINI_SIGN_IN = "~/.gemini/oauth_creds.json"
KEYS = ("GEMINI_API_KEY",)


def parser(_task: Task) -> Parser:
    """Return a parser of either program's output."""
    return GeminiParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program that would run, and whether a key or a sign-in is there; none of it is opened."""
    vehicle = vehicle_of(facts.host)
    if isinstance(vehicle, Refused):
        return Readiness(level=ReadinessLevel.ABSENT, detail=vehicle.message, fix=vehicle.hint)
    if vehicle is Vehicle.AGY:
        return _agy(facts)
    environment = facts.host.environment
    cloud = any(environment.get(f"GOOGLE_GENAI_USE_{way}") == "true" for way in ("GCA", "VERTEXAI"))
    return cli_readiness(
        ProbeFacts(
            host=facts.host,
            version_output=facts.version_output,
            version_exit=facts.version_exit,
            credentials=facts.credentials & {GEMINI_SIGN_IN},
        ),
        binary=Vehicle.GEMINI,
        install=INSTALL[Vehicle.GEMINI],
        sign_in="export GEMINI_API_KEY=...  (or run `gemini` once to sign in)",
        keys=KEYS,
        min_version=MIN_VERSION,
        tested=TESTED_VERSIONS,
        keyless=cloud or bool(facts.host.secrets.get("GEMINI_API_KEY")),
    )


def _agy(facts: ProbeFacts) -> Readiness:
    """Judge ``agy``, whose version is not asked and whose sign-in lies in the desktop's keyring."""
    program = facts.host.executables.get(Vehicle.AGY)
    if program is None:
        return Readiness(level=ReadinessLevel.ABSENT, detail="agy is not on PATH", fix=INSTALL[Vehicle.AGY])
    used = AGY_STATE in facts.credentials or bool(facts.host.environment.get("ANTIGRAVITY_API_KEY"))
    return Readiness(
        level=ReadinessLevel.SIGNED_IN if used else ReadinessLevel.INSTALLED,
        detail=f"{program}, {'it has been used' if used else 'no sign-in found'}; never tested with this version",
        tested=False,
        fix=None if used else "agy  (and sign in once)",
        signed_in=used,
    )


def road(host: Host) -> Road:
    """Return how skills go: as files to Gemini CLI, which is told their folder; as text to ``agy``."""
    return Road.BUNDLE if vehicle_of(host) is Vehicle.GEMINI else Road.TEXT


def payer(host: Host) -> Billing:
    """Return who pays: Google's plan or key for Gemini CLI, Antigravity for ``agy``."""
    return own_environment(host)[1] if vehicle_of(host) is Vehicle.GEMINI else ANTIGRAVITY_PLAN


LANE = Lane(
    name="gemini",
    provider="gemini",
    vehicle="agy or gemini",
    summary=(
        "Antigravity CLI (agy, built from public facts: not tested with the real one), else Gemini CLI, headless."
    ),
    homepage="https://antigravity.google",
    install=INSTALL[Vehicle.GEMINI],
    binary=Vehicle.GEMINI,
    executables=(Vehicle.AGY,),
    secrets=KEYS,
    min_version=MIN_VERSION,
    tested_versions=TESTED_VERSIONS,
    verbs=VERBS,
    wall=Wall.OURS,  # Gemini CLI's plan mode is a wall with our policy, but agy's is not known to be one
    state=("~/.gemini", "~/.antigravity"),
    effort=EffortSupport.ADVISORY,
    goes_to="Google",
    redirects=("GOOGLE_GEMINI_BASE_URL",),
    rules=("~/.gemini/GEMINI.md",),
    billing=ANTIGRAVITY_PLAN,
    payer=payer,
    # It takes seconds to start, thinks in silence, and agy prints nothing before its end.
    liveness=Liveness(streamed=False, first_output_s=240.0, stall_kill_floor_s=600.0),
    credential_files=(AGY_STATE, GEMINI_SIGN_IN),
    default_tier=Tier.MID,
    resume=RESUME,
    sessions={"acp": over, "pty": terminal},
    heeds=HEEDS,
    listing=Listing(program=Vehicle.AGY, argv=("models",), read=one_a_line),
    skills=Road.BUNDLE,
    road=road,
    no_bundle="it goes as text to Antigravity CLI (agy), of which it was not seen",
    own=credentials.GEMINI,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
