"""From the words a person typed to a lane, a model and a tier: one pure function.

    resolve("opus", None, None, lanes={"claude": Tier.FRONTIER, ...})  ->  Resolved(lane="claude", ...)

What can't be honoured is refused with what can; nothing is ever moved to another lane in silence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Tier
from .aliases import ALIASES, FAMILIES, LOCAL_PREFIXES, Alias
from .providers import ABSENT, CHANGED, SYNONYMS
from .tiers import tier_of

PREFERENCE = ("claude", "codex", "local", "embedded")
"""The order in which a ready lane is taken when neither a lane nor a model was named; declared lanes come after."""

_MODEL = re.compile(r"[A-Za-z0-9_.~/@+][A-Za-z0-9_.:/~+@ -]{0,1023}(\[[A-Za-z0-9]{1,16}\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Where a job goes. ``model`` None is the lane's own default."""

    lane: str
    model: str | None
    tier: Tier
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseByReadiness:
    """Nothing was named: the caller takes the first of these that is ready."""

    candidates: tuple[Resolved, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """What was typed, and what there is."""

    model: str | None
    lane: str | None
    tier: Tier | None
    lanes: Mapping[str, Tier]
    notices: tuple[str, ...] = ()

    def to(self, lane: str, model: str | None, tier: Tier | None, *notices: str) -> Resolved:
        """Return the result; a tier that was asked for stands."""
        named = _tier_by_name(model) if model and lane != "embedded" else None  # a file's name promises nothing
        chosen = self.tier or tier or named or self.lanes[lane]
        return Resolved(lane=lane, model=model, tier=chosen, notices=(*self.notices, *notices))


def resolve(  # noqa: PLR0913 - what was typed, what exists, and the settings
    model: str | None,
    lane: str | None,
    tier: Tier | None,
    *,
    lanes: Mapping[str, Tier],
    default_lane: str | None = None,
    default_model: str | None = None,
) -> Resolved | ChooseByReadiness | Refused:
    """Return where a job goes.

    ``lanes`` are the lanes that exist, each with its default tier (``Registry.tiers``). The defaults
    come from the settings ``provider`` and ``model`` and count only where nothing was named.
    """
    if model is None and lane is None:
        if default_lane is None and default_model is None:
            return _choose(tier, lanes)
        return resolve(default_model, default_lane, tier, lanes=lanes)
    ask = _Ask(model=model, lane=None, tier=tier, lanes=lanes)
    if lane is not None:
        named = _lane(lane, lanes)
        if isinstance(named, Refused):
            return named
        note = CHANGED.get(lane.lower())
        ask = _Ask(model=model, lane=named, tier=tier, lanes=lanes, notices=(note,) if note else ())
    if model is None:
        return ask.to(ask.lane or "", None, None)
    return _model(ask, model, default_lane)


def _choose(tier: Tier | None, lanes: Mapping[str, Tier]) -> ChooseByReadiness | Refused:
    names = [name for name in PREFERENCE if name in lanes]
    names += sorted(set(lanes).difference(PREFERENCE))
    if not names:
        return _no_lane("any lane", lanes)
    found = tuple(Resolved(lane=name, model=None, tier=tier or lanes[name]) for name in names)
    return ChooseByReadiness(candidates=found)


def _lane(word: str, lanes: Mapping[str, Tier]) -> str | Refused:
    if word in lanes:
        return word
    name = SYNONYMS.get(word.lower(), word.lower())
    if name in lanes:
        return name
    if name in ABSENT:
        return _absent(ABSENT[name], lanes)
    return _no_lane(word, lanes)


def _model(ask: _Ask, model: str, default_lane: str | None) -> Resolved | Refused:
    named = model.startswith("embedded:") and model.isprintable()  # a path: any name a file can have
    if not named and not _MODEL.fullmatch(model):
        return Refused(
            code=RefusalCode.BAD_REQUEST,
            message=f"{model[:80]!r} is no model name: letters, digits and . _ : / - only, no leading dash.",
            hint="osrc lanes shows what there is",
        )
    for prefix in LOCAL_PREFIXES:
        if model.startswith(prefix):
            return _local(ask, model.removeprefix(prefix))
    if ask.lane is None:
        head, colon, rest = model.partition(":")
        if model in ask.lanes:
            return ask.to(model, None, None)
        if colon and head in ask.lanes:
            return _on_lane(ask, head, _bare(head, rest)) if rest else ask.to(head, None, None)
    if ask.lane is not None:
        return _on_lane(ask, ask.lane, _bare(ask.lane, model))
    return _by_name(ask, model, default_lane)


def _bare(lane: str, model: str) -> str:
    """Drop a lane's own name before the model: ``--lane claude -m claude:opus``."""
    return model.removeprefix(f"{lane}:")


def _local(ask: _Ask, model: str) -> Resolved | Refused:
    if "local" not in ask.lanes:
        return _no_lane("local", ask.lanes)
    moved = ask.lane not in (None, "local")
    notice = (f"A local model stays on this machine: lane local, not {ask.lane}.",) if moved else ()
    return ask.to("local", model or None, None, *notice)


def _on_lane(ask: _Ask, lane: str, model: str) -> Resolved | Refused:
    """Resolve a model on a named lane. Only claude and codex have models of their own to check."""
    if model == lane or lane not in ("claude", "codex"):
        return ask.to(lane, None if model == lane else model, None)
    row = ALIASES.get(model)
    if row is not None and row.use == "image":
        return _image(model)
    return _vendor(ask, lane, model, row)


def _vendor(ask: _Ask, lane: str, model: str, row: Alias | None) -> Resolved | Refused:
    home = row.lane if row is not None else _family(model)
    if home == lane:
        return ask.to(lane, row.model if row else model, row.tier if row else None)
    if home in ("claude", "codex", "gemini"):
        return Refused(
            code=RefusalCode.LANE_CONFLICT,
            message=f"{model} is served only by {ABSENT.get(home, home)}, not by the {lane} lane.",
            hint=f"leave out --lane, or take a model of {lane}: {_words(lane)}",
        )
    if row is not None or "/" in model:
        return Refused(
            code=RefusalCode.LANE_CONFLICT,
            message=f"{model} is not a model of the {lane} lane.",
            hint=f"models of {lane}: {_words(lane)}",
        )
    return ask.to(lane, model, None, f"{model} is not in the table; sent to {lane} as it is.")


def _by_name(ask: _Ask, model: str, default_lane: str | None) -> Resolved | Refused:
    row = ALIASES.get(model) or ALIASES.get(model.lower())
    if row is not None:
        return _alias(ask, model, row)
    if (family := _family(model)) is not None:
        if family not in ask.lanes:
            return _absent(ABSENT.get(family, family), ask.lanes, model)
        return ask.to(family, model, None, f"{model} is not in the table; its name says {family}.")
    word = model.lower()
    if word in SYNONYMS or word in ABSENT:
        lane = _lane(word, ask.lanes)
        return lane if isinstance(lane, Refused) else ask.to(lane, None, None)
    if default_lane is not None and not isinstance(home := _lane(default_lane, ask.lanes), Refused):
        return _on_lane(ask, home, model)
    return _unknown(model, ask.lanes)


def _alias(ask: _Ask, word: str, row: Alias) -> Resolved | Refused:
    if row.use == "image":
        return _image(word)
    if row.lane not in ask.lanes:
        return _absent(ABSENT.get(row.lane, row.lane), ask.lanes, word)
    return ask.to(row.lane, row.model, row.tier)


def _tier_by_name(model: str) -> Tier | None:
    """Return the tier of a name; ``sonnet[1m]`` is a sonnet."""
    row = ALIASES.get(model.partition("[")[0])
    return row.tier if row is not None else tier_of(model)


def _family(model: str) -> str | None:
    name = model.lower()
    return next((lane for lane, globs in FAMILIES if any(fnmatchcase(name, glob) for glob in globs)), None)


def _words(lane: str) -> str:
    return ", ".join(sorted({row.model for row in ALIASES.values() if row.lane == lane and row.use == "text"}))


def _listed(lanes: Iterable[str]) -> str:
    return ", ".join(sorted(lanes)) or "none"


def _image(word: str) -> Refused:
    return Refused(
        code=RefusalCode.UNKNOWN_MODEL,
        message=f"{word} makes images; it can't answer a task.",
        hint="take a text model, for example -m sonnet",
    )


def _absent(name: str, lanes: Mapping[str, Tier], model: str | None = None) -> Refused:
    what = f"{model} runs on {name}, and this" if model else "This"
    lane = "" if model else f" {name}"
    return Refused(
        code=RefusalCode.UNKNOWN_LANE,
        message=f"{what} version has no{lane} lane{' for it' if model else ''}.",
        hint=f"lanes here: {_listed(lanes)}; or declare one in lanes.d/NAME.toml",
    )


def _no_lane(word: str, lanes: Mapping[str, Tier]) -> Refused:
    near = difflib.get_close_matches(word.lower(), [*lanes, *SYNONYMS], n=1)
    return Refused(
        code=RefusalCode.UNKNOWN_LANE,
        message=f"There is no lane {word!r}." + (f" Did you mean {near[0]}?" if near else ""),
        hint=f"lanes here: {_listed(lanes)}",
    )


def _unknown(model: str, lanes: Mapping[str, Tier]) -> Refused:
    if "/" in model and not model.startswith(("/", "~", ".")):
        return _absent("OpenRouter", lanes, model)
    known = [word for word, row in ALIASES.items() if row.lane in lanes and row.use == "text"]
    near = difflib.get_close_matches(model.lower(), [*known, *lanes], n=1)
    return Refused(
        code=RefusalCode.UNKNOWN_MODEL,
        message=f"No lane is known for the model {model!r}." + (f" Did you mean {near[0]}?" if near else ""),
        hint=f"say the lane: --lane LANE -m {model}; lanes here: {_listed(lanes)}",
    )
