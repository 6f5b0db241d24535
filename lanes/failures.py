"""Why a turn failed, told from words. The words are data, seen on the versions named beside them.

In doubt it is the task: a task failure is never retried elsewhere, so a wrong guess that way costs
least. How phrases are written and where they count: ``phrases.py``. Everything here is short bounded
patterns over a few kilobytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..messages.vocabulary import FailureKind
from . import phrases

if TYPE_CHECKING:
    from ..messages.lane_events import TurnEnded
    from .contract import Ending

Phrases = phrases.Phrases

_EXAMINED = 8 * 1024

COMMON: Phrases = (
    (
        FailureKind.AUTH,
        (
            "invalid api key.",  # Claude Code 2.1.332
            "incorrect api key provided",
            "authentication_error",
            "authentication failed.",
            "authentication failed with provider at",  # Copilot CLI 1.0.102
            "authentication required.",
            "invalid authentication.",
            "invalid authentication credentials",
            "not logged in.",
            "please run /login.",
            "401 unauthorized.",
            "403 forbidden.",
            "token has expired.",
            "oauth token has expired.",
        ),
    ),
    (
        FailureKind.PLAN_LIMIT,
        (
            "you've hit your * limit.",
            "you've hit your usage limit",  # codex 0.171.0
            "usage limit reached.",
            "usage limit reached for * your limit will reset at",  # z.ai's coding plan, public facts, 2026-11
            "usage limit exceeded.",
            "usage limit has been reached.",  # a ChatGPT plan's own sentence, as droid 0.215.0 and pi 0.73.1 pass it on
            "you exceeded your current quota",  # OpenAI's insufficient_quota, passed on likewise
            "quota exceeded. check your plan",  # codex 0.171.0, insufficient_quota
            "5-hour limit reached.",
            "weekly limit reached.",
            "limit will reset at ?.",
            "limit will reset at 2",
            "limit reached. your limit will reset at",
            "you're out of extra usage",
        ),
    ),
    (
        FailureKind.MODEL_GONE,
        (
            "model not found.",
            "model_not_found",
            "model ? not found.",
            "model ? does not exist.",
            "model ? does not exist or you do not have access",
            "no such model.",
            "no such model:",
            "unknown model.",
            "unknown model:",
            "there's an issue with the selected model",  # Claude Code 2.1.332
        ),
    ),
    (
        FailureKind.OUTPUT_LIMIT,
        (
            "claude's response exceeded the * output token maximum",
            "response exceeded the * output token maximum",
            "max_output_tokens.",
            "output token limit reached.",
            "output token limit exceeded.",
            "maximum output length reached.",
        ),
    ),
    (
        FailureKind.RATE_LIMIT,
        (
            "rate limit reached.",
            "rate limit reached for",
            "rate limit reached. please try again",
            "rate limit exceeded.",
            "rate_limit_error",
            "rate_limit_exceeded.",
            "too many requests.",
            "request rejected (429)",
            "request would exceed * rate limit",
            "exceeded retry limit, last status: 429",  # codex 0.171.0
        ),
    ),
    (
        FailureKind.TRANSPORT,
        (
            "connection refused.",
            "connection reset.",
            "connection reset by peer.",
            "connection error.",
            "connection closed.",
            "connection closed mid-response",
            "could not connect.",
            "could not connect to local model provider at",  # Copilot CLI 1.0.102
            "could not resolve host.",
            "temporary failure in name resolution.",
            "getaddrinfo enotfound",
            "getaddrinfo eai_again",
            "connect econnrefused",
            "connect etimedout",
            "read econnreset",
            "read etimedout",
            "econnrefused.",
            "econnreset.",
            "etimedout.",
            "network is unreachable.",
            "network error.",
            "fetch failed.",
            "fetch failed: connect",
            "fetch failed: econn",
            "fetch failed: etimedout",
            "fetch failed: getaddrinfo",
            "socket hang up.",
            "error sending request for url",
            "stream disconnected before completion",
            "stream closed before response.completed",
            "unable to connect to api",
            "unable to connect.",
            "tls handshake eof.",
            "overloaded_error",
            "overloaded.",
            "repeated 529 overloaded",
            "model is overloaded.",
            "service unavailable.",
            "bad gateway.",
            "gateway timeout.",
            "internal server error.",
            "request timed out.",
            "operation timed out.",
        ),
    ),
)

_STATUS = re.compile(r"(?:status|error|rejected|http|code)[ :=(/]{0,3}(?:code )?(\d{3})(?!\d)")

BY_STATUS: Mapping[int, FailureKind] = {
    401: FailureKind.AUTH,
    402: FailureKind.PLAN_LIMIT,
    403: FailureKind.AUTH,
    404: FailureKind.MODEL_GONE,
    408: FailureKind.TRANSPORT,
    409: FailureKind.TRANSPORT,
    425: FailureKind.TRANSPORT,
    429: FailureKind.RATE_LIMIT,
}


def normal(text: str) -> str:
    """Return words in the form that phrases are written in: lower case, straight apostrophes."""
    return text[-_EXAMINED:].lower().replace("\u2019", "'").replace("\u2018", "'")


def by_status(status: int | None) -> FailureKind | None:
    """Return what an HTTP status of a model request says, or None."""
    if status is None:
        return None
    return FailureKind.TRANSPORT if 500 <= status <= 599 else BY_STATUS.get(status)


def status_in(text: str) -> int | None:
    """Return the HTTP error status that a CLI's own sentence about a request names anywhere, or None."""
    match = _STATUS.search(normal(text))
    status = int(match[1]) if match else None
    return status if status is not None and 400 <= status <= 599 else None


