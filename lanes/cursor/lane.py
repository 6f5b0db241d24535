"""The cursor lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from ...messages.lane_events import FailureKind
from .. import credentials, failures
from ..catalog.pools import CURSOR_PLAN
from ..contract import Ending, Lane, Liveness, Parser, ProbeFacts, Readiness, Task, Wall
from ..unseen import UNSEEN, readiness
from .argv import BINARY, INSTALL, VERBS, plan
from .events import CursorParser
from .folder import HEEDS

PHRASES: failures.Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        ("usage limits will reset", "spend limit reached.", "you've hit your spend limit"),  # public facts, 2026-11
    ),
    (
        FailureKind.AUTH,
        (
            "authentication required. please run",
            "please run 'agent login'",
            "run 'agent login'",
            "please run cursor-agent login",
        ),
    ),
)


def parser(_task: Task) -> Parser:
    """Return a parser of stream-json."""
    return CursorParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed."""
    return failures.classify(ending, PHRASES)


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program, a key, and what ``cursor-agent status`` says."""
    return readiness(facts, binary=BINARY, install=INSTALL, sign_in="cursor-agent login", keys=("CURSOR_API_KEY",))


LANE = Lane(
    name="cursor",
    provider="cursor",
    vehicle="cursor-agent",
    summary=f"Cursor CLI, headless, on your Cursor plan. {UNSEEN}",
    homepage="https://cursor.com/cli",
    install=INSTALL,
    binary=BINARY,
    status_argv=("status",),
    verbs=VERBS,
    wall=Wall.OURS,
    state=("~/.cursor", "~/.config/cursor", "~/.local/share/cursor-agent"),
    goes_to="Cursor, and the maker of the model",
    billing=CURSOR_PLAN,
    liveness=Liveness(first_output_s=180.0),
    no_resume="it was not seen on a real cursor-agent",
    heeds=HEEDS,
    own=credentials.CURSOR,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
