"""Why words can't be honoured, and what to type instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Tier
from .aliases import ALIASES
from .asking import Ask
from .providers import ABSENT, SYNONYMS

FEW = 4
"""So many names are listed in a hint; a command lists them all."""


def near(word: str, names: Iterable[str]) -> str:
    """Return the few names that a word may mean, best first, as a part of a hint; nothing where none is like it."""
    found = difflib.get_close_matches(word.lower(), list(dict.fromkeys(names)), n=FEW, cutoff=0.45)
    return f" (perhaps {', '.join(found)})" if found else ""


def lane_named(word: str, lanes: Mapping[str, Tier]) -> str | Refused:
    """Return the lane that a word means, or why there is none."""
    if word in lanes:
        return word
    name = SYNONYMS.get(word.lower(), word.lower())
    if name in lanes:
        return name
    if name in ABSENT:
        return absent(ABSENT[name])
    return no_lane(word, lanes)


def conflict(message: str, hint: str) -> Refused:
    """Return the refusal of a model on a lane that can't serve it."""
    return Refused(code=RefusalCode.LANE_CONFLICT, message=message, hint=hint)


def instead(ask: Ask, lane: str, model: str, otherwise: str) -> str:
    """Return what to type: the lane that has the model, where there is such a lane; else, or also, ``otherwise``."""
    return f"--lane {lane} -m {model}; or {otherwise}" if lane in ask.lanes else f"take {otherwise}"


def words_of(lane: str) -> str:
    """Return the first few ids that a lane's rows of the table have, for a hint, and what lists the others."""
    ids = sorted({row.model for row in ALIASES.values() if row.lane == lane and row.use == "text"})
    return ", ".join(ids[:FEW]) + (" ... (osrc models)" if len(ids) > FEW else "")


def image(word: str) -> Refused:
    """Return the refusal of an image model on a text verb."""
    return Refused(
        code=RefusalCode.UNKNOWN_MODEL,
        message=f"{word} makes images; it can't answer a task.",
        hint="take a text model, for example -m sonnet",
    )


def absent(name: str, model: str | None = None) -> Refused:
    """Return the refusal of a lane that this version does not have."""
    what = f"{model} runs on {name}, and this" if model else "This"
    lane = "" if model else f" {name}"
    return Refused(
        code=RefusalCode.UNKNOWN_LANE,
        message=f"{what} version has no{lane} lane{' for it' if model else ''}.",
        hint="osrc lanes shows what there is; or declare one in lanes.d/NAME.toml",
    )


def no_lane(word: str, lanes: Mapping[str, Tier]) -> Refused:
    """Return the refusal of a word that is no lane."""
    meant = difflib.get_close_matches(word.lower(), [*lanes, *SYNONYMS], n=1)
    return Refused(
        code=RefusalCode.UNKNOWN_LANE,
        message=f"There is no lane {word!r}." + (f" Did you mean {meant[0]}?" if meant else ""),
        hint=f"osrc lanes lists them{near(word, lanes)}",
    )


def unknown(ask: Ask, model: str) -> Refused:
    """Return the refusal of a model that no lane is known for."""
    if "/" in model and not model.startswith(("/", "~", ".")):
        return absent("OpenRouter", model)
    known = [word for word, row in ALIASES.items() if row.lane in ask.lanes and row.use == "text"]
    words = [*ask.known.own, *known, *ask.lanes]
    meant = difflib.get_close_matches(model.lower(), words, n=1)
    return Refused(
        code=RefusalCode.UNKNOWN_MODEL,
        message=f"No lane is known for the model {model!r}." + (f" Did you mean {meant[0]}?" if meant else ""),
        hint=f"osrc models lists the words{near(model, words)}; or say the lane (osrc lanes): --lane LANE -m {model}",
    )
