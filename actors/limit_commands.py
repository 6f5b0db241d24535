"""What ``osrc limits`` asks of a supervisor. Runs in the thread of the connection that asked."""

from __future__ import annotations

from ..lanes.catalog import ChooseByReadiness, Known, Resolved, resolve
from ..lanes.catalog.refusing import lane_named
from ..lanes.contract import Lane
from ..lanes.registry import Registry
from ..messages.commands import LimitsClear, LimitsSet, ViewLimits
from ..messages.model_names import canonical
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import LimitsState, Reply
from ..state.limits import ANY, key_of
from ..state.limits_view import limits_object
from .base import ask
from .limits import ChangeLimits, cleared, quota
from .model_book import ModelBook
from .services import Services

ASK_S = 30.0
DEFAULT = "default"
"""The word for a lane's own model."""


def answer(command: LimitsSet | LimitsClear | ViewLimits, services: Services, registry: Registry) -> Reply:
    """Return the reply to one of them."""
    match command:
        case LimitsSet():
            return set_quota(command, services, registry)
        case LimitsClear():
            return clear(command, services, registry)
        case ViewLimits():
            return view(services)


def view(services: Services) -> LimitsState:
    """Return what is known now."""
    marks, rooms = services.limits.state()
    return LimitsState(**limits_object(marks, rooms, services.clock.now().wall))


def set_quota(command: LimitsSet, services: Services, registry: Registry) -> LimitsState | Refused:
    """Journal a quota; return what is known then."""
    lane = _lane(command.lane, registry)
    if isinstance(lane, Refused):
        return lane
    model = model_key(command.model, lane, services.models, registry)
    if isinstance(model, Refused):
        return model
    return _change(quota(lane, model, command.per_day, command.zone), services)


def clear(command: LimitsClear, services: Services, registry: Registry) -> LimitsState | Refused:
    """Take back a quota, a lane's mark, or everything; return what is known then."""
    marks, rooms = services.limits.state()
    if command.lane is None:
        keys = [mark.key for mark in marks]
        quotas = [(room.quota.lane, room.quota.model) for room in rooms]
        return _change(cleared(keys, quotas), services) if keys or quotas else view(services)
    lane = _lane(command.lane, registry)
    if isinstance(lane, Refused):
        return lane
    if command.model is None:
        keys = [mark.key for mark in marks if mark.key in _keys(lane, registry) or mark.lane == lane]
        return _change(cleared(keys, []), services) if keys else _nothing(f"the lane {lane} is not marked down")
    model = model_key(command.model, lane, services.models, registry)
    key = canonical(command.model) if isinstance(model, Refused) else model
    held = [(room.quota.lane, room.quota.model) for room in rooms if (room.quota.lane, room.quota.model) == (lane, key)]
    if not held:
        return _nothing(f"there is no quota for {command.model} on {lane}")
    return _change(cleared([], held), services)


def _lane(word: str, registry: Registry) -> str | Refused:
    return ANY if word == ANY else lane_named(word, registry.tiers(word))


def model_key(word: str, lane: str, models: ModelBook, registry: Registry) -> str | Refused:
    """Return the key of the model that a word means on a lane, or why it means none."""
    if word == DEFAULT:
        return "" if lane != ANY else _nothing("the default model of any lane", "name a lane, or a model")
    lanes = registry.tiers(lane)
    known = Known(own=models.own(lanes).rows, listed=frozenset(models.listing()))
    found = resolve(word, None if lane == ANY else lane, None, lanes=lanes, known=known)
    if isinstance(found, ChooseByReadiness):
        return canonical(found.candidates[0].model)
    if isinstance(found, Resolved) and lane not in (ANY, found.lane):
        return Refused(
            code=RefusalCode.LANE_CONFLICT,
            message=f"{word} runs on {found.lane}, not on {lane}",
            hint=f"osrc limits set {found.lane} {word} N/day",
        )
    return found if isinstance(found, Refused) else canonical(found.model)


def _keys(lane: str, registry: Registry) -> set[str]:
    found = registry.get(lane)
    return {key_of(lane, found.billing.pool)} if isinstance(found, Lane) else set()


def _change(change: ChangeLimits, services: Services) -> LimitsState | Refused:
    told = ask(services.directory.find("limits"), change, ASK_S)
    return told if isinstance(told, Refused) else view(services)


def _nothing(what: str, hint: str = "osrc limits shows what there is") -> Refused:
    return Refused(code=RefusalCode.NO_SUCH_LIMIT, message=what, hint=hint)
