"""Claude Code's own sentences about a connection that failed, as its final event and its sessions tell them."""

from __future__ import annotations

from ....messages.vocabulary import FailureKind
from ... import failures

CONNECTION: failures.Phrases = (
    (
        FailureKind.TRANSPORT,
        (
            "connection dropped (",  # 2.1.332: ten tries, then one without streaming, after three minutes
            "connection dropped.",
            "connection lost.",
            "connection lost while your computer was asleep",
            "connection closed before the response finished",
            "connection refused \u2014 a firewall or proxy",
            "can't reach the api server",
            "no internet route \u2014 check your connection",
            "couldn't connect through your proxy (",
            "no response from api.",
            "api is temporarily unavailable.",
            "request timed out. check your internet connection",
        ),
    ),
)
"""The words of 2.1.332; all but the first are in the program and were not seen in a run."""
