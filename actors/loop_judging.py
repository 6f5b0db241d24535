"""Who writes where somebody else judges: no model judges its own work where another one is here. Blocks."""

from __future__ import annotations

from ..lanes.advice.panel import maker_of
from ..messages.job import JobRequest
from ..messages.replies import Plan
from .advising import Place, Question
from .caller import settings_of
from .host import decode_environment
from .panelling import Bench
from .services import Services


def bench_of(services: Services, request: JobRequest, task: str) -> Bench:
    """Return who is here for a task, as the caller of a request sees this machine. Raises StateError, ValueError."""
    environment = decode_environment(request.environment)
    settings = settings_of(environment)
    place = Place(
        home=services.home,
        registry=services.registry(),
        models=services.models,
        environment=environment,
        settings=settings,
        limits=services.limits,
    )
    cash = settings.flag("failover_cash_ok")
    return Bench(Question(task=task, cwd=request.cwd, effort=request.effort, cash=cash), place)


def is_named(request: JobRequest) -> bool:
    """Whether the person said who is to do it, in the command or in the settings."""
    settings = settings_of(decode_environment(request.environment))
    return bool(request.model or request.lane or request.tier or settings.text("model") or settings.text("provider"))


def same_model(writer: Plan, judge: Plan) -> bool | None:
    """Whether two plans are of one model; None: it can't be known before they run. Pure.

    A lane's own default has no name then; of two makers it is not the same all the same.
    """
    if writer.model and judge.model:
        return _name(writer.model) == _name(judge.model)
    if writer.model is judge.model and writer.lane == judge.lane:
        return True
    return None if maker_of(writer.model, writer.lane) == maker_of(judge.model, judge.lane) else False


def other_writer(services: Services, request: JobRequest, judge: Plan) -> JobRequest | None:
    """Return the request with the strongest model here beside the judge's, of another maker if possible; None: no."""
    one = bench_of(services, request, request.task or "").judge([judge.model or judge.lane])
    if one is None:
        return None
    return request.model_copy(update={"model": None if one.model is None else one.word, "lane": one.lane})


def _name(model: str) -> str:
    return model.lower().rpartition("/")[2]
