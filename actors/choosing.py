"""Which lane and model a job goes to: the catalog's answer, the person's own files, and what is ready here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from ..lanes.catalog import Resolved, resolve
from ..lanes.registry import Registry
from ..messages.job import JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Tier
from ..state.settings import Settings
from .host import probe, usable
from .model_book import ModelBook, known_models


def choose(
    request: JobRequest,
    registry: Registry,
    models: ModelBook,
    environment: Mapping[str, str],
    settings: Settings,
) -> Resolved | Refused:
    """Return where a job goes. Where more than one lane would do, the first that is ready is taken."""
    lanes = registry.tiers(request.lane or settings.text("provider"))
    found = resolve(
        request.model,
        request.lane,
        request.tier or _tier(settings),
        lanes=lanes,
        default_lane=settings.text("provider"),
        default_model=settings.text("model"),
        known=known_models(models, lanes, settings),
    )
    if isinstance(found, Refused):
        return _declared_badly(request, registry) or _own_badly(found, models.own(lanes).problems)
    if isinstance(found, Resolved):
        return found
    missing: list[str] = []
    denied: Refused | None = None
    for candidate in found.candidates:
        lane = registry.get(candidate.lane)
        if isinstance(lane, Refused) or request.verb not in lane.verbs:
            continue
        if (refused := check_denied(candidate, settings)) is not None:
            denied = refused
            continue
        readiness = probe(lane, environment, settings, ask_version=False)
        if usable(lane, readiness):
            return candidate
        missing.append(f"{lane.name}: {readiness.detail}")
    if denied is not None and not missing:
        return denied
    return Refused(
        code=RefusalCode.LANE_NOT_READY,
        message=f"no lane is ready for {request.verb.value} ({'; '.join(missing) or 'none can do it'})",
        hint="osrc lanes says what each one needs",
    )


def _own_badly(refused: Refused, problems: Sequence[str]) -> Refused:
    """Say beside an unknown model that some of the person's own rows could not be used."""
    if refused.code is not RefusalCode.UNKNOWN_MODEL or not problems:
        return refused
    return refused.model_copy(update={"message": f"{refused.message} Rows of your own can't be used: {problems[0]}"})


def _tier(settings: Settings) -> Tier | None:
    word = settings.text("tier")
    return Tier(word) if word else None


def _declared_badly(request: JobRequest, registry: Registry) -> Refused | None:
    """Return what is wrong with the file of the lane that was asked for, if that is why there is no such lane."""
    name = request.lane or (request.model or "").partition(":")[0]
    return next((problem for problem in registry.problems if name and f"/{name}.toml:" in problem.message), None)


def check_denied(resolved: Resolved, settings: Settings) -> Refused | None:
    """Refuse a model of the person's denylist: ids, and globs where a ``*`` is in them."""
    model = resolved.model
    for entry in settings.words("model_denylist"):
        if model is not None and (model == entry or ("*" in entry and fnmatchcase(model, entry))):
            return Refused(
                code=RefusalCode.DENIED,
                message=f"the model {model} is on your denylist ({settings.origin('model_denylist')})",
                hint="choose another model with -m",
            )
    return None
