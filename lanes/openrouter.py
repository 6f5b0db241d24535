"""What the lanes over OpenRouter share: where it is, its key, how ready it is.

Public facts (2026-11): ``https://openrouter.ai/api`` speaks Anthropic Messages, ``.../v1`` OpenAI Responses
and Chat Completions; ``.../v1/models`` lists models with prices; ``.../v1/generation?id=`` has a receipt.
"""

from __future__ import annotations

from dataclasses import replace

from ..messages.lane_events import FailureKind
from ..messages.refusals import RefusalCode, Refused
from .contract import Host, ProbeFacts, Readiness, ReadinessLevel
from .failures import Phrases
from .loopback import is_loopback, normal_base

KEY = "OPENROUTER_API_KEY"
URL = "OSRC_OPENROUTER_URL"
DEFAULT_URL = "https://openrouter.ai/api"
DEFAULT_MODEL = "z-ai/glm-5.2"
FIX = f"put {KEY}=... into ~/.env, or set it in the environment (https://openrouter.ai/keys)"

PHRASES: Phrases = (
    (
        FailureKind.PLAN_LIMIT,
        (
            "insufficient credits.",  # public facts, 2026-11: HTTP 402
            "request requires more credits",
            "key limit exceeded",
            "rate limit exceeded: free-models-per-day",
        ),
    ),
    (
        FailureKind.MODEL_GONE,
        ("no endpoints found for ?.", "no endpoints found matching your", "? is not a valid model id"),
    ),
    (FailureKind.AUTH, ("no auth credentials found.", "user not found.")),
)
"""OpenRouter's own error sentences, as both vehicles pass them on."""


def account(host: Host) -> tuple[str, str] | Refused:
    """Return OpenRouter's base URL and the key, or why they can't be used."""
    base = base_url(host.environment.get(URL))
    if isinstance(base, Refused):
        return base
    key = host.secrets.get(KEY)
    if key is None:
        return Refused(code=RefusalCode.LANE_NOT_READY, message=f"There is no {KEY}.", hint=FIX)
    return base, key


def base_url(setting: str | None) -> str | Refused:
    """Return the base URL without ``/v1``. A key is only sent encrypted, or to this machine."""
    base = normal_base(setting or DEFAULT_URL)
    if base is None or not (base.startswith("https://") or is_loopback(base)):
        return Refused(
            code=RefusalCode.BAD_CONFIG,
            message=f"{URL} is no address that a key may be sent to: https, or http on this machine.",
            hint=f"unset {URL}, or set it to {DEFAULT_URL}",
        )
    return base.removesuffix("/v1")


def with_key(readiness: Readiness, facts: ProbeFacts) -> Readiness:
    """Return a vehicle's readiness as that of its OpenRouter lane: a sign-in is no help there, the key is."""
    if readiness.level in (ReadinessLevel.ABSENT, ReadinessLevel.ANSWERING):
        return readiness
    found = account(facts.host)
    if not isinstance(found, Refused):
        return replace(readiness, signed_in=True)
    if readiness.tested is None:  # what its program lacks comes first
        return replace(readiness, signed_in=False)
    return replace(readiness, level=ReadinessLevel.INSTALLED, detail=found.message, fix=found.hint, signed_in=False)
