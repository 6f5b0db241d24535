"""Models that a person never wants used. Every path that picks a model asks here, and the gate once more."""

from __future__ import annotations

from ..lanes.catalog import Known
from ..lanes.catalog.denying import Denied, denied, undecided
from ..messages.refusals import RefusalCode, Refused
from ..state.settings import Settings

SETTING = "model_denylist"
_ANOTHER = "name another model: -m MODEL; osrc models lists them"
_ONE = "name one that may be used: -m MODEL (a lane of your own: model = in its file)"


def check_denied(lane: str, model: str | None, settings: Settings, known: Known | None = None) -> Refused | None:
    """Refuse a model that a rule of the person's denylist means; ``model`` None is the lane's own default.

    ``known`` is what the person's own rows add to the aliases.
    """
    rules = settings.words(SETTING)
    return _refusal(denied(rules, lane, model, known or Known()), settings) if rules else None


def check_sent(lane: str, model: str | None, settings: Settings, known: Known | None = None) -> Refused | None:
    """Refuse what a plan came to: the id that is really sent, or a default that only the lane's program knows."""
    rules = settings.words(SETTING)
    if not rules:
        return None
    found = denied(rules, lane, model, known or Known()) if model is not None else undecided(rules, lane)
    return _refusal(found, settings)


def why_denied(lane: str, model: str | None, settings: Settings, known: Known | None = None) -> str | None:
    """Return what stands against a choice, in a few words beside its lane; None where nothing does."""
    rules = settings.words(SETTING)
    found = denied(rules, lane, model, known or Known()) if rules else None
    return None if found is None else f"on your denylist ({found.rule})"


def _refusal(found: Denied | None, settings: Settings) -> Refused | None:
    if found is None:
        return None
    return Refused(
        code=RefusalCode.DENIED,
        message=f"{found.why}: your denylist has {found.rule} ({settings.origin(SETTING)})",
        hint=_ANOTHER if found.known else _ONE,
    )
