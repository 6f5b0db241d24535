"""The local lane's value: what it is, and what it does with a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...messages.lane_events import FailureKind, TurnEnded
from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Tier, Verb
from .. import credentials
from ..contract import (
    Billing,
    Ending,
    Host,
    Lane,
    Launch,
    Liveness,
    Locality,
    Parser,
    Posture,
    ProbeFacts,
    Readiness,
    ReadinessLevel,
    Task,
)
from ..failures import classify as by_evidence
from ..loopback import is_loopback, normal_base
from ..text_delegates import CHAT_MODULE, launch, positive_number
from . import agentic
from .events import LocalParser

START_HINT = "start Ollama, LM Studio or llama.cpp's server, or set OSRC_LOCAL_URL=http://127.0.0.1:PORT/v1"
ALLOW_REMOTE = "OSRC_LOCAL_ALLOW_REMOTE"
GENERATION_S = 900.0
"""Limit of one answer in seconds, unless ``OSRC_LOCAL_GEN_TIMEOUT`` says otherwise."""


VERBS: Mapping[Verb, Posture] = {
    Verb.RUN: Posture.READ_ONLY,
    Verb.EXPLORE: Posture.READ_ONLY,
    Verb.EDIT: Posture.MUTATING,
    Verb.YOLO: Posture.DANGER,
}
"""The first two are text alone, unless ``OSRC_LOCAL_AGENTIC=1``; the others need Claude Code or Codex."""


def plan(task: Task, host: Host) -> Launch | Refused:
    """Plan one question to the server that was found, or an agent's turn where the verb needs tools.

    The prompt goes over stdin, a key stays in the environment.
    """
    if task.verb not in VERBS:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The local lane can't {task.verb}: nothing of it is sandboxed.",
            hint="--lane codex can; or use explore (read-only) or edit here",
        )
    base = _server(host)
    if isinstance(base, Refused):
        return base
    model = task.model or next(iter(host.server_models), None)
    if model is None:
        return Refused(
            code=RefusalCode.LANE_NOT_READY,
            message=f"The server at {base} does not answer, or lists no model.",
            hint="start it, load a model in it, or name one: -m local:NAME",
        )
    found = _launched(task, host, base, model)
    return found if isinstance(found, Refused) else replace(found, model=model)


def _launched(task: Task, host: Host, base: str, model: str) -> Launch | Refused:
    if agentic.wanted(task.verb, host):
        return _agent(task, host, base, model)
    options: dict[str, str | None] = {"base-url": base, "model": model, "answer-s": f"{_generation_s(host):g}"}
    if is_loopback(base):
        return launch(task, host, CHAT_MODULE, options)
    return launch(task, host, CHAT_MODULE, options | {"allow-remote": None}, notices=(_notice(base),))


def _agent(task: Task, host: Host, base: str, model: str) -> Launch | Refused:
    launched = agentic.launch(task, host, base, model, _generation_s(host))
    if isinstance(launched, Refused) or is_loopback(base):
        return launched
    return replace(launched, notices=(*launched.notices, _notice(base)))


def _notice(base: str) -> str:
    return f"The server {base} is not on this machine: the prompt leaves it."


def parser(_task: Task) -> Parser:
    """Return a parser of whatever the run turns out to print."""
    return LocalParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed: a final event that says so is believed."""
    turn = ending.turn
    if isinstance(turn, TurnEnded) and not turn.synthetic and turn.failure is not FailureKind.NONE:
        return turn.failure
    return by_evidence(ending)


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the server that was found: one that lists a model answers."""
    base = _server(facts.host)
    if isinstance(base, Refused):
        return Readiness(level=ReadinessLevel.ABSENT, detail=base.message, fix=base.hint)
    if not facts.host.server_models:
        return Readiness(
            level=ReadinessLevel.INSTALLED,
            detail=f"{base} does not answer, or lists no model",
            fix="start it and load a model in it, for example: ollama pull NAME",
        )
    first, *others = facts.host.server_models
    more = f" and {len(others)} more" if others else ""
    return Readiness(level=ReadinessLevel.ANSWERING, detail=f"{base}: {first}{more}")


def _server(host: Host) -> str | Refused:
    if host.server is None:
        return Refused(code=RefusalCode.LANE_NOT_READY, message="No local model server was found.", hint=START_HINT)
    base = normal_base(host.server)
    if base is None:
        return Refused(
            code=RefusalCode.LANE_NOT_READY,
            message="The local model server's address is not an http URL without credentials.",
            hint=START_HINT,
        )
    if not is_loopback(base) and host.environment.get(ALLOW_REMOTE) != "1":
        return Refused(
            code=RefusalCode.DENIED,
            message=f"The server {base} is not on this machine, and the local lane keeps to it.",
            hint=f"{ALLOW_REMOTE}=1 allows it",
        )
    return base


def _generation_s(host: Host) -> float:
    return positive_number(host.environment.get("OSRC_LOCAL_GEN_TIMEOUT")) or GENERATION_S


LANE = Lane(
    name="local",
    provider="local",
    vehicle="local",
    summary="A model on this machine (Ollama, LM Studio, llama.cpp): text, or an agent through Claude Code or Codex.",
    homepage="https://ollama.com",
    install=f"No program of ours is needed: {START_HINT}.",
    binary=None,
    verbs=VERBS,
    goes_to="the model server",
    redirects=("OSRC_LOCAL_URL",),
    billing=Billing(kind="free", pool="local", words="$0 cash + $0 plan"),
    locality=Locality.LOCAL,
    agentic=False,
    works=agentic.wanted,
    executables=agentic.PROGRAMS,
    needs=frozenset({"server"}),
    # A server may first have to load the model, and then to read a long prompt on a CPU.
    liveness=Liveness(first_output_s=600.0),
    default_tier=Tier.BUDGET,
    no_resume="a server keeps none",
    no_bundle="its model reads files only where it was given hands",
    own=credentials.LOCAL,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
