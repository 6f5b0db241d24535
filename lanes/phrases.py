"""Phrases that tell why a turn failed, found where a program complains and not where somebody talks of it.

A delegate's output is full of words like "rate limit", "timeout" and "API key" that are about the code
it works on. So a phrase counts only where a line *opens* with it, after what CLIs put in front of a
provider's sentence (``Error:``, ``[API Error: 429 ``, ``unexpected status 401 Unauthorized: ``) or as a
string of an error object. How a phrase is written, all in lower case:

    "you've hit your * limit"   ``*`` stands for a few words of the same line
    "no model called ?"         ``?`` stands for one word
    "connection refused."       a final ``.``: nothing follows, or an ``Error:`` stood in front and the clause ends
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..messages.vocabulary import FailureKind

Phrases = Sequence[tuple[FailureKind, Sequence[str]]]

_DEPTH = 8
_QUOTED = ("  ", "\t")
"""A line that is set in belongs to somebody else's output: a test report, a trace, a quotation."""
_LINES = 200
_STRINGS = 64

_REASONS = (
    "bad request|unauthorized|payment required|forbidden|not found|request timeout|conflict|too many requests"
    "|internal server error|bad gateway|service unavailable|gateway timeout|overloaded"
)
_LEAD = re.compile(
    r"[ \t>!*\[('\"`\u00d7\u2716\u2717\u2022]+"
    r"|(?:api |http |fatal |provider |request )?error:[ \t]*(?!\d)"
    r"|(?:fatal|failed):[ \t]*"
    r"|(?:(?:api error:|unexpected status|error code:|last error:|error:)[ ])?"
    rf"[45]\d\d(?:[ ](?:{_REASONS}))?(?:[ ]-|:)?[ ]"
    # Codex 0.171.0, Copilot CLI 1.0.102, what the qwen lane says of a retry it does not wait for, Cline 3.0.65.
    r"|request rejected \([45]\d\d\)[ ]\u00b7[ ]"  # Claude Code 2.1.332, in front of a gateway's words
    r"|falling back from websockets to https transport\.[ ]"
    r"|failed to get response from the ai model; retried [^\n]{0,80}?last error:[ ]"
    r"|qwen code would go on retrying:[ ]"
    r"|inference_cap_error:[ ]"
    r"|(?:the|your|this|sorry,|claude ai|openai|anthropic)[ ]"
)
_COMPLAINT = re.compile(r"error:|[45]\d\d|last error:")
_OBJECT = re.compile(r"\{\s*(?:\"error\"|\"type\"\s*:\s*\"error\"|'error')")
_STRING = re.compile(r"[\"'](?:message|type|code|status|error|reason)\\?[\"']\s*:\s*\\?[\"']")
_END = r"(?=[ ]*(?:$|[.,:;!)\]\"'\u00b7|(]))"
_LAST = r"(?=[ \t.!)\]\"']*(?:$|[\u00b7|]))"

_WILD = {"*": "[^\n]{1,80}?", "?": "[^\\s]{1,120}?"}

_STRONG = re.compile(
    r"(?:api error:|unexpected status|exceeded retry limit, last status:|request rejected)[ (]{1,2}(\d{3})(?!\d)"
)
_WEAK = re.compile(
    r"(?:(?:http|unexpected server) )?(?:status|error)(?: code)?[:=]?[ (]{0,2}(\d{3})(?!\d)"
    rf"(?:[ ](?:{_REASONS}))?(?=[ ]*(?:$|[:,;)\]{{]|- )| from upstream)"
    rf"|http[ ](\d{{3}})(?!\d)(?:[ ](?:{_REASONS}))?(?=[ ]*(?:$|[:,;)\]{{]|- ))"
)


def find(words: str, phrases: Phrases) -> FailureKind | None:
    """Return the first kind in ``phrases`` of which ``words`` (lower case) complains, or None."""
    places = tuple(_clauses(words))
    for kind, of_kind in phrases:
        loose, strict = _compiled(tuple(of_kind))
        for line, place, complains in places:
            if loose.match(line, place) or (complains and strict[0].match(line, place)):
                return kind
            if not complains and strict[1].match(line, place):
                return kind
    return None


def status(words: str) -> int | None:
    """Return the HTTP error status of which ``words`` (lower case) complains, or None."""
    for line, place, _complains in _clauses(words):
        match = _STRONG.match(line, place) or _WEAK.match(line, place)
        number = int(next(group for group in match.groups() if group)) if match else 0
        if 400 <= number <= 599:
            return number
    return None


def _clauses(words: str) -> Iterator[tuple[str, int, bool]]:
    """Yield each place where a complaint may open: its line, where in it, and whether an error lead came before."""
    for line in words.splitlines()[-_LINES:]:
        if line.startswith(_QUOTED):
            continue
        place, complains = 0, False
        yield line, place, complains
        for _ in range(_DEPTH):
            if _OBJECT.match(line, place):
                for found, match in enumerate(_STRING.finditer(line, place)):
                    if found < _STRINGS:
                        yield line, match.end(), True
                break
            lead = _LEAD.match(line, place)
            if lead is None:
                break
            complains = complains or _COMPLAINT.search(lead[0]) is not None
            place = lead.end()
            yield line, place, complains


@lru_cache(maxsize=256)
def _compiled(of_kind: tuple[str, ...]) -> tuple[re.Pattern[str], tuple[re.Pattern[str], re.Pattern[str]]]:
    loose = "|".join(_pattern(phrase) for phrase in of_kind if not phrase.endswith("."))
    strict = "|".join(_pattern(phrase[:-1]) for phrase in of_kind if phrase.endswith("."))
    never = "(?!)"
    return re.compile(loose or never), (
        re.compile(f"(?:{strict}){_END}" if strict else never),
        re.compile(f"(?:{strict}){_LAST}" if strict else never),
    )


def _pattern(phrase: str) -> str:
    return "".join(_WILD.get(part) or re.escape(part) for part in re.split("([*?])", phrase))
