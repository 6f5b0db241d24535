"""The devin lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from ...messages.vocabulary import Tier, Verb
from .. import credentials, failures
from ..catalog.pools import DEVIN_PLAN
from ..contract import Ending, Lane, Listing, Liveness, Parser, ProbeFacts, Readiness, Task, Wall
from ..listings import after_available
from ..text import TextParser
from ..unseen import UNSEEN, readiness
from .argv import BINARY, INSTALL, LIST, VERBS, plan

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "weekly plan quota exhausted",  # public facts, 2026-11: "Weekly plan quota exhausted, resets in 11h26m"
            "daily plan quota exhausted",
            "monthly plan quota exhausted",
            "plan quota exhausted",
            "quota exhausted.",
            "quota is exhausted.",
            "shared quota exhausted",
            "you are out of acus",
            "you're out of acus",
            "out of acus.",
            "acu limit reached.",
            "acu limit exceeded.",
        ),
    ),
    (FailureKind.PERMISSION, ("autonomous mode is disabled", "autonomous mode is not allowed")),
    (
        FailureKind.MODEL_GONE,
        ("model is not available.", "model * is not available.", "invalid model.", "invalid model:"),
    ),
)


def parser(_task: Task) -> Parser:
    """Return a parser of plain text: print mode says nothing before its answer."""
    return TextParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending, PHRASES)


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program and by what ``devin auth status`` says."""
    return readiness(facts, binary=BINARY, install=INSTALL, sign_in="devin auth login")


LANE = Lane(
    name="devin",
    provider="devin",
    vehicle="devin",
    summary=f"Devin CLI, headless, on your Devin plan. {UNSEEN}",
    homepage="https://docs.devin.ai/cli",
    install=INSTALL,
    binary=BINARY,
    status_argv=("auth", "status"),
    verbs=VERBS,
    forbidden_by_others=frozenset({Verb.RESEARCH}),
    wall=Wall.OURS,
    state=("~/.config/devin", "~/.local/share/devin", "~/.cache/devin"),
    goes_to="Cognition",
    rules=("~/.config/AGENTS.md",),
    billing=DEVIN_PLAN,
    # Silences of 1,450 seconds were seen in print mode before an answer came.
    liveness=Liveness(streamed=False, stall_kill_floor_s=1800.0),
    default_tier=Tier.CAPABLE,
    no_resume="`devin -c` takes the last one of the folder, whichever that is",
    listing=Listing(program=BINARY, argv=LIST, read=after_available),
    own=credentials.DEVIN,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
