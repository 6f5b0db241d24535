"""What OpenCode's own log tells on stderr (``--print-logs --log-level ERROR``). Seen on 1.18.33.

Its stream is silent while it retries, and it sleeps for as long as a provider's ``Retry-After`` says: hours,
where a plan is spent. Only the log has the provider's words then::

    timestamp=... level=ERROR run=... message="stream error" ... error.error="AI_APICallError: Rate limit reached"
"""

from __future__ import annotations

import json
import re

STREAM_ERROR = 'message="stream error"'
_LINE = "timestamp="
_WORDS = re.compile(r'error\.error="((?:[^"\\]|\\.){0,2000})')
_CLASS = re.compile(r"AI_[A-Za-z]{1,40}Error: ")


def refusal(line: str) -> str | None:
    """Return the words with which a request to the model failed, or None where ``line`` tells of none."""
    found = _WORDS.search(line) if line.startswith(_LINE) and STREAM_ERROR in line else None
    if found is None:
        return None
    try:
        said = str(json.loads(f'"{found[1]}"'))
    except ValueError:
        said = found[1]
    lead = _CLASS.match(said)
    return (said[lead.end() :] if lead else said).strip() or None


def without_log(tail: str) -> str:
    """Return what stands on stderr beside the log."""
    return "\n".join(line for line in tail.splitlines() if not line.startswith(_LINE)).strip()
