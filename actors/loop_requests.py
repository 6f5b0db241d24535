"""Which job each step of a loop is, as a request of the ordinary kind: pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..messages.entity_ids import LOOP
from ..messages.job import JobRequest
from ..messages.loop import LoopRecord, LoopStep, LoopTerms, Role, Shape
from ..messages.vocabulary import Verb

LABEL = 80
_READS = Verb.EXPLORE
_ALONE: Mapping[str, object] = {
    "lane": None,
    "tier": None,
    "skills": (),
    "mcp": (),
    "worktree": False,
    "continues": None,
}
"""What a step of another model does not take over from the builder's."""


_LIVE = frozenset({Role.BUILD, Role.WRITE, Role.DEBATE})
"""Roles with several laps, which a session can keep: judges and advisors look with fresh eyes each time."""


def in_session(terms: LoopTerms, role: Role) -> bool:
    """Whether the steps of a role are turns of a session, and no jobs."""
    return terms.session and role in _LIVE


def model_of(terms: LoopTerms, common_model: str | None, role: Role, who: int) -> str | None:
    """Return the model that a step is for; None: as is chosen for any job."""
    models = terms.models
    match role:
        case Role.BUILD:
            return models[who] if terms.shape is Shape.ESCALATE else common_model
        case Role.JUDGE | Role.DECIDE | Role.RULE:
            return terms.judge
        case Role.ANSWER:
            return terms.seats[who].model
        case Role.DEBATE:
            return models[who]
        case Role.ADVISE:
            return terms.advisor or terms.judge or models[0]
        case _:
            return common_model


def everyone(terms: LoopTerms, common: JobRequest) -> Iterator[tuple[str, JobRequest, bool]]:
    """Yield every kind of job that the loop may ask for, so that all are looked at before the first.

    Each with a name, and whether it is to be a session.
    """
    roles: Mapping[Shape, tuple[tuple[Role, int], ...]] = {
        Shape.VERIFY: ((Role.BUILD, 1),),
        Shape.ESCALATE: ((Role.BUILD, len(terms.models)),),
        Shape.SWEEP: ((Role.FIND, 1),),
        Shape.OPTIMIZE: ((Role.WRITE, 1), (Role.JUDGE, 1)),
        Shape.COUNCIL: (
            (Role.DEBATE, len(terms.models)),
            *(((Role.DECIDE, 1),) if terms.judge else ()),
            (Role.BUILD, 1),
            (Role.ADVISE, 1),
        ),
        Shape.OPINION: (
            (Role.ANSWER, len(terms.seats) - terms.spares),
            *(((Role.RULE, 1),) if terms.judge and terms.judging != "never" else ()),
        ),
    }
    for role, count in roles[terms.shape]:
        for who in range(count):
            model = model_of(terms, common.model, role, who)
            named = f"{role.value} {model}" if model else role.value
            yield named, shaped(terms, common, role, who), in_session(terms, role)


def shaped(terms: LoopTerms, common: JobRequest, role: Role, who: int) -> JobRequest:
    """Return what a step of this role asks for, apart from its prompt and its place."""
    model = model_of(terms, common.model, role, who)
    if role in (Role.BUILD, Role.FIND, Role.WRITE):
        other = terms.shape is Shape.ESCALATE and common.lane is None
        return common.model_copy(update={"model": model, **({"tier": None} if other else {})})
    if terms.shape is Shape.OPINION:
        lane = terms.seats[who].lane if role is Role.ANSWER else None
        return common.model_copy(update={**_ALONE, "model": model, "lane": lane})
    return common.model_copy(update={**_ALONE, "model": model, "verb": _READS})


def request_for(  # noqa: PLR0913 - what a lap depends on, by name
    record: LoopRecord,
    common: JobRequest,
    step: LoopStep,
    *,
    prompt: str,
    before: LoopStep | None,
    timeout_s: float | None,
) -> JobRequest:
    """Return the request of one step. ``before`` is the last lap of its kind, in whose place it goes on."""
    shape = record.terms.shape.value
    name = record.label or record.loop_id.removeprefix(LOOP)[:15]
    asked = shaped(record.terms, common, step.role, step.who)
    works = step.role in (Role.BUILD, Role.WRITE)
    first = works and record.worktree and before is None
    goes_on = works and before is not None and record.terms.keep_conversation and before.state in ("done", "done?")
    given: dict[str, object] = {
        "job_id": step.job_id,
        "task": prompt,
        "task_file": None,
        "label": f"{shape} {name}: {step.role.value} {step.lap or step.round or ''}".strip()[:LABEL],
        "after": (),
        "worktree": first,
        "continues": before.job_id if goes_on and before is not None else None,
    }
    if step.role is Role.ANSWER:
        given["label"] = record.terms.seats[step.who].label
    if not first and (cwd := place_of(record)) is not None:
        given["cwd"] = cwd
    times = [one for one in (common.timeout_s, timeout_s) if one is not None]
    if times:
        given["timeout_s"] = max(1.0, min(times))
    return asked.model_copy(update=given)


def place_of(record: LoopRecord) -> str | None:
    """Return the folder in the loop's own work tree, once that was made; None: there is none."""
    return next((step.cwd for step in record.steps if step.worktree), None)


def owner_of(record: LoopRecord) -> str | None:
    """Return the job whose work tree the loop's is; None: it has none."""
    return next((step.job_id for step in record.steps if step.worktree), None)
