"""The tokenrouter lane's value: what it is, and what it does with a task."""

from __future__ import annotations

from dataclasses import replace

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Verb
from ..catalog.pools import TOKENROUTER
from ..contract import Host, Lane, Launch, Liveness, Posture, ProbeFacts, Readiness, ReadinessLevel, Task
from ..loopback import is_loopback, normal_base
from ..text_delegates import CHAT_MODULE, classify, launch, parser, positive_number, refuse_verb

KEY = "TOKENROUTER_API_KEY"
URL = "OSRC_TOKENROUTER_URL"
DEFAULT_URL = "https://api.tokenrouter.com/v1"
FIX = f"put {KEY}=... into ~/.env, or set it in the environment"
ANSWER_S = 900.0


def plan(task: Task, host: Host) -> Launch | Refused:
    """Plan one question to the gateway. The prompt goes over stdin, the key stays in the environment."""
    refused = refuse_verb(task, "tokenrouter")
    if refused is not None:
        return refused
    base = _base(host)
    if isinstance(base, Refused):
        return base
    key = host.secrets.get(KEY)
    if key is None:
        return Refused(code=RefusalCode.LANE_NOT_READY, message=f"There is no {KEY}.", hint=FIX)
    if task.model is None:
        return Refused(
            code=RefusalCode.BAD_REQUEST,
            message="The tokenrouter lane has no default model.",
            hint=f"name one with -m; the gateway lists them at {base}/models",
        )
    seconds = positive_number(host.environment.get("OSRC_TOKENROUTER_TIMEOUT")) or ANSWER_S
    options: dict[str, str | None] = {"base-url": base, "model": task.model, "answer-s": f"{seconds:g}"}
    options |= {"key-env": KEY, "allow-remote": None}
    notices = (f"effort {task.effort}: only as words in the prompt.",) if task.effort else ()
    planned = launch(task, host, CHAT_MODULE, options, notices=notices)
    return planned if isinstance(planned, Refused) else replace(planned, env_set={**planned.env_set, KEY: key})


def probe(facts: ProbeFacts) -> Readiness:
    """Judge by the key; whether the gateway takes it is only known by asking."""
    base = _base(facts.host)
    if isinstance(base, Refused):
        return Readiness(level=ReadinessLevel.ABSENT, detail=base.message, fix=base.hint)
    if KEY not in facts.host.secrets:
        return Readiness(level=ReadinessLevel.ABSENT, detail=f"there is no {KEY}", fix=FIX)
    return Readiness(level=ReadinessLevel.SIGNED_IN, detail=f"{base}, {KEY} is there")


def _base(host: Host) -> str | Refused:
    base = normal_base(host.environment.get(URL) or DEFAULT_URL)
    if base is None or not (base.startswith("https://") or is_loopback(base)):
        return Refused(
            code=RefusalCode.BAD_CONFIG,
            message=f"{URL} is no address that a key may be sent to: https, or http on this machine.",
            hint=f"unset {URL}, or set it to {DEFAULT_URL}",
        )
    return base


LANE = Lane(
    name="tokenrouter",
    provider="tokenrouter",
    vehicle="tokenrouter",
    summary="Text answers from TokenRouter's gateway, on your key there.",
    homepage="https://www.tokenrouter.com",
    install=f"No program is needed: {FIX}.",
    binary=None,
    verbs={Verb.RUN: Posture.READ_ONLY, Verb.EXPLORE: Posture.READ_ONLY},
    goes_to="TokenRouter, and the host of the model there",
    redirects=("OSRC_TOKENROUTER_URL",),
    billing=TOKENROUTER,
    agentic=False,
    secrets=(KEY,),
    liveness=Liveness(first_output_s=300.0),
    no_resume="its service keeps none",
    no_bundle="a model without tools reads no files",
    plan=plan,
    parser=parser,
    classify=classify,
    probe=probe,
)
