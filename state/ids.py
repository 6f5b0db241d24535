"""Job ids: sortable by time, and unguessable enough never to meet twice."""

from __future__ import annotations

import re
import time

from ..messages.vocabulary import JOB_ID_PATTERN

RANDOM_BYTES = 6

_JOB_ID = re.compile(JOB_ID_PATTERN[:-1] + r"\Z")  # ``$`` would also take a final newline


def new_job_id(now: float, random_bytes: bytes) -> str:
    """Return ``YYYYmmdd-HHMMSS-xxxxxxxxxxxx`` for epoch seconds ``now`` (UTC) and six random bytes."""
    if len(random_bytes) != RANDOM_BYTES:
        raise ValueError(f"{RANDOM_BYTES} random bytes are needed, not {len(random_bytes)}")
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime(now)) + random_bytes.hex()


def is_job_id(text: str) -> bool:
    """Whether ``text`` is a whole job id, and so safe as a folder name."""
    return _JOB_ID.match(text) is not None and text.isascii()
