"""Job ids, where one names a folder."""

from __future__ import annotations

import re

from ..messages.vocabulary import JOB_ID_PATTERN

_JOB_ID = re.compile(JOB_ID_PATTERN[:-1] + r"\Z")  # ``$`` would also take a final newline


def is_job_id(text: str) -> bool:
    """Whether ``text`` is a whole job id, and so safe as a folder name."""
    return _JOB_ID.match(text) is not None and text.isascii()
