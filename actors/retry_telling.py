"""What is said of a job whose CLI tries its provider again: while it does, and that it is over."""

from __future__ import annotations

from dataclasses import dataclass

from ..lanes.evidence import Evidence
from ..lanes.outcome import FAILURE_WORDS
from ..messages.facts import JobStateChanged
from ..messages.vocabulary import JobState
from .job_output import Heard

MOST = 50
"""Facts of one job about it: a provider that comes and goes fills no journal."""


@dataclass(slots=True)
class RetryTelling:
    """What was told of one attempt."""

    told: bool = False
    facts: int = 0

    def tell(self, job_id: str, state: JobState, heard: Heard, evidence: Evidence) -> list[JobStateChanged]:
        """Return the fact that is to be journalled, if any: once when it begins, once when the model is heard again."""
        begins = heard.retrying and not self.told
        over = self.told and not heard.retrying and (heard.acted or heard.final or heard.waiting)
        if not (begins or over) or self.facts >= MOST:
            return []
        self.told = begins
        self.facts += 1
        return [JobStateChanged(job_id=job_id, state=state, reason=sentence(evidence) if begins else None)]


def sentence(evidence: Evidence) -> str:
    """Return what the CLI is doing, in words."""
    why = evidence.retrying
    return f"{FAILURE_WORDS[why]}; its CLI tries again" if why is not None else "its CLI tries its provider again"
