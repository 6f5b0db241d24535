"""The local lane's value: what it is, and what it does with a task."""

from __future__ import annotations

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Tier, Verb
from ..contract import (
    Billing,
    Host,
    Lane,
    Launch,
    Liveness,
    Locality,
    Posture,
    ProbeFacts,
    Readiness,
    ReadinessLevel,
    Task,
)
from ..loopback import is_loopback, normal_base
from ..text_delegates import CHAT_MODULE, classify, launch, parser, positive_number, refuse_verb

START_HINT = "start Ollama, LM Studio or llama.cpp's server, or set OSRC_LOCAL_URL=http://127.0.0.1:PORT/v1"
ALLOW_REMOTE = "OSRC_LOCAL_ALLOW_REMOTE"
GENERATION_S = 900.0
"""Limit of one answer in seconds, unless ``OSRC_LOCAL_GEN_TIMEOUT`` says otherwise."""


def plan(task: Task, host: Host) -> Launch | Refused:
    """Plan one question to the server that was found. The prompt goes over stdin, a key stays in the environment."""
    refused = refuse_verb(task, "local")
    if refused is not None:
        return refused
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
    options: dict[str, str | None] = {"base-url": base, "model": model, "answer-s": f"{_generation_s(host):g}"}
    if is_loopback(base):
        return launch(task, host, CHAT_MODULE, options)
    notice = f"The server {base} is not on this machine: the prompt leaves it."
    return launch(task, host, CHAT_MODULE, options | {"allow-remote": None}, notices=(notice,))


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
    summary="Text answers from an OpenAI-compatible server on this machine (Ollama, LM Studio, llama.cpp).",
    homepage="https://ollama.com",
    install=f"No program of ours is needed: {START_HINT}.",
    binary=None,
    verbs={Verb.RUN: Posture.READ_ONLY, Verb.EXPLORE: Posture.READ_ONLY},
    billing=Billing(kind="free", pool="local", words="$0 cash + $0 plan"),
    locality=Locality.LOCAL,
    agentic=False,
    needs=frozenset({"server"}),
    # A server may first have to load the model, and then to read a long prompt on a CPU.
    liveness=Liveness(first_output_s=600.0),
    default_tier=Tier.BUDGET,
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
