"""The warp lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from .. import credentials, failures
from ..catalog.pools import WARP
from ..contract import Ending, Lane, Liveness, Parser, ProbeFacts, Readiness, Task, Wall
from ..text import TextParser
from ..unseen import UNSEEN, readiness
from .argv import BINARY, INSTALL, VERBS, plan

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "quotalimit.",  # public facts, 2026-11
            "quota limit reached.",
            "monthly credit limit exceeded.",
            "ai request limit exceeded.",
            "premium models disabled until",
        ),
    ),
)


def parser(_task: Task) -> Parser:
    """Return a parser of plain text."""
    return TextParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed. A "message token limit" is a long prompt, not a spent plan."""
    return failures.classify(ending, PHRASES)


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, a key, and what ``oz whoami`` says."""
    return readiness(facts, binary=BINARY, install=INSTALL, sign_in="oz login", keys=("WARP_API_KEY",))


LANE = Lane(
    name="warp",
    provider="warp",
    vehicle="oz",
    summary=f"Warp's Oz CLI, headless, on your Warp account; its profile decides what it may do. {UNSEEN}",
    homepage="https://docs.warp.dev/reference/cli",
    install=INSTALL,
    binary=BINARY,
    status_argv=("whoami",),
    verbs=VERBS,
    wall=Wall.OURS,
    state=("~/.warp", "~/.local/state/warp-terminal", "~/.local/share/warp-terminal"),
    goes_to="Warp, and the maker of the model",
    billing=WARP,
    liveness=Liveness(streamed=False, stall_kill_floor_s=900.0),
    no_resume="its output names none",
    own=credentials.WARP,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
