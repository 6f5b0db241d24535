"""What the learned half of the classifier sees of a task: words, beginnings, shape, and what the tables said.

Each feature is a number (a hash of its name) and a value; ``weights.py`` has what each speaks for. Pure and quick.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from zlib import crc32

from .structure import Shape

BITS = 18
SIZE = 1 << BITS
WORDS_READ = 300
_BULK = 5.0
"""The length of all word features together, whatever the task's."""
_DIGITS = re.compile(r"\d+")
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]{2,}")


def features(shape: Shape, scores: Sequence[float]) -> Mapping[int, float]:
    """Return feature → value. ``scores`` are those of the tables, in the order of the kinds."""
    named = list(_names(shape))
    share = _BULK / math.sqrt(len(named) or 1)
    found: dict[int, float] = {}
    for name in dict.fromkeys(named):
        place = crc32(name.encode("utf-8", "replace")) % SIZE
        found[place] = found.get(place, 0.0) + share
    total = sum(max(score, 0.0) for score in scores) or 1.0
    best = max(range(len(scores)), key=scores.__getitem__)
    for kind, score in enumerate(scores):
        found[SIZE + kind] = score / 6.0
        found[SIZE + len(scores) + kind] = 1.5 * max(score, 0.0) / total
    found[SIZE + 2 * len(scores) + best] = 1.0
    found[SIZE + 3 * len(scores)] = 1.0
    return found


def _names(shape: Shape) -> Iterator[str]:
    words = [_DIGITS.sub("0", word) for word in shape.words[:WORDS_READ]]
    for word in words:
        yield f"w:{word}"
        if len(word) > 5:
            yield f"p:{word[:5]}"
    yield from (f"head:{word}" for word in words[:4])
    if words:
        yield f"first:{words[0]}"
    for run in _UNSPACED.findall(shape.folded)[:60]:
        yield from (f"c:{run[at : at + 2]}" for at in range(len(run) - 1))
    yield from (f"sign:{name}" for name, _, _ in shape.signs)
    if shape.fences:
        yield "fence"
    if shape.question:
        yield "question"
    if shape.items > 1:
        yield "list"
    yield f"length:{min(int(math.log2(shape.count + 1)), 8)}"
