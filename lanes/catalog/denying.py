"""Models that a person never wants used: which rule of theirs stands against a choice. Pure.

A rule is a model's name, or has a ``*`` in it, which stands for anything. Case never counts.

- A name means the model under each of its names: its aliases (``models.local`` first), its ids at other services
  (``anthropic/claude-opus-5``), its dates. A family word (``opus``) means all of the family.
- A choice that leaves the version open is held to every model that it may turn out to be, and a lane whose own
  default is not known to everything that lane may take: what is never to be used is not left to chance.
- ``LANE:RULE`` is for one lane alone.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model_truth import same
from ..registry import names as lane_names
from .aliases import ALIASES, DUAL, LOCAL_PREFIXES, Alias, family_of
from .asking import Known
from .listing import VENDOR_OF

_SUFFIX = re.compile(r"[\[:][^/]*$")
_WORD = re.compile(r"[a-z]+")
_ODD = re.compile(r"[^a-z0-9._:/@~+*\-\[\]]|^\[")
"""What stands in no model's name: ``opus;sonnet`` is one rule, not two."""
_TOKEN = re.compile(r"[a-z0-9]+")
_LANES = frozenset(lane_names())
_NOTHING = Known()


@dataclass(frozen=True, slots=True)
class Denied:
    """Which rule stands against it, and why."""

    rule: str
    why: str
    """``the model opus may be claude-opus-5``."""
    known: bool = True
    """Whether a model was chosen at all."""


def denied(rules: Sequence[str], lane: str, model: str | None, known: Known = _NOTHING) -> Denied | None:
    """Return what stands against ``model`` on ``lane``; None where nothing does.

    ``model`` None is the lane's own default: then only lanes of one vendor's models are judged (``undecided``).
    """
    if model is None:
        return undecided(rules, lane, known) if lane in VENDOR_OF else None
    names = _names(lane, model, known)
    may_be = [one for one in _ids(known) if same(model, one) and _same_edition(model, one)]
    for rule in rules:
        word = _for_lane(rule, lane)
        if word is None:
            continue
        forms = _forms(word, known)
        if any(_means(form, name) for form in forms for name in names):
            return Denied(rule, f"the model {model} is not to be used")
        other = next((one for form in forms for one in may_be if _means(form, one)), None)
        other = other or next((form for form in forms if _may_become(model, form)), None)
        if other is not None:
            return Denied(rule, f"the model {model} may be {other}")
    return None


def undecided(rules: Sequence[str], lane: str, known: Known = _NOTHING) -> Denied | None:
    """Return the first rule that the own default of a lane may break, where nobody knows what that default is."""
    for rule in rules:
        word = _for_lane(rule, lane)
        if word is not None and (lane not in VENDOR_OF or _of_vendor(word, lane, known)):
            return Denied(rule, f"{lane} takes a model that is not known here where none is named", known=False)
    return None


def mistyped(rules: Sequence[str], known: Known = _NOTHING) -> list[str]:
    """Return a sentence for each rule that stops no model that is known here and looks like a slip of the pen."""
    ids = {*_ids(known), *(one for dual in DUAL.values() for one in (dual.devin, dual.openrouter)), *known.listed}
    names = {name for one in ids for name in (one.lower(), _bare(one.lower()))}
    names |= {word.lower() for word in (*known.own, *ALIASES, *DUAL)}
    return [said for rule in rules if (said := _slip(rule, sorted(names), known)) is not None]


def _slip(rule: str, names: Sequence[str], known: Known) -> str | None:
    head, colon, rest = rule.lower().partition(":")
    lane = f"{head}:" if colon and (head in _LANES or f"{head}:" in LOCAL_PREFIXES) else ""
    word = rest if lane else rule.lower()
    if _ODD.search(word) is not None:
        return f"{rule[:80]!a} stops nothing: models have no such names (commas or spaces stand between rules)"
    forms = _forms(word, known) if word and "*" not in word else []
    if not forms or any(_means(form, name) for form in forms for name in names):
        return None
    near = next((one for one in difflib.get_close_matches(word, names, n=3) if _digits(one, word)), None)
    return near and f"{rule[:80]!a} stops no model that is known here; did you mean {lane}{near}?"


