"""What a failed check says: its fingerprint, by which the same failure is known again, and what a delegate is told.

    fingerprint("exit 1", output) == fingerprint("exit 1", later_output)   # the same failure, seen twice
    feedback("exit 1", output)                                             # bounded, without control sequences

What changes from run to run though the failure is the same (durations, timestamps, temporary paths, process ids,
random ids, addresses, ports, seeds) is taken out of the fingerprint; counts stay, because "2 failed" after "3 failed"
is progress. So is the order of lines: tests that run in parallel, or shuffled, print them anyhow. Linear time.
"""

from __future__ import annotations

import hashlib
import re

from .framing import strip_controls

READ = 64 * 1024
"""Characters of the output's end that count."""
LINE = 2000
"""Characters of a line that count."""
FEEDBACK = 6000
"""Characters of the output that a delegate is shown at most."""

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b0x[0-9a-fA-F]{1,16}\b"), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d{1,2}/\d{1,2}/\d{2,4}\b"), "<time>"),
    (re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [A-Z0-9][a-z0-9]{1,2} [A-Z0-9][a-z0-9]{0,2}\b"), "<time>"),
    (re.compile(r"\b\d{1,3}:\d\d:\d\d(?:[.,]\d{1,9})?\b"), "<time>"),
    (re.compile(r"\b1[0-9]{9}(?:\.\d{1,9}|[0-9]{3}|[0-9]{6}|[0-9]{9})?\b"), "<time>"),
    (
        re.compile(
            r"\b\d{1,9}(?:\.\d{1,9})? ?"
            r"(?:ns|us|µs|μs|ms|millis|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
        ),
        "<duration>",
    ),
    (re.compile(r"(?:<duration> ?){2,}"), "<duration>"),
    (re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)(?:/[^\s:;,'\")\]}>]{0,400})?"), "<temp>"),
    (re.compile(r"\b(?:pytest-of-[\w.-]{1,64}/)?pytest-\d{1,9}\b"), "<temp>"),
    (re.compile(r"\btmp[A-Za-z0-9_]{6,10}\b"), "<temp>"),
    (re.compile(r"\b([Pp][Ii][Dd]|[Pp]rocess|[Tt]hread|[Ww]orker)([ =:#-]{1,3})\d{1,20}\b"), r"\1\2<n>"),
    (re.compile(r"\b((?:random[_-]?)?seed)([ =:]{1,3})\d{1,20}\b", re.IGNORECASE), r"\1\2<n>"),
    (re.compile(r"\b((?:localhost|\d{1,3}(?:\.\d{1,3}){3}|::1\]?)):\d{2,5}\b"), r"\1:<port>"),
    (re.compile(r"\b(port)([ =:]{1,3})\d{2,5}\b", re.IGNORECASE), r"\1\2<port>"),
    (re.compile(r"\b(?=[0-9a-f]{0,39}[a-f])(?=[a-f]{0,39}[0-9])[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(r"[=\-_*~#.]{4,}"), "---"),
    (re.compile(r"[ \t]+"), " "),
)
"""Pattern → what stands for it, in this order. Every quantifier is bounded or over one class: linear."""


def normalised(output: str) -> str:
    """Return what the output says of the failure, without what changes from run to run; a line each, sorted."""
    lines = set()
    for raw in output[-READ:].split("\n"):
        line = strip_controls(raw.rstrip("\r").rpartition("\r")[2])[:LINE]
        for pattern, word in _RULES:
            line = pattern.sub(word, line)
        if stripped := line.strip():
            lines.add(stripped)
    return "\n".join(sorted(lines))


def fingerprint(ended: str, output: str) -> str:
    """Return 16 hexadecimal digits that name a failure: how the check ended (``exit 1``), and what it printed."""
    said = f"{ended}\n{normalised(output)}"
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def feedback(ended: str, output: str, limit: int = FEEDBACK) -> str:
    """Return what a delegate is told of a failed check: how it ended, and the beginning and the end of its output."""
    lines = (strip_controls(line.rstrip("\r").rpartition("\r")[2])[:LINE] for line in output[-READ:].split("\n"))
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    if len(text) > limit:
        head = limit // 4
        text = f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[head - limit :]}"
    return f"{ended}\n{text}" if text else f"{ended}, and printed nothing"


def last_line(output: str, limit: int = 200) -> str:
    """Return the last line that says something, for a person; empty where there is none."""
    for raw in reversed(output[-READ:].split("\n")):
        line = " ".join(strip_controls(raw.rstrip("\r").rpartition("\r")[2]).split())
        if any(character.isalnum() for character in line):
            return line[:limit]
    return ""