def leading_status(text: str) -> int | None:
    """Return the HTTP error status that stands in front of a provider's own words, or None.

    Clients on OpenAI's JavaScript library write ``429 Rate limit reached``.
    """
    head = text.lstrip()[:4]
    status = int(head[:3]) if head[:3].isascii() and head[:3].isdigit() and not head[3:].isdigit() else None
    return status if status is not None and 400 <= status <= 599 else None


def by_words(text: str, extra: Phrases = ()) -> FailureKind | None:
    """Return what a CLI's own error sentence says, or None. Plan limits outrank bare statuses."""
    words = normal(text)
    return phrases.find(words, (*extra, *COMMON)) or by_status(phrases.status(words))


def by_provider(said: str, extra: Phrases = ()) -> FailureKind | None:
    """Return what a provider's answer says where a CLI passes it on behind its HTTP status, or None.

    A spent plan outranks the status: it comes as an ordinary 429.
    """
    told = by_words(said, extra) if said else None
    if told is FailureKind.PLAN_LIMIT:
        return told
    return by_status(leading_status(said)) or told


def classify(ending: Ending, extra: Phrases = ()) -> FailureKind:
    """Return why a turn failed; the body of most lanes' ``classify``.

    The CLI's own final event comes first, then how the process ended, then its words, then the
    statuses it was retrying on.
    """
    from ..messages.lane_events import TurnEnded  # noqa: PLC0415 - a session's holder uses the words above without it

    turn = ending.turn if isinstance(ending.turn, TurnEnded) else None
    if ending.exit.error is not None:
        return FailureKind.LAUNCH
    if turn is None or turn.synthetic:
        return _without_final(ending, turn, extra)
    if turn.ok:
        return FailureKind.NONE
    if turn.failure not in (FailureKind.NONE, FailureKind.TASK):
        return turn.failure
    return by_words(turn.message or "", extra) or FailureKind.TASK


def _without_final(ending: Ending, turn: TurnEnded | None, extra: Phrases) -> FailureKind:
    """Classify an ending whose turn had no final event of the CLI's own."""
    from .text import ending_kind  # noqa: PLC0415 - as above

    if turn is not None and turn.ok:
        return FailureKind.NONE
    if turn is not None and turn.failure not in (FailureKind.NONE, FailureKind.TASK):
        return turn.failure
    ended = ending_kind(ending.exit)
    if ended is not FailureKind.TASK:
        return ended
    told = by_words((turn.message or "") if turn is not None else "", extra) or by_words(ending.tail, extra)
    retried = by_status(ending.retries[-1]) if ending.retries else None
    return told or retried or FailureKind.TASK
