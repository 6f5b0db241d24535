"""What a model's name means on a lane that was named. One rule per kind of lane.

Vendors' own models (Claude, GPT, Gemini) run on their own lane and nowhere else, unless an id of another
service says so (``anthropic/...`` is OpenRouter's). Engines with models of their own get any name as it is.
"""

from __future__ import annotations

import difflib

from ...messages.refusals import RefusalCode, Refused
from .aliases import DUAL, Alias, family_of
from .asking import Ask, Resolved
from .providers import ABSENT
from .refusing import conflict, image, words_of

VENDORS = ("claude", "codex", "gemini")
"""Lanes that serve one vendor's models and no others."""

OPENROUTER = {"cc": "claude", "codexor": "codex"}
"""Lane over OpenRouter → the lane of the same program on its vendor's own models."""

BACKEND = {"claude": "Claude", "codex": "ChatGPT", "gemini": "Gemini"}
_KIMI = frozenset({"droid", "warp"})
_CLAUDE_WORDS = ("claude", "anthropic/")


def on_lane(ask: Ask, lane: str, model: str) -> Resolved | Refused:  # noqa: PLR0911 - one kind of lane after the other
    """Resolve a model on a named lane."""
    if model == lane:
        return ask.default(lane)
    row = ask.row(model)
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
        return conflict(
            f"{model} is served only by {ABSENT.get(home, home)}, not by the {lane} lane.",
            f"leave out --lane, or take a model of {lane}: {words_of(lane)}",
        )
    metered = model.lower() in DUAL or (row is not None and row.lane in OPENROUTER) or (row is None and "/" in model)
    if metered and lane == "codex" and "codexor" in ask.lanes:
        found = _openrouter(ask, "codexor", model, row)
        said = f"{model} is no model of a ChatGPT plan: lane codexor, Codex over OpenRouter, metered on your key there."
        return found if isinstance(found, Refused) else ask.to(found.lane, found.model, found.tier, said)
    if row is not None or "/" in model:
        also = "; --lane cc runs Claude Code over OpenRouter" if metered and lane == "claude" else ""
        return conflict(f"{model} is not a model of the {lane} lane.", f"models of {lane}: {words_of(lane)}{also}")
    return ask.to(lane, model, None, f"{model} is not in the table; sent to {lane} as it is.")


def _openrouter(  # noqa: PLR0911 - one rule after the other
    ask: Ask, lane: str, model: str, row: Alias | None
) -> Resolved | Refused:
    if row is not None and row.use == "image":
        return image(model)
    if (dual := DUAL.get(model.lower())) is not None and model not in ask.known.own:
        return ask.to(lane, dual.openrouter, ask.tier_of_row(model))
    home = _home(model, row)
    if home is not None and home == OPENROUTER[lane] and home in ask.lanes:
        said = f"{model} is served by your own {BACKEND[home]} sign-in only: lane {home}, not {lane}."
        return ask.to(home, row.model if row else model, row.tier if row else None, said)
    if home is not None:
        return conflict(
            f"{model} is served by the {BACKEND[home]} backend only, not over OpenRouter.",
            "leave out --lane, or name OpenRouter's own id: VENDOR/MODEL",
        )
    if row is not None and row.lane == "devin":
        if "devin" not in ask.lanes:
            return conflict(f"{model} is a model of Devin, not of OpenRouter.", f"models of {lane}: {words_of('cc')}")
        said = f"{model} is Devin's own id: lane devin, not {lane}; -m glm and VENDOR/MODEL run over OpenRouter."
        return ask.to("devin", row.model, row.tier, said)
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


def _devin(  # noqa: PLR0911 - one rule after the other
    ask: Ask, model: str, row: Alias | None
) -> Resolved | Refused:
    if row is not None and row.use == "image":
        return image(model)
    if (dual := DUAL.get(model.lower())) is not None and model not in ask.known.own:
        return ask.to("devin", dual.devin, ask.tier_of_row(model))
    home = _home(model, row)
    if home is not None and home in ask.lanes:
        said = f"{model} runs on its own lane: {home}, not devin."
        return ask.to(home, row.model if row else model, row.tier if row else None, said)
    if home is not None:
        return conflict(f"{model} is served only by {ABSENT.get(home, home)}.", f"models of devin: {words_of('devin')}")
    metered = row.lane in OPENROUTER if row is not None else "/" in model
    if metered and "cc" in ask.lanes:
        said = f"{model} is had over OpenRouter only: lane cc, not devin, metered on your key there."
        return ask.to("cc", row.model if row else model, row.tier if row else None, said)
    if row is not None:
        return ask.to("devin", row.model, row.tier)
    return ask.to("devin", model, None, f"{model} is not in the table; sent to devin as it is.")


def _claudex(ask: Ask, model: str, row: Alias | None) -> Resolved | Refused:
    name = (row.model if row else model).lower()
    if _home(model, row) == "claude" or family_of(name) == "claude" or any(word in name for word in _CLAUDE_WORDS):
        return conflict(
            f"{model} is a Claude model: a subscription's model through somebody else's proxy is against its terms.",
            f"leave out --lane: {model} runs on the claude lane; or take a model of ChatGPT: {words_of('codex')}",
        )
    if row is not None and row.use == "image":
        return image(model)
    return ask.to("claudex", row.model if row else model, row.tier if row else None)
