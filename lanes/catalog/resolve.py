"""From the words a person typed to a lane, a model and a tier: one pure function.

    resolve("opus", None, None, lanes={"claude": Tier.FRONTIER, ...})  ->  Resolved(lane="claude", ...)

What can't be honoured is refused with what can; a lane that was named is never exchanged for another.
The rules of a lane that was named are in ``placing.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Tier
from ..registry import names as builtin_names
from .aliases import DUAL, LOCAL_PREFIXES, MODEL, family_of
from .asking import Ask, ChooseByReadiness, Known, Resolved
from .placing import on_lane
from .providers import ABSENT, SYNONYMS
from .refusing import absent, conflict, image, lane_named, no_lane, unknown
from .spelling import misspelt

PREFERENCE = ("claude", "codex", "local", "embedded")
"""The order in which a ready lane is taken when neither a lane nor a model was named: none of them is metered.

Declared lanes come after; no other built-in lane is taken unasked.
"""

_OPENROUTER = "cc"
"""The lane that an OpenRouter id runs on when no lane was named."""

__all__ = ["PREFERENCE", "ChooseByReadiness", "Known", "Resolved", "resolve"]


def resolve(  # noqa: PLR0913 - what was typed, what exists, and the settings
    model: str | None,
    lane: str | None,
    tier: Tier | None,
    *,
    lanes: Mapping[str, Tier],
    default_lane: str | None = None,
    default_model: str | None = None,
    known: Known | None = None,
) -> Resolved | ChooseByReadiness | Refused:
    """Return where a job goes.

    ``lanes`` are the lanes that exist, each with its default tier (``Registry.tiers``). The defaults
    come from the settings ``provider`` and ``model`` and count only where nothing was named. ``known``
    is what the person's own files add to the tables.
    """
    known = known or Known()
    if model is None and lane is None:
        if default_lane is None and default_model is None:
            return _choose(tier, lanes)
        return resolve(default_model, default_lane, tier, lanes=lanes, known=known)
    ask = Ask(tier=tier, lanes=lanes, known=known)
    if lane is not None:
        named = lane_named(lane, lanes)
        if isinstance(named, Refused):
            return named
        ask = Ask(tier=tier, lanes=lanes, known=known, lane=named)
        if model is None:
            return ask.default(named)
    return _model(ask, model or "", default_lane)


def _choose(tier: Tier | None, lanes: Mapping[str, Tier]) -> ChooseByReadiness | Refused:
    names = [name for name in PREFERENCE if name in lanes]
    names += sorted(set(lanes).difference(builtin_names()))
    if not names:
        return no_lane("any lane", lanes)
    found = tuple(Resolved(lane=name, model=None, tier=tier or lanes[name]) for name in names)
    return ChooseByReadiness(candidates=found)


def _model(ask: Ask, model: str, default_lane: str | None) -> Resolved | ChooseByReadiness | Refused:
    named = model.startswith("embedded:") and model.isprintable()  # a path: any name a file can have
    if not named and not MODEL.fullmatch(model):
        return Refused(
            code=RefusalCode.BAD_REQUEST,
            message=f"{model[:80]!r} is no model name: letters, digits and . _ : / - only, no leading dash.",
            hint="osrc models shows what there is",
        )
    for prefix in LOCAL_PREFIXES:
        if model.startswith(prefix):
            return _local(ask, model.removeprefix(prefix))
    if ask.lane is not None:
        return on_lane(ask, ask.lane, _bare(ask.lane, model))
    if model not in ask.known.own:
        head, colon, rest = model.partition(":")
        if model in ask.lanes:
            return ask.default(model)
        if colon and head in ask.lanes:
            return on_lane(ask, head, _bare(head, rest)) if rest else ask.default(head)
    return _by_name(ask, model, default_lane)


def _bare(lane: str, model: str) -> str:
    """Drop a lane's own name before the model: ``--lane claude -m claude:opus``."""
    return model.removeprefix(f"{lane}:")


def _local(ask: Ask, model: str) -> Resolved | Refused:
    if "local" not in ask.lanes:
        return no_lane("local", ask.lanes)
    if ask.lane not in (None, "local"):
        word = model or "NAME"
        return conflict(f"{word} is a model on this machine, not of the {ask.lane} lane.", f"--lane local -m {word}")
    return ask.to("local", model or None, None)


def _by_name(  # noqa: PLR0911 - one rule after the other
    ask: Ask, model: str, default_lane: str | None
) -> Resolved | ChooseByReadiness | Refused:
    home = None if default_lane is None else lane_named(default_lane, ask.lanes)
    home = None if isinstance(home, Refused) else home
    row = ask.row(model)
    if row is not None and model not in ask.known.own and model.lower() in DUAL:
        return _dual(ask, model.lower(), home)
    if row is not None:
        if row.use == "image":
            return image(model)
        if row.lane not in ask.lanes:
            return absent(ABSENT.get(row.lane, row.lane), model)
        return ask.to(row.lane, row.model, row.tier)
    if (wrong := misspelt(ask, model)) is not None:
        return wrong
    if (family := family_of(model)) is not None:
        if family not in ask.lanes:
            return absent(ABSENT.get(family, family), model)
        return ask.to(family, model, None, f"{model} is not in the table; its name says {family}.")
    return _unlisted(ask, model, home)


def _unlisted(ask: Ask, model: str, home: str | None) -> Resolved | Refused:
    """Resolve a name of no table and no family: a lane's word, a vendor's model, or the default lane's business."""
    word = model.lower()
    if word in SYNONYMS or word in ABSENT:
        lane = lane_named(word, ask.lanes)
        return lane if isinstance(lane, Refused) else ask.default(lane)
    vendor = "/" in model and not model.startswith(("/", "~", "."))
    if home is not None and not (vendor and home in ("claude", "codex", "gemini")):
        return on_lane(ask, home, model)
    if vendor and _OPENROUTER in ask.lanes:
        notice = f"{model} is an id of OpenRouter: lane {_OPENROUTER}, metered on your key there."
        return ask.to(_OPENROUTER, model, None, notice)
    return unknown(ask, model)


def _dual(ask: Ask, word: str, home: str | None) -> Resolved | ChooseByReadiness | Refused:
    """Resolve a model that two lanes serve: the default lane if it is one of them, else a plan before cash."""
    if home == "codex" and "codexor" in ask.lanes:
        home = "codexor"  # the same program, on the account that has these models
    if home in ("devin", "cc", "codexor"):
        return on_lane(ask, home, word)
    both, tier = DUAL[word], ask.tier_of_row(word)
    ways = []
    if "devin" in ask.lanes:
        said = f"{word} is had on Devin and over OpenRouter: Devin first; --lane cc takes the other."
        ways.append(ask.to("devin", both.devin, tier, said))
    if _OPENROUTER in ask.lanes:
        missing = "Devin is not here: " if ways else ""
        said = f"{missing}{word} runs over OpenRouter as {both.openrouter}, metered on your key there."
        ways.append(ask.to(_OPENROUTER, both.openrouter, tier, said))
    if not ways:
        return absent("Devin or OpenRouter", word)
    return ways[0] if len(ways) == 1 else ChooseByReadiness(candidates=tuple(ways))
