"""The last words of one session, read when somebody wants to see them: bounded, cleaned, and nobody's instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lanes.framing import strip_controls
from ..lanes.transcripts.formats import FORMATS
from ..lanes.transcripts.tail import MOST_LINES
from ..state.home import Home
from .fleet_gather import Gatherer
from .fleet_stores import small_file
from .fleet_tail import read_once

_ANSWER = 256 * 1024


def last_lines(row: Mapping[str, Any], home: Home, environ: Mapping[str, str]) -> list[str]:
    """Return the last texts of a row's session, each ``who: text``; empty where none can be read."""
    transcript = row.get("transcript")
    path = transcript.get("path") if isinstance(transcript, Mapping) else None
    form = FORMATS.get(str(row.get("tool")))
    if isinstance(path, str) and form is not None:
        if form.kind in {"lines", "text"}:
            tail = read_once(form, path)
            return list(tail.lines) if tail is not None else []
        found = Gatherer(environ, {}).gather((), 0.0, [])
        return next((one.tail.lines for one in found if one.tail.session_id == row.get("session_id")), [])
    if row.get("owner") == "job":
        return _answer(home, str(row.get("job_id")))
    return []


def _answer(home: Home, job_id: str) -> list[str]:
    """The end of a job's answer."""
    content = small_file(f"{home.root}/jobs/{job_id}/last.txt", _ANSWER) if "/" not in job_id else None
    text = strip_controls((content or b"").decode("utf-8", "replace"))
    return [f"assistant: {line[:300]}" for line in text.splitlines() if line.strip()][-MOST_LINES:]
