"""The last words of one session, read when somebody wants to see them: bounded, cleaned, and nobody's instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lanes.fleet_names import Subject
from ..lanes.framing import strip_controls
from ..lanes.transcripts.formats import FORMATS
from ..lanes.transcripts.tail import MOST_LINES, Tail
from ..state.home import Home
from .fleet_gather import Gatherer
from .fleet_stores import small_file
from .fleet_tail import read_once
from .redaction import clean

_ANSWER = 256 * 1024


def last_lines(row: Mapping[str, Any], home: Home, environ: Mapping[str, str]) -> list[str]:
    """Return the last texts of a row's session, each ``who: text``; empty where none can be read."""
    tail = _tail(row, environ)
    if tail is not None and tail.lines:
        return list(tail.lines)
    return _answer(home, str(row.get("job_id"))) if row.get("owner") == "job" else []


def _tail(row: Mapping[str, Any], environ: Mapping[str, str]) -> Tail | None:
    """Return what a row's transcript tells, read now."""
    transcript = row.get("transcript")
    path = transcript.get("path") if isinstance(transcript, Mapping) else None
    form = FORMATS.get(str(row.get("tool")))
    if not isinstance(path, str) or form is None:
        return None
    if form.kind in {"lines", "text"}:
        return read_once(form, path)
    found = Gatherer(environ, {}).gather((), 0.0, [])
    return next((one.tail for one in found if one.tool == form.tool and one.tail.session_id == row["session_id"]), None)


def _answer(home: Home, job_id: str) -> list[str]:
    """The end of a job's answer."""
    content = small_file(f"{home.root}/jobs/{job_id}/last.txt", _ANSWER) if "/" not in job_id else None
    text = strip_controls((content or b"").decode("utf-8", "replace"))
    return [f"assistant: {line[:300]}" for line in text.splitlines() if line.strip()][-MOST_LINES:]


def subject_of(row: Mapping[str, Any], environ: Mapping[str, str]) -> Subject | None:
    """Return what a session can be named by, with known secrets and what looks like one taken out; None: nothing."""
    tail = _tail(row, environ)
    if tail is None or not (tail.first_user or tail.last_said):
        return None
    return Subject(
        clean(tail.first_user) if tail.first_user else None, clean(tail.last_said) if tail.last_said else None
    )
