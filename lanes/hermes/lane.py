"""The hermes lane's value: what it is, how ready it is, why it failed."""

from __future__ import annotations

from .. import credentials, disclosure
from ..catalog.pools import OWN_PROVIDER
from ..contract import Lane, Liveness, Parser, ProbeFacts, Readiness, Task, Wall
from ..failures import classify
from ..text import TextParser
from ..unseen import UNSEEN, readiness
from .argv import BINARY, INSTALL, VERBS, plan

CREDENTIALS = ("~/.hermes/config.yaml", "~/.hermes/.env")


def parser(_task: Task) -> Parser:
    """Return a parser of plain text: ``-z`` prints the answer alone."""
    return TextParser()


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the program and by whether it was set up; none of that is opened."""
    return readiness(facts, binary=BINARY, install=INSTALL, sign_in="hermes setup")


LANE = Lane(
    name="hermes",
    provider="hermes",
    vehicle="hermes",
    summary=f"Hermes Agent, headless, on the provider that it is set up for. {UNSEEN}",
    homepage="https://hermes-agent.nousresearch.com",
    install=INSTALL,
    binary=BINARY,
    verbs=VERBS,
    wall=Wall.OURS,
    state=("~/.hermes",),
    goes_to=disclosure.OWN_PROVIDER,
    rules=("~/.hermes/SOUL.md",),
    billing=OWN_PROVIDER,
    liveness=Liveness(streamed=False, stall_kill_floor_s=900.0),
    credential_files=CREDENTIALS,
    no_resume="it was not seen on a real hermes",
    own=credentials.HERMES,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