def _digits(one: str, other: str) -> bool:
    """Whether two names tell of one version: another one may just not be out yet."""
    return re.findall(r"\d+", one) == re.findall(r"\d+", other)


def _of_vendor(word: str, lane: str, known: Known) -> bool:
    """Whether a rule can mean a model of a lane that has one vendor's models."""
    forms = _forms(word, known)
    ids = [name for row in ALIASES.values() if row.lane == lane for name in _names(lane, row.model, known)]
    return any(family_of(_bare(form)) == lane or any(_means(form, one) for one in ids) for form in forms)


def _for_lane(rule: str, lane: str) -> str | None:
    """Return the rule without the lane that it is for; None where it is for another lane."""
    word = rule.lower()
    head, colon, rest = word.partition(":")
    if f"{head}:" in LOCAL_PREFIXES:
        return rest if lane == "local" else None
    if colon and head == lane:
        return rest or "*"
    return None if colon and rest and head in _LANES else word


def _forms(word: str, known: Known) -> list[str]:
    """Return the names that a rule stands for: itself, and the ids of an alias."""
    if "*" in word:
        return [word]
    row = _row(word, known)
    dual = DUAL.get(word)
    more = [row.model] if row is not None else []
    more += [dual.devin, dual.openrouter] if dual is not None else []
    return list(dict.fromkeys([word, *(one.lower() for one in more)]))


def _row(word: str, known: Known) -> Alias | None:
    own = next((row for alias, row in known.own.items() if alias.lower() == word), None)
    return own or ALIASES.get(word)


def _names(lane: str, model: str, known: Known) -> list[str]:
    """Return the names under which one model is known, in lower case."""
    name = model.lower()
    words = [alias for alias, row in (*known.own.items(), *ALIASES.items()) if row.model.lower() == name]
    both = next(((dual.devin, dual.openrouter) for dual in DUAL.values() if name in (dual.devin, dual.openrouter)), ())
    vendor = VENDOR_OF.get(family_of(_bare(name)) or lane)
    prefixed = [f"{vendor}/{_bare(name)}"] if vendor is not None else []
    plain = _SUFFIX.sub("", name)
    found = [name, _bare(name), plain, _bare(plain), *(word.lower() for word in words), *both, *prefixed]
    return [one for one in dict.fromkeys(found) if one]


def _ids(known: Known) -> Iterator[str]:
    for row in (*known.own.values(), *ALIASES.values()):
        yield row.model.lower()


def _bare(name: str) -> str:
    """Return a name without the service and the vendor before it."""
    return name.rpartition("/")[2]


def _means(form: str, name: str) -> bool:
    """Whether one form of a rule means a model by one of its names."""
    if "*" in form:
        return _matches(form, name)
    if form == name:
        return True
    if (suffix := _SUFFIX.search(form)) is not None:  # ``x:free`` and ``opus[1m]`` are one edition of a model
        return name.endswith(suffix[0]) and _means(form[: suffix.start()], name[: -len(suffix[0])])
    if _WORD.fullmatch(form):
        return form in _TOKEN.findall(name)
    return same(form, name)


def _may_become(model: str, form: str) -> bool:
    """Whether a choice that leaves the version open may turn out to be one that a form means."""
    if "*" not in form:
        return same(model, form) and _same_edition(model, form)
    word, family = _bare(model.lower()), family_of(_bare(model))
    if family is None or family_of(_bare(form)) != family or any(sign.isdigit() for sign in word):
        return False
    told = set(_TOKEN.findall(_bare(form))) - {family, VENDOR_OF[family]}
    return all(one.isdigit() or one in _TOKEN.findall(word) for one in told)


def _same_edition(model: str, other: str) -> bool:
    """Whether ``other`` is of no edition (``:free``, ``[1m]``), or of that which ``model`` names."""
    suffix = _SUFFIX.search(other)
    return suffix is None or model.lower().endswith(suffix[0])


def _matches(pattern: str, name: str) -> bool:
    """Whether a pattern, in which only ``*`` is special, matches the whole name. Linear in pattern and name."""
    first, *rest = pattern.split("*")
    if not name.startswith(first):
        return False
    place, *middle = len(first), *rest[:-1]
    for part in middle:
        found = name.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(name) - place >= len(rest[-1]) and name.endswith(rest[-1])
