"""Who is asked for a second opinion, and who decides between answers: different makers first. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase

from ..catalog.listing import VENDOR_OF
from .candidates import Candidate
from .score import Scored

MOST = 7
"""Largest panel."""

_MAKERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("anthropic", ("claude*", "opus*", "sonnet*", "haiku*", "fable*")),
    ("openai", ("gpt*", "sol", "sol-*", "terra*", "luna*", "o[0-9]", "o[0-9]-*", "codex*", "chatgpt*")),
    ("google", ("gemini*", "gemma*", "nano-banana*")),
    ("zhipu", ("glm*", "z-ai*")),
    ("deepseek", ("deepseek*",)),
    ("moonshot", ("kimi*", "moonshot*")),
    ("qwen", ("qwen*", "qwq*")),
    ("xai", ("grok*", "x-ai*")),
    ("meta", ("llama*", "meta-llama*")),
    ("mistral", ("mistral*", "mixtral*", "devstral*", "codestral*", "magistral*")),
    ("minimax", ("minimax*",)),
    ("cognition", ("swe-*", "devin*")),
)
_WORDS = re.compile(r"[/:@ ]")


def maker_of(model: str | None, lane: str = "") -> str:
    """Return who made a model, by its name; of an unknown one the name's first part, of none the lane's maker.

    >>> maker_of("z-ai/glm-5.2"), maker_of("opus"), maker_of(None, "codex"), maker_of("acme/x")
    ('zhipu', 'anthropic', 'openai', 'acme')
    """
    if not model:
        return VENDOR_OF.get(lane, lane)
    parts = [part for part in _WORDS.split(model.lower().lstrip("~")) if part]
    for part in reversed(parts):
        for maker, globs in _MAKERS:
            if any(fnmatchcase(part, glob) for glob in globs):
                return maker
    return parts[0] if parts else lane


def choose_panel(
    ranked: Sequence[Scored], pick: Scored | None, size: int, ready: Callable[[str], bool], *, cash: bool
) -> list[Candidate]:
    """Return up to ``size`` models of as many makers, the advised one first; only lanes that are ``ready``.

    What may cost cash is left out unless ``cash``. ``ready`` is asked once for each lane, and only where one of
    its models would be taken.
    """
    found: list[Candidate] = []
    makers: set[str] = set()
    for one in (*(() if pick is None else (pick,)), *ranked):
        maker = maker_of(one.candidate.model, one.candidate.lane)
        if maker in makers or not _may(one, cash=cash) or not ready(one.candidate.lane):
            continue
        makers.add(maker)
        found.append(one.candidate)
        if len(found) == size:
            break
    return found


def choose_judge(
    ranked: Sequence[Scored], asked: Collection[str], ready: Callable[[str], bool], *, cash: bool
) -> Candidate | None:
    """Return the strongest model that is none of those ``asked`` (by word or name), of another maker if possible."""
    makers = {maker_of(word) for word in asked}
    known = {word.lower() for word in asked}
    strong = sorted((one for one in ranked if _may(one, cash=cash)), key=lambda one: -one.score)
    others = [one for one in strong if not known & _names(one.candidate)]
    for wanted in (
        [one for one in others if maker_of(one.candidate.model, one.candidate.lane) not in makers],
        others,
        strong,
    ):
        best = wanted[0].score if wanted else 0.0
        for one in wanted:
            # A weaker one of another maker is no judge: the next best list then has a better one.
            if one.score < 0.8 * (strong[0].score if strong else best):
                break
            if ready(one.candidate.lane):
                return one.candidate
    return None


def _names(one: Candidate) -> set[str]:
    return {name.lower() for name in (one.word, one.model or one.lane, one.key) if name}


def _may(one: Scored, *, cash: bool) -> bool:
    return one.why_not is None and (cash or one.candidate.purse.kind in ("free", "plan"))
