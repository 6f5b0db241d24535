"""Secret values in text: where they are, never what they are.

hits = find(prompt)                       # (Hit(rule="github-token", confidence="high", start=17, end=57),)
clean, count = redact(sentence)           # "... [redacted:github-token] ...", 1
redactor = Redactor((api_key,))           # a stream, cut anywhere
out = redactor.feed(chunk) + redactor.finish()
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from .matching import KEY_HEADER, Confidence, Span, compiled, counted, literals, merged, private_keys, spans_in
from .rules import PRIVATE_KEY

KNOWN_MIN = 6
"""A known value shorter than this is not looked for: it would take ordinary words with it."""

_WINDOW = 64 * 1024
"""Bytes of a line that are looked at together."""

_OVERLAP = 4096
"""A longer line is cut so that a value of up to this many bytes stays whole."""

_KEY_LINES = 4096
"""A private key has no more lines."""

_KEY_LINE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\\"',>|\t\r\n ")
_INLINE_KEY = compiled(r"(?:(?:\\[nr])+[A-Za-z0-9+/=]*)*")
"""A key's body where a line break is written as an escape."""

_ARMOUR = (b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:")
_SEPARATORS = b" \t\"',;"


@dataclass(frozen=True, slots=True)
class Hit:
    """One value was found. It never holds the value itself."""

    rule: str
    confidence: Confidence
    """High: by its own form, it refuses. Low: by the words beside it, it is only counted."""
    start: int
    """Its place in characters."""
    end: int


def find(text: str) -> tuple[Hit, ...]:
    """Return every value in ``text`` that looks like a secret, in order, none overlapping another."""
    data = text.encode("utf-8", "surrogatepass")
    spans = merged([*private_keys(data), *spans_in(data), *counted(data)])
    if len(data) == len(text):
        return tuple(Hit(span.rule, span.confidence, span.start, span.end) for span in spans)
    return tuple(_in_characters(data, spans))


def redact(text: str, known: Known | Iterable[str] = ()) -> tuple[str, int]:
    """Return ``text`` with each secret value replaced by its kind, and how many there were."""
    redactor = Redactor(known)
    data = text.encode("utf-8", "surrogatepass")
    clean = redactor.feed(data) + redactor.finish()
    return (clean.decode("utf-8", "surrogatepass"), redactor.count) if redactor.count else (text, 0)


class Known:
    """Values that were handed to somebody, ready to be looked for: as they are, percent-encoded and inside JSON."""

    def __init__(self, values: Iterable[str]) -> None:
        """Take them; each line of one counts by itself."""
        self.pattern = literals(sorted(_forms(values), key=len, reverse=True))


class Redactor:
    """Replaces known values and whatever looks like a secret in a stream of bytes.

    MUST give the same bytes however the stream is cut. Holds back at most the line that is not yet complete.
    """

    def __init__(self, known: Known | Iterable[str] = (), *, low: bool = True) -> None:
        """``low``: also what may be a sample (a token of JSON, a password in an address, an authorization header)."""
        self._known = (known if isinstance(known, Known) else Known(known)).pattern
        self._low = low
        self._held = b""
        self._key_lines = 0
        self.count = 0
        """How many values were replaced so far."""

    def feed(self, data: bytes) -> bytes:
        """Return what is complete, clean."""
        buffer = self._held + data
        done: list[bytes] = []
        at = 0
        while True:
            line_end = buffer.rfind(b"\n", at, at + _WINDOW + _OVERLAP) + 1
            if not line_end:
                if len(buffer) - at < _WINDOW + _OVERLAP:
                    break
                line_end = at + self._cut(buffer[at : at + _WINDOW + _OVERLAP])
            done.append(self._clean(buffer[at:line_end]))
            at = line_end
        self._held = buffer[at:]
        return b"".join(done)

    def finish(self) -> bytes:
        """Return the rest, clean."""
        held, self._held = self._held, b""
        return self._clean(held)

    def _cut(self, window: bytes) -> int:
        """Return where a line too long to be looked at whole may be cut: never inside a value."""
        cut = max(window.rfind(bytes((byte,)), _WINDOW // 2, _WINDOW) for byte in _SEPARATORS) + 1 or _WINDOW
        headers = (match.span() for match in KEY_HEADER.finditer(window))
        for start, end in (*(span[:2] for span in self._spans(window)), *headers):
            if start < cut < end:
                return int(start or end)
        return cut

    def _spans(self, data: bytes) -> list[Span]:
        known = () if self._known is None else self._known.finditer(data)
        found = (span for span in spans_in(data) if self._low or span.confidence == "high")
        return merged([*(Span(match.start(), match.end(), "known", "high") for match in known), *found])

    def _clean(self, lines: bytes) -> bytes:
        if not self._key_lines and b"PRIVATE KEY" not in lines:
            return self._replaced(lines)
        parts: list[bytes] = []
        at = 0
        while at < len(lines):
            at = self._in_key(lines, at, parts) if self._key_lines else self._outside(lines, at, parts)
        return b"".join(parts)

    def _outside(self, lines: bytes, at: int, parts: list[bytes]) -> int:
        """Clean what comes before the next private key; return where that goes on behind its header."""
        header = KEY_HEADER.search(lines, at)
        if header is None:
            parts.append(self._replaced(lines[at:]))
            return len(lines)
        parts += (self._replaced(lines[at : header.start()]), _mark(PRIVATE_KEY))
        self.count += 1
        self._key_lines = _KEY_LINES
        at = header.end()
        end = _line_end(lines, at)
        if lines.find(b"-----END", at, end) < 0:
            at = _INLINE_KEY.match(lines, at).end()
            if not _is_key(lines[at:end]):
                self._key_lines = 0  # it ends where its line goes on with something else
        return int(at)

    def _in_key(self, lines: bytes, at: int, parts: list[bytes]) -> int:
        """Pass over one line of a private key; return where to go on."""
        end = _line_end(lines, at)
        closing = lines.find(b"-----END", at, end)
        if closing < 0 and (_is_key(lines[at:end]) or lines[at:end].lstrip().startswith(_ARMOUR)):
            self._key_lines -= 1
            return end
        self._key_lines = 0
        if closing < 0:
            parts.append(b"\n")
            return at
        last = lines.find(b"-----", closing + 8, end)
        return last + 5 if last >= 0 else end

    def _replaced(self, data: bytes) -> bytes:
        spans = self._spans(data)
        if not spans:
            return data
        self.count += len(spans)
        parts: list[bytes] = []
        at = 0
        for span in spans:
            parts += (data[at : span.start], _mark(span.rule))
            at = span.end
        parts.append(data[at:])
        return b"".join(parts)


def _line_end(lines: bytes, at: int) -> int:
    """Return where the line ends in which ``at`` lies: behind its break, or before a further key's beginning."""
    end = lines.find(b"\n", at) + 1 or len(lines)
    further = lines.find(b"-----BEGIN", at, end)
    return end if further <= at else further


def _is_key(line: bytes) -> bool:
    """Tell whether a line may be a part of a private key, or is empty."""
    return _KEY_LINE.issuperset(line) and len(line.split()) < 2


def _mark(rule: str) -> bytes:
    return f"[redacted:{rule}]".encode()


def _forms(known: Iterable[str]) -> set[bytes]:
    """Return each line of each value as it may stand in text."""
    lines = {line.strip() for value in known for line in value.splitlines()}
    forms = {
        form
        for line in lines
        if len(line) >= KNOWN_MIN
        for form in (line, quote(line, safe=""), json.dumps(line)[1:-1])
    }
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def _in_characters(data: bytes, spans: Sequence[Span]) -> Iterator[Hit]:
    at = characters = 0
    for span in spans:
        start = characters + len(data[at : span.start].decode("utf-8", "surrogatepass"))
        end = start + len(data[span.start : span.end].decode("utf-8", "surrogatepass"))
        yield Hit(span.rule, span.confidence, start, end)
        at, characters = span.end, end
