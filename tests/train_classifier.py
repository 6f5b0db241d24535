"""Learn ``lanes/advice/weights.py`` anew from the labelled tasks that are not held out.

    make classifier

Logistic regression over the features of ``lanes/advice/features.py``, by stochastic gradient descent with a fixed
seed: the same tasks make the same weights. Takes some minutes; nothing but the standard library is needed.
"""

from __future__ import annotations

import math
import random
import sys
from base64 import b85encode
from pathlib import Path
from textwrap import wrap
from zlib import compress

sys.path.insert(0, str(Path(__file__).parent))

import outsourcerer
from fakes.advice_tasks import Labelled, read_tasks
from outsourcerer.lanes.advice.classify import Kind, look, table_scores
from outsourcerer.lanes.advice.features import SIZE, features
from outsourcerer.lanes.advice.structure import read

KINDS = [kind.value for kind in Kind]
EPOCHS, RATE, DECAY = 30, 0.2, 3e-4
PLACE = Path(outsourcerer.__path__[0]) / "lanes" / "advice" / "weights.py"
Weights = dict[int, list[float]]


def seen(text: str) -> dict[int, float]:
    """The features of a task, as the classifier sees them."""
    shape = read(text)
    return dict(features(shape, list(table_scores(shape, look(shape)).values())))


def train(tasks: list[Labelled]) -> Weights:
    """Weights by feature, one for each kind (AdaGrad)."""
    shuffled = random.Random(1)
    samples = [(seen(task.text), KINDS.index(task.kind)) for task in tasks]
    weights: Weights = {}
    squares: Weights = {}
    for _ in range(EPOCHS):
        shuffled.shuffle(samples)
        for given, kind in samples:
            errors = chances(weights, given)
            errors[kind] -= 1.0
            for feature, value in given.items():
                own = weights.setdefault(feature, [0.0] * len(KINDS))
                past = squares.setdefault(feature, [1e-8] * len(KINDS))
                for place, error in enumerate(errors):
                    slope = error * value + DECAY * own[place]
                    past[place] += slope * slope
                    own[place] -= RATE * slope / math.sqrt(past[place])
    return weights


def chances(weights: Weights, given: dict[int, float]) -> list[float]:
    """Chances by weights that are still being learned."""
    sums = [0.0] * len(KINDS)
    for feature, value in given.items():
        if (own := weights.get(feature)) is not None:
            sums = [one + weight * value for one, weight in zip(sums, own, strict=True)]
    most = max(sums)
    parts = [math.exp(one - most) for one in sums]
    whole = sum(parts)
    return [part / whole for part in parts]


def written(weights: Weights) -> str:
    """The module: weights as bytes, of each feature kind by kind."""
    unit = max(abs(one) for own in weights.values() for one in own) / 127
    count = SIZE + 3 * len(KINDS) + 1
    flat = bytearray(count * len(KINDS))
    for feature, own in weights.items():
        for place, one in enumerate(own):
            flat[feature * len(KINDS) + place] = round(one / unit) & 0xFF
    lines = "\n".join(wrap(b85encode(compress(bytes(flat), 9)).decode(), 110))
    head = '"""Made by ``tests/train_classifier.py``: never edited."""\n\n'
    return f'{head}SCALE = {unit!r}\nWEIGHTS = r"""\n{lines}\n"""\n'


def main() -> None:
    """Write the module and say what it was made of."""
    tasks = read_tasks()
    known = [task for task in tasks if not task.held_out]
    PLACE.write_text(written(train(known)), encoding="utf-8")
    sys.stdout.write(f"learned from {len(known)} of {len(tasks)} tasks\n")


if __name__ == "__main__":
    main()
