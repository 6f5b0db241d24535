"""The rules at work: where in some bytes a secret value stands.

The engine is RE2: linear in the length, whatever the bytes are. It reads bytes, so that no encoding hides anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import re2

from .rules import ANCHORED, COUNTED, HIGH, PRIVATE_KEY, PRIVATE_KEY_HEADER, PRIVATE_KEY_TEXT, REDACTED_LOW

Confidence = Literal["high", "low"]

_ESCAPED = r"\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u00[0-9a-f]{2}|\[[0-9;:]{0,16}[mK]"
"""Escapes that end in what could be a token's character; the last is a terminal's colour (grep puts a K behind it)."""
_BEFORE = f"(?:^|[^A-Za-z0-9]|{_ESCAPED})"
"""What may stand before a token: what can't be part of one, or such a character escaped."""

_BEFORE_WEAK = f"(?:^|[^A-Za-z0-9+/_-]|://|{_ESCAPED})"
"""The same for a token whose beginning is short, or letters alone: long texts in base64 have such ones by chance."""

_KEY_SPAN = 64 * 1024
"""Longest private key that is looked for, in bytes."""

_KEY_BODY = 64
"""A private key's body has at least so many characters; a header alone is only talk of one."""

_REACH = 160
"""How far around its rare part a token is looked for, in bytes."""

_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_FILLERS = (
    b"example",
    b"placeholder",
    b"redacted",
    b"changeme",
    b"abcdefgh",
    b"12345678",
    b"xxxxxx",
    b"your_",
    b"your-",
)


class Span(NamedTuple):
    """A hit in bytes."""

    start: int
    end: int
    rule: str
    confidence: Confidence


def spans_in(data: bytes) -> Iterator[Span]:
    """Yield what must not be written down, private keys apart. No span crosses a line break."""
    at = 0
    while (beginning := _BEGINNINGS.search(data, at)) is not None:
        start = max(beginning.start(1), beginning.start(2))
        at = start + 1
        for kind, whole in (*_BY_BEGINNING.get(data[start : start + 2], ()), *_BY_BEGINNING[b""]):
            match = _whole(whole).match(data, start)
            if match is not None:
                at = match.end()
                if not is_filler(data[start:at]):
                    yield Span(start, at, kind, "high")
                break
    for anchor in _ANCHORS.finditer(data):
        yield from _around(data, anchor.start(), anchor.lastindex - 1)
    yield from _grouped(_REDACTED_LOW, REDACTED_LOW, data)


def _around(data: bytes, at: int, number: int) -> Iterator[Span]:
    """Yield the token whose rare part starts at ``at``."""
    first = max(0, at - _REACH)
    kind, _, whole = ANCHORED[number]
    for match in _whole(f"{_BEFORE}({whole})").finditer(data[first : at + _REACH]):
        start, end = match.span(1)
        if start <= at - first < end and not is_filler(data[first + start : first + end]):
            yield Span(first + start, first + end, kind, "high")


def counted(data: bytes) -> Iterator[Span]:
    """Yield what is said to be a secret by the word beside it."""
    yield from (span for span in _grouped(_COUNTED, COUNTED, data) if not is_filler(data[span.start : span.end]))


def private_keys(data: bytes) -> Iterator[Span]:
    """Yield each private key from its header to its end; a header without a body is none."""
    headers = [match.span() for match in KEY_HEADER.finditer(data)]
    for place, (start, head_end) in enumerate(headers):
        limit = min(head_end + _KEY_SPAN, headers[place + 1][0] if place + 1 < len(headers) else len(data))
        closing = data.find(b"-----END", head_end, limit)
        body = data[head_end : closing if closing >= 0 else limit]
        if closing < 0:
            body = body[: _KEY_TEXT.match(body).end()]
        if sum(byte in _BASE64 for byte in body) < _KEY_BODY or is_filler(body):
            continue
        end = head_end + len(body)
        if closing >= 0:
            last = data.find(b"-----", closing + 8, closing + 120)
            end = last + 5 if last >= 0 else closing + 8
        yield Span(start, end, PRIVATE_KEY, "high")


def is_filler(value: bytes) -> bool:
    """Tell whether ``value`` is what documentation and fixtures put where a secret would stand."""
    low = value.lower()
    return len(set(low)) < 8 or filler_word(low)


def filler_word(low: bytes) -> bool:
    """Tell whether a word stands in this lower-case value that no random text has."""
    return any(filler in low for filler in _FILLERS)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones made one: named by the one that starts first, high if one is."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.confidence == "low", -span.end)):
        if kept and span.start < kept[-1].end:
            last = kept[-1]
            stronger = span if span.confidence == "high" and last.confidence == "low" else last
            kept[-1] = Span(last.start, max(last.end, span.end), stronger.rule, stronger.confidence)
        else:
            kept.append(span)
    return kept


def literals(values: Sequence[bytes]) -> Any | None:  # noqa: ANN401  google-re2 has no types
    """Return a pattern that finds any of ``values``, the first that fits; None without any."""
    return compiled(b"|".join(map(_escaped, values))) if values else None


def _escaped(value: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in value)


def compiled(pattern: str | bytes) -> Any:  # noqa: ANN401  google-re2 has no types
    """Return ``pattern`` for bytes."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 8 << 20
    options.log_errors = False
    return re2.compile(pattern.encode("ascii") if isinstance(pattern, str) else pattern, options)


@cache
def _whole(pattern: str) -> Any:  # noqa: ANN401  google-re2 has no types
    """Return a row's pattern, compiled when it is first needed: most never are."""
    return compiled(pattern)


def _beginnings() -> Any:  # noqa: ANN401  google-re2 has no types
    """Return the pattern that finds where a token may begin: small, so that it is one quick pass over any text."""
    plain = {start: re.sub(r"\(\?:[^)]*\)\?|[()?:]", "", re.sub(r"\[[^\]]*\]", "x", start)) for _, start, _ in HIGH}
    rare = [start for start, text in plain.items() if len(text) >= 4 and not text.isalnum()]
    weak = [start for start in plain if start not in rare]
    return compiled(f"{_BEFORE}({'|'.join(rare)})|{_BEFORE_WEAK}({'|'.join(weak)})")


def _by_beginning() -> dict[bytes, list[tuple[str, str]]]:
    """Return the rows by their first two characters; those that begin with a choice are under none."""
    found: dict[bytes, list[tuple[str, str]]] = {b"": []}
    for kind, start, rest in HIGH:
        key = start[:2].encode() if start[:2].isalnum() and start[2:3] not in "?{" else b""
        found.setdefault(key, []).append((kind, start + rest))
    return found


def _grouped(pattern: Any, rows: Sequence[tuple[str, str]], data: bytes) -> Iterator[Span]:  # noqa: ANN401  untyped
    for match in pattern.finditer(data):
        number = match.lastindex
        start, end = match.span(number)
        yield Span(start, end, rows[number - 1][0], "low")


_BEGINNINGS = _beginnings()
_BY_BEGINNING = _by_beginning()
_ANCHORS = compiled("|".join(f"({anchor})" for _, anchor, _ in ANCHORED))
_REDACTED_LOW = compiled("|".join(pattern for _, pattern in REDACTED_LOW))
_COUNTED = compiled("|".join(pattern for _, pattern in COUNTED))
KEY_HEADER = compiled(PRIVATE_KEY_HEADER)
_KEY_TEXT = compiled(PRIVATE_KEY_TEXT)
