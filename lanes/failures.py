"""Why a turn failed, told from words. The words are data, seen on the versions named beside them.

In doubt it is the task: a task failure is never retried elsewhere, so a wrong guess that way costs
least. Everything here is substring search and short bounded patterns over a few kilobytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..messages.lane_events import FailureKind, TurnEnded
from .contract import Ending
from .text import ending_kind

Phrases = Sequence[tuple[FailureKind, Sequence[str]]]

_EXAMINED = 8 * 1024

COMMON: Phrases = (
    (
        FailureKind.AUTH,
        (
            "invalid api key",
            "incorrect api key",
            "authentication_error",
            "authentication failed",
            "authentication required",
            "invalid authentication",
            "not logged in",
            "please run /login",
            "401 unauthorized",
            "403 forbidden",
            "token has expired",
        ),
    ),
    (
        FailureKind.PLAN_LIMIT,
        (
            "hit your usage limit",  # codex 0.171.0
            "usage limit reached",
            "usage limit exceeded",
            "usage limit has been reached",  # a ChatGPT plan's own sentence, as droid 0.215.0 and pi 0.73.1 pass it on
            "exceeded your current quota",  # OpenAI's insufficient_quota, passed on likewise
            "quota exceeded. check your plan",  # codex 0.171.0, insufficient_quota
            "5-hour limit reached",
            "weekly limit reached",
            "limit will reset at",
            "out of extra usage",
        ),
    ),
    (
        FailureKind.MODEL_GONE,
        (
            "model not found",
            "model_not_found",
            "does not exist or you do not have access",
            "no such model",
            "unknown model",
        ),
    ),
    (
        FailureKind.OUTPUT_LIMIT,
        ("output token maximum", "max_output_tokens", "output token limit", "maximum output length"),
    ),
    (FailureKind.RATE_LIMIT, ("rate limit", "rate_limit", "too many requests", "request rejected (429)")),
    (
        FailureKind.TRANSPORT,
        (
            "connection refused",
            "connection reset",
            "connection error",
            "connection closed",
            "could not connect",
            "could not resolve host",
            "name resolution",
            "getaddrinfo",
            "enotfound",
            "econnrefused",
            "econnreset",
            "etimedout",
            "network is unreachable",
            "network error",
            "socket hang up",
            "error sending request",
            "stream disconnected",
            "stream closed before",
            "unable to connect",
            "tls handshake",
            "overloaded",
            "service unavailable",
            "bad gateway",
            "gateway timeout",
            "internal server error",
            "request timed out",
            "operation timed out",
        ),
    ),
)

_HIT_LIMIT = re.compile(r"hit your [^.\n]{0,40}limit")
_STATUS = re.compile(r"(?:status|error|rejected|http|code)[ :=(/]{0,3}(?:code )?(\d{3})(?!\d)")

BY_STATUS: Mapping[int, FailureKind] = {
    401: FailureKind.AUTH,
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
    """Return the HTTP error status that a sentence names, or None."""
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
    for kind, phrases in (*extra, *COMMON):
        if any(phrase in words for phrase in phrases):
            return kind
        if kind is FailureKind.PLAN_LIMIT and _HIT_LIMIT.search(words):
            return kind
    return by_status(status_in(words))


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
