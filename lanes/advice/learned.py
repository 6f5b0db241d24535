"""The learned half of the classifier: weights that many labelled tasks gave (``tests/train_classifier.py``)."""

from __future__ import annotations

import math
from base64 import b85decode
from collections.abc import Mapping
from functools import cache
from zlib import decompress

from .weights import SCALE, WEIGHTS


def chances(features: Mapping[int, float], kinds: int) -> list[float]:
    """Return how likely each kind is, in their order; they add up to 1."""
    weights = _weights()
    sums = [0.0] * kinds
    for feature, value in features.items():
        place = feature * kinds
        for kind in range(kinds):
            sums[kind] += weights[place + kind] * value
    most = max(sums)
    parts = [math.exp((one - most) * SCALE) for one in sums]
    whole = sum(parts)
    return [part / whole for part in parts]


@cache
def _weights() -> memoryview:
    """Return the weights, kind by kind of each feature, from -127 to 127."""
    return memoryview(decompress(b85decode("".join(WEIGHTS.split())))).cast("b")
