"""What an answer may be declared to look like, so that one that does not is told for free. Pure.

``json`` · ``keys:a,b`` (a JSON object that has them) · ``regex:...`` (found somewhere in the answer; RE2's syntax,
which takes linear time on whatever an answer holds).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from .answers import value_of

PATTERN_LIMIT = 1000
"""Longest pattern, in characters."""


class ContractError(ValueError):
    """A contract that means nothing; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Contract:
    """One declared contract. ``words`` is how it was written."""

    kind: Literal["json", "keys", "regex"]
    words: str
    keys: tuple[str, ...] = ()
    pattern: str = ""


def parse_contract(words: str) -> Contract:
    """Return the contract that a person wrote. Raises ContractError."""
    kind, colon, rest = words.strip().partition(":")
    kind = kind.strip().lower()
    if kind == "json" and not colon:
        return Contract("json", "json")
    if kind == "keys" and colon:
        keys = tuple(dict.fromkeys(key.strip() for key in rest.split(",") if key.strip()))
        if not keys:
            raise ContractError("keys: names no key, for example keys:name,port")
        return Contract("keys", f"keys:{','.join(keys)}", keys=keys)
    if kind == "regex" and colon and rest:
        if len(rest) > PATTERN_LIMIT:
            raise ContractError(f"the pattern is longer than {PATTERN_LIMIT} characters")
        if _compiled(rest) is None:
            raise ContractError(f"{rest[:80]!a} is no regular expression here (RE2: no look-around, no \\1)")
        return Contract("regex", f"regex:{rest}", pattern=rest)
    raise ContractError(f"{words[:80]!a} is no contract: json, keys:a,b or regex:PATTERN")


def kept(contract: Contract, answer: str) -> bool:
    """Whether an answer keeps it."""
    match contract.kind:
        case "json":
            return value_of(answer) is not None
        case "keys":
            value = value_of(answer)
            return isinstance(value, dict) and all(key in value for key in contract.keys)
        case "regex":
            pattern = _compiled(contract.pattern)
            return pattern is not None and pattern.search(answer.strip()) is not None


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> Any | None:  # noqa: ANN401  google-re2 has no types
    import re2  # noqa: PLC0415  a megabyte, for whoever declares a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None
