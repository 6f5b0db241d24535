"""The tokens of a run, from the file that ``--usage-output-file`` names. Seen on 1.0.102."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...messages.job import TokenUsage
from ...messages.lane_events import LaneEvent, UsageReported
from ..values import as_count, as_object, as_word

_MODELS = 16


def reported(data: bytes) -> list[LaneEvent]:
    """Return the usage of all models, and of each; nothing where the file is empty, cut or tells zeros."""
    try:
        report = json.loads(data)
    except (ValueError, RecursionError):
        return []
    by_model: dict[str, TokenUsage] = {}
    for name, value in list(as_object(as_object(report).get("modelMetrics")).items())[:_MODELS]:
        usage = _usage(as_object(as_object(value).get("usage")))
        if usage is not None and (model := as_word(name)) is not None:
            by_model[model] = usage
    if not by_model:
        return []
    return [UsageReported(usage=_sum(by_model), by_model=by_model)]


def _usage(row: Mapping[str, Any]) -> TokenUsage | None:
    """Return one model's tokens. Copilot counts cached tokens within ``inputTokens``; here they are apart."""
    total, output = as_count(row.get("inputTokens")), as_count(row.get("outputTokens"))
    if not total and not output:
        return None
    cached = as_count(row.get("cacheReadTokens"))
    return TokenUsage(
        input=None if total is None else max(0, total - (cached or 0)),
        cached_input=cached,
        cache_write=as_count(row.get("cacheWriteTokens")),
        output=output,
    )


def _sum(by_model: Mapping[str, TokenUsage]) -> TokenUsage:
    """Return the sum over models; what any of them leaves unknown is unknown."""
    sums: dict[str, int | None] = {}
    for name in ("input", "cached_input", "cache_write", "output"):
        counts = [getattr(usage, name) for usage in by_model.values()]
        sums[name] = None if None in counts else sum(counts)
    return TokenUsage(**sums)
