"""What ``osrc outcome`` and ``osrc import`` ask of a supervisor. Runs in the thread of the connection that asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..messages.commands import JobTellOutcome
from ..messages.facts import JobOutcome
from ..messages.history import HistoryImport, HistoryImported, HistoryKept
from ..messages.model_names import canonical
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import OutcomeKept
from ..state import views
from .base import ask
from .jobs_asked import Note
from .services import Services

ASK_S = 30.0


def tell(
    command: JobTellOutcome, found: Sequence[Mapping[str, Any]] | Refused, services: Services
) -> OutcomeKept | Refused:
    """Journal what became of a job's result. Repeating it is harmless: the newest word counts."""
    if isinstance(found, Refused):
        return found
    fact = outcome_of(found[0], command)
    if isinstance(fact, Refused):
        return fact
    told = ask(services.directory.find("jobs"), Note(fact), ASK_S)
    if isinstance(told, Refused):
        return told
    return OutcomeKept(
        job_id=fact.job_id, outcome=fact.outcome, task_kind=fact.task_kind, project=fact.project, model=fact.model
    )


def keep_history(command: HistoryImport, services: Services) -> HistoryKept | Refused:
    """Journal rows of another tool's books. Repeating it is harmless: what is known is not kept again."""
    fact = HistoryImported(source=command.source, runs=command.runs, outcomes=command.outcomes)
    told = ask(services.directory.find("jobs"), Note(fact), ASK_S)
    return told if isinstance(told, Refused) else HistoryKept(runs=len(fact.runs), outcomes=len(fact.outcomes))


def outcome_of(record: Mapping[str, Any], command: JobTellOutcome) -> JobOutcome | Refused:
    """Return the fact, or why nothing can be said of this job's result yet."""
    job_id = str(record["job_id"])
    if views.is_live(record):
        return Refused(
            code=RefusalCode.NOT_FINISHED, message=f"job {job_id} has no result yet", hint=f"osrc wait {job_id}"
        )
    kind, project = record.get("task_kind"), record.get("project")
    return JobOutcome(
        job_id=job_id,
        outcome=command.outcome,
        source=command.source,
        task_kind=kind if isinstance(kind, str) else None,
        project=project if isinstance(project, str) else None,
        lane=str(record.get("lane") or ""),
        model=canonical(record.get("model")),
    )
