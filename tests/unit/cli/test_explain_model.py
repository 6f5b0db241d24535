"""What explain says of a job's model."""

from __future__ import annotations

import pytest
from outsourcerer.cli.commands.explain import _model


@pytest.mark.parametrize(
    ("asked", "seen", "words"),
    [
        (None, None, None),
        (None, "fake-1", "its own default (observed: fake-1)"),
        ("opus", None, "opus"),
        ("opus", "opus", "opus"),
        ("opus", "claude-opus-5", "opus (observed: claude-opus-5)"),
    ],
)
def test_the_models_words(asked: str | None, seen: str | None, words: str | None) -> None:
    assert _model({"model": asked, "model_observed": seen}) == words
