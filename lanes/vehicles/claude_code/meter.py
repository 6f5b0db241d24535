"""What a turn of Claude Code has used while it still goes on. Pure.

Seen on 2.1.332: each block of a message is a line of its own with the message's id and the usage of the message's
beginning. Its input is whole then; its output is 1, and the sum comes with the ``result`` line alone. So the output is
reckoned from what was said, thought and called: an estimate, which the final sum replaces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ....messages.job import TokenUsage
from ....messages.lane_events import UsageMetered
from ...catalog.quoting import tokens_in
from ...values import as_count, as_list, as_object, as_word

_MODELS = 16
_OPEN = 64
"""Messages that may still get blocks: sub-agents' come between one another."""
_INPUTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Meter:
    """Adds up model calls, by model. A message counts once, however many lines it has."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._inputs: dict[str, list[int]] = {}
        self._outputs: dict[str, int] = {}
        self._open: dict[str, tuple[str, int, int]] = {}
        """Message → its model, the characters of it so far, and the output that was counted for it."""
        self._told = True

    def message(self, message: Mapping[str, Any], model: str | None) -> None:
        """Take a line of a message."""
        name, usage = as_word(message.get("id")) or "", as_object(message.get("usage"))
        known = name in self._open
        key, characters, counted = self._open.pop(name, (self._key(model), 0, 0))
        if not known:
            inputs = self._inputs.setdefault(key, [0, 0, 0])
            for place, word in enumerate(_INPUTS):
                inputs[place] += as_count(usage.get(word)) or 0
        characters += sum(map(_length, as_list(message.get("content"))))
        output = max(as_count(usage.get("output_tokens")) or 0, tokens_in(characters))
        self._outputs[key] = self._outputs.get(key, 0) + max(output - counted, 0)
        self._open[name] = (key, characters, max(output, counted))
        if len(self._open) > _OPEN:
            del self._open[next(iter(self._open))]
        self._told = False

    def report(self) -> UsageMetered | None:
        """Return what was used so far, where that is news."""
        if self._told:
            return None
        self._told = True
        return UsageMetered(
            by_model={
                key: TokenUsage(input=fresh, cached_input=cached, cache_write=written, output=self._outputs.get(key, 0))
                for key, (fresh, cached, written) in self._inputs.items()
            }
        )

    def _key(self, model: str | None) -> str:
        """Return the model's name, or no name where there are too many: the sum counts all the same."""
        return model if model is not None and (model in self._inputs or len(self._inputs) < _MODELS) else ""


def _length(block: object) -> int:
    """Return how many characters a model wrote for a block."""
    part = as_object(block)
    written = sum(len(text) for name in ("text", "thinking") if isinstance(text := part.get(name), str))
    return written + sum(len(name) + _size(value) for name, value in as_object(part.get("input")).items())


def _size(value: object) -> int:
    """Return how many characters a value has; a text, which may be a whole file, is not written anew for it."""
    if isinstance(value, str):
        return len(value)
    try:
        return len(json.dumps(value, ensure_ascii=False))
    except RecursionError:  # as deep as could just be read
        return 0
