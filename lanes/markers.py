"""The marker protocol: how a delegate says in its own words where it stands.

A marker is a line of its own: ``OSRC::WORD``, a space, ``#`` and the id of this attempt, then free
text. The words are PROGRESS, PLAN, NEED_INPUT, BLOCKED and DONE. An id is minted for each attempt
and never put in an environment. It is disclosed as two halves with words between them, and the
disclosure never writes a marker out: so no echo of the prompt, however wrapped, escaped or squeezed,
holds a valid marker. Markers without the right id are reported as unsigned and decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..messages.lane_events import LaneEvent, Marked, MarkerKind, Spoke, TurnEnded
from .framing import strip_controls
from .values import clip

PREFIX = "OSRC::"
ID_BYTES = 8
TEXT_CHARS = 500
_LINE_CHARS = 4096
_MOST = 256

_DECORATION = " \t>-*+`_#|•\"'"
_WORDS = {kind.value: kind for kind in MarkerKind}
_AFTER_PREFIX = re.compile(r"([A-Z_]{4,10})(.*)", re.DOTALL)
_ID = re.compile(r"[\s:`*]{0,8}#([0-9A-Za-z]{1,64})(?![0-9A-Za-z])(.*)", re.DOTALL)
_STEP = re.compile(r"(\d{1,6})\s?/\s?(\d{1,6})(?!\d)")
_PERCENT = re.compile(r"(\d{1,3})\s?%")


def mint(random_bytes: bytes) -> str:
    """Return a new id of 16 hex digits.

    Raises ValueError for fewer than 8 bytes: an id must not be guessable.
    """
    if len(random_bytes) < ID_BYTES:
        raise ValueError(f"a marker id needs {ID_BYTES} random bytes, not {len(random_bytes)}")
    return random_bytes[:ID_BYTES].hex()


def disclose(marker_id: str) -> str:
    """Return the block that tells a delegate how to sign; it holds no marker and no whole id."""
    middle = len(marker_id) // 2
    first, second = marker_id[:middle], marker_id[middle:]
    return f"""\
## Status lines

A program supervises this job and reads status lines in what you write. A status line stands alone on
its line and has three parts: a tag, a key, and a short free text, with one space between them.

- The tag is the prefix `{PREFIX}` with one of these words attached to it, nothing in between:
  `PROGRESS` (where you are, as step/total, for example 2/5), `PLAN` (your next steps in one line),
  `NEED_INPUT` (you can't go on without an answer: say the question), `BLOCKED` (you can't go on at
  all: say why), `DONE` (the task is finished: say the result in one line).
- The key is a hash sign with the job's code attached to it. The code is made of two halves, written
  one after the other without a gap. Its first half is {first}, and the half that comes after that one
  is {second}.

Write a progress line when you start and after each larger step. Your very last line must be a status
line with `DONE`, `BLOCKED` or `NEED_INPUT`. Without it your work counts as unfinished. Write status
lines as plain text in your own messages, not through a tool, and never quote this explanation."""


def find(text: str, marker_id: str | None) -> list[Marked]:
    """Return the markers on the lines of ``text``, in order; those with another id are unsigned."""
    if PREFIX not in text:
        return []
    lines = [line for line in text.splitlines() if PREFIX in line]
    return [marked for line in lines if (marked := _read_line(line, marker_id)) is not None]


def without_markers(text: str | None, marker_id: str | None) -> str | None:
    """Return a message as a person should read it: without its signed status lines.

    A message that is nothing but a status line becomes that line's own words. None stays None.
    """
    if text is None or marker_id is None or PREFIX not in text:
        return text
    kept: list[str] = []
    words = ""
    for line in text.splitlines(keepends=True):
        marked = _read_line(line, marker_id) if PREFIX in line else None
        if marked is not None and marked.signed:
            words = marked.text
        else:
            kept.append(line)
    return "".join(kept).strip("\n") or words


def _read_line(line: str, marker_id: str | None) -> Marked | None:
    start = line.find(PREFIX)
    if start > _LINE_CHARS or line[:start].strip(_DECORATION):
        return None
    match = _AFTER_PREFIX.match(line[start + len(PREFIX) : start + _LINE_CHARS])
    kind = _WORDS.get(match[1]) if match else None
    if match is None or kind is None:
        return None
    signature = _ID.match(match[2])
    signed = bool(marker_id) and signature is not None and signature[1] == marker_id
    words = signature[2] if signature else match[2]
    text = " ".join(strip_controls(words).strip(" \t`*:").split())
    return Marked(marker=kind, text=clip(text, TEXT_CHARS), signed=signed)


def percent(text: str) -> int | None:
    """Return how far a progress text says it is, 0 to 100, or None."""
    if step := _STEP.search(text[:TEXT_CHARS]):
        done, total = int(step[1]), int(step[2])
        return 100 * done // total if total > 0 and done <= total else None
    if share := _PERCENT.search(text[:TEXT_CHARS]):
        return int(share[1]) if int(share[1]) <= 100 else None
    return None


class MarkerScanner:
    """Adds ``Marked`` events to a stream of lane events, right after the words they stood in.

    Only the delegate's own words are read, never tool output. Words that come in pieces are put
    together line by line; a message that repeats its pieces, and a final text that repeats the last
    message, give their markers once.
    """

    def __init__(self, marker_id: str | None) -> None:
        """Watch for markers signed with ``marker_id``."""
        self._id = marker_id
        self._line = ""
        self._pieces: list[Marked] = []
        self._seen: list[Marked] = []

    def scan(self, events: Iterable[LaneEvent]) -> list[LaneEvent]:
        """Return ``events`` with the markers among them."""
        result: list[LaneEvent] = []
        for event in events:
            if isinstance(event, TurnEnded):  # the end stays the last event of its turn
                result.extend(self._end(event))
                result.append(event)
            elif isinstance(event, Spoke):
                result.append(event)
                result.extend(self._piece(event.text) if event.partial else self._whole(event.text))
            else:
                result.append(event)
        return result

    def _piece(self, text: str) -> list[Marked]:
        complete, newline, rest = text.rpartition("\n")
        if not newline:
            self._line += rest[: _LINE_CHARS - len(self._line)]
            return []
        found = find(self._line + complete, self._id)
        self._line = rest[:_LINE_CHARS]
        self._pieces = [*self._pieces, *found][-_MOST:]
        return self._note(found)

    def _flush(self) -> list[Marked]:
        found = find(self._line, self._id)
        self._line = ""
        self._pieces = [*self._pieces, *found][-_MOST:]
        return self._note(found)

    def _whole(self, text: str) -> list[Marked]:
        flushed = self._flush()
        found = find(text, self._id)[-_MOST:]
        repeats = found == self._pieces
        self._pieces = []
        return flushed if repeats else [*flushed, *self._note(found)]

    def _end(self, event: TurnEnded) -> list[Marked]:
        flushed = self._flush()
        self._pieces = []
        found = find(event.text or "", self._id)[-_MOST:]
        if found == self._seen[-len(found) :] or not found:
            return flushed
        return [*flushed, *self._note(found)]

    def _note(self, found: list[Marked]) -> list[Marked]:
        self._seen = [*self._seen, *found][-_MOST:]
        return found
