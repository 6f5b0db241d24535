"""Reading what a CLI says of its own models. Pure; from public facts (2026-11), never run with the real programs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .framing import strip_controls

MODELS_CAP = 500
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+-]{1,127}")
_AVAILABLE = re.compile(r"^.{0,200}?\bavailable(?: models)?:(.*)$", re.IGNORECASE | re.MULTILINE)


def one_a_line(output: bytes) -> tuple[str, ...]:
    """Return the ids of a list with one on each line: ``agy models``. A line's first word counts."""
    words = (line.strip(" \t*-\u2022").split(maxsplit=1)[:1] for line in _text(output).splitlines())
    return _unique(word[0] for word in words if word and _looks_like_an_id(word[0]))


def after_available(output: bytes) -> tuple[str, ...]:
    """Return the ids that follow ``Available:``, which is how ``devin`` refuses a model that it does not have."""
    found = _AVAILABLE.search(_text(output))
    return () if found is None else _unique(word.strip(" .'\"`") for word in found[1].split(","))


def _looks_like_an_id(word: str) -> bool:
    """Whether it is no heading: ids of models have a digit or a dash."""
    return any(char.isdigit() or char == "-" for char in word)


def _text(output: bytes) -> str:
    return strip_controls(output[: 256 * 1024].decode("utf-8", "replace"))


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    kept = dict.fromkeys(word for word in words if _NAME.fullmatch(word))
    return tuple(kept)[:MODELS_CAP]
