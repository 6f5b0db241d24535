"""What a model's name means on a lane that was named. One rule per kind of lane.

A lane that was named is the one that runs, or the combination is refused with what to type instead: nothing is
moved to another. Vendors' own models (Claude, GPT, Gemini) run on their own lane and nowhere else, unless an id of
another service says so (``anthropic/...`` is OpenRouter's). Engines with models of their own get any name as it is.
"""

from __future__ import annotations

import difflib

from ...messages.refusals import RefusalCode, Refused
from .aliases import DUAL, Alias, family_of
from .asking import Ask, Resolved
from .providers import ABSENT
from .refusing import conflict, image, instead, words_of
from .spelling import misspelt

VENDORS = ("claude", "codex", "gemini")
"""Lanes that serve one vendor's models and no others."""

OPENROUTER = {"cc": "claude", "codexor": "codex"}
"""Lane over OpenRouter → the lane of the same program on its vendor's own models."""

BACKEND = {"claude": "Claude", "codex": "ChatGPT", "gemini": "Gemini"}
_ANY_NAME = frozenset({"local", "embedded"})
"""Lanes whose models are called as their owner likes: no name of theirs is a misspelt one."""
_KIMI = frozenset({"droid", "warp"})
_CLAUDE_WORDS = ("claude", "anthropic/")


def on_lane(ask: Ask, lane: str, model: str) -> Resolved | Refused:  # noqa: PLR0911 - one kind of lane after the other
    """Resolve a model on a named lane: it runs there, or is refused."""
    if model == lane:
        return ask.default(lane)
    row = ask.row(model)
    if row is None and lane not in _ANY_NAME and (wrong := misspelt(ask, model, lane)) is not None:
        return wrong
    if lane in VENDORS:
        return _vendor(ask, lane, model, row)
    if lane in OPENROUTER:
        return _openrouter(ask, lane, model, row)
    if lane == "devin":
        return _devin(ask, model, row)
    if lane == "claudex":
        return _claudex(ask, model, row)
    own = ask.known.own.get(model)
    if own is not None and own.lane == lane:
        return ask.to(lane, own.model, own.tier)
    return ask.to(lane, "kimi-k3" if lane in _KIMI and model == "kimi" else model, None)


def _home(model: str, row: Alias | None) -> str | None:
    """Return the vendor's lane that serves a model, if it is a vendor's own."""
    if row is not None:
        return row.lane if row.lane in VENDORS else None
    return family_of(model)


def _vendor(ask: Ask, lane: str, model: str, row: Alias | None) -> Resolved | Refused:
    if row is not None and row.use == "image":
        return image(model)
    home = _home(model, row)
    if home == lane:
        return ask.to(lane, row.model if row else model, row.tier if row else None)
    if home is not None:
        message = f"{model} is served only by {ABSENT.get(home, home)}, not by the {lane} lane."
        return conflict(message, instead(ask, home, model, f"a model of {lane}: {words_of(lane)}"))
    if row is None and "/" not in model and model.lower() not in DUAL:
        return ask.to(lane, model, None, f"{model} is not in the table; sent to {lane} as it is.")
    metered = model.lower() in DUAL or row is None or row.lane in OPENROUTER
    other = ("codexor" if lane == "codex" else "cc") if metered else row.lane if row else ""
    also = "" if not metered else "; over OpenRouter it is metered on your key there"
    message = f"{model} is not a model of the {lane} lane{also}."
    return conflict(message, instead(ask, other, model, f"a model of {lane}: {words_of(lane)}"))


def _openrouter(ask: Ask, lane: str, model: str, row: Alias | None) -> Resolved | Refused:
    if row is not None and row.use == "image":
        return image(model)
    if (dual := DUAL.get(model.lower())) is not None and model not in ask.known.own:
        return ask.to(lane, dual.openrouter, ask.tier_of_row(model))
    home = _home(model, row)
    if home is not None:
        message = f"{model} is served by the {BACKEND[home]} backend only, not over OpenRouter."
        return conflict(message, instead(ask, home, model, "OpenRouter's own id: VENDOR/MODEL"))
    if row is not None and row.lane == "devin":
        message = f"{model} is Devin's own id, not one of OpenRouter."
        return conflict(message, instead(ask, "devin", model, f"a model of {lane}: {words_of('cc')}"))
    if row is not None or "/" in model:
        return ask.to(lane, row.model if row else model, row.tier if row else None)
    return _no_openrouter_id(ask, model)


def _no_openrouter_id(ask: Ask, model: str) -> Refused:
    same = [name for name in sorted(ask.known.listed) if name.rpartition("/")[2] == model]
    near = same or difflib.get_close_matches(model, sorted(ask.known.listed), n=3, cutoff=0.5)
    return Refused(
        code=RefusalCode.UNKNOWN_MODEL,
        message=f"{model!r} is no id of OpenRouter: they are written VENDOR/MODEL.",
        hint=f"perhaps {', '.join(near[:3])}"
        if near
        else f"osrc models --refresh lists them; known here: {words_of('cc')}",
    )


def _devin(ask: Ask, model: str, row: Alias | None) -> Resolved | Refused:
    if row is not None and row.use == "image":
        return image(model)
    if (dual := DUAL.get(model.lower())) is not None and model not in ask.known.own:
        return ask.to("devin", dual.devin, ask.tier_of_row(model))
    home = _home(model, row)
    own = f"a model of devin: {words_of('devin')}"
    if home is not None:
        message = f"{model} is served only by {ABSENT.get(home, home)}, not by the devin lane."
        return conflict(message, instead(ask, home, model, own))
    if row.lane in OPENROUTER if row is not None else "/" in model:
        message = f"{model} is had over OpenRouter only, metered on your key there, not on devin."
        return conflict(message, instead(ask, row.lane if row is not None else "cc", model, own))
    if row is not None:
        return ask.to("devin", row.model, row.tier)
    return ask.to("devin", model, None, f"{model} is not in the table; sent to devin as it is.")


def _claudex(ask: Ask, model: str, row: Alias | None) -> Resolved | Refused:
    name = (row.model if row else model).lower()
    if _home(model, row) == "claude" or family_of(name) == "claude" or any(word in name for word in _CLAUDE_WORDS):
        return conflict(
            f"{model} is a Claude model: a subscription's model through somebody else's proxy is against its terms.",
            instead(ask, "claude", model, f"a model of ChatGPT: {words_of('codex')}"),
        )
    if row is not None and row.use == "image":
        return image(model)
    return ask.to("claudex", row.model if row else model, row.tier if row else None)
