"""pi's own words about a request that failed, the same in its jobs and its sessions. Seen on 0.73.1."""

from __future__ import annotations

from ....messages.vocabulary import FailureKind
from ... import failures

ERRORS: failures.Phrases = ((FailureKind.TRANSPORT, ("terminated.",)),)
"""Its word for a connection that was cut, as the error of a message."""
