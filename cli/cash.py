"""Money in JSON: as it would be written down, without the noise of binary fractions (0.30000000000000004 is 0.3).

Standard library only: this is on the way of every answer in JSON.
"""

from __future__ import annotations

from typing import Any

_MONEY = "usd"
"""What the name of every key holds whose value is an amount of money."""
_AS_IT_IS = frozenset({str, int, bool, type(None)})
"""Most of what is written: looked at no further, for ten thousand jobs are many values."""


def written(value: Any) -> Any:  # noqa: ANN401 - any JSON value, and the same kind of one
    """Return a JSON value in which every amount of money has at most 12 significant digits.

    No amount becomes nothing, and what is no amount is as it was.

    >>> written({"cost": {"cash_usd": 0.1 + 0.2}, "age_s": 0.1 + 0.2})
    {'cost': {'cash_usd': 0.3}, 'age_s': 0.30000000000000004}
    """
    if isinstance(value, dict):
        return {
            key: inner if type(inner) in _AS_IT_IS else _amounts(inner) if _MONEY in str(key) else written(inner)
            for key, inner in value.items()
        }
    return [written(inner) for inner in value] if isinstance(value, list | tuple) else value


def _amounts(value: Any) -> Any:  # noqa: ANN401 - as above
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: _amounts(inner) for key, inner in value.items()}
    return [_amounts(inner) for inner in value] if isinstance(value, list | tuple) else value
