"""OpenRouter's catalogue as it was last fetched: which models there are and what they cost. Pure.

Shape (public facts, 2026-11): ``{"data": [{"id", "created", "context_length", "pricing": {"prompt",
"completion", "input_cache_read"}, "architecture": {"input_modalities", "output_modalities"}}]}``, prices in USD per
token, written as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...messages.job import TokenUsage
from ...messages.model_names import canonical
from ...messages.vocabulary import Tier
from ..prices import usd_per_token
from ..values import as_count, as_list, as_number, as_object

MODELS_CAP = 20_000
ID_CAP = 200
MILLION = 1_000_000.0
BUDGET_USD_M = 2.0
MID_USD_M = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One model of the catalogue. Prices are USD per token; None is unknown."""

    id: str
    prompt: float | None = None
    completion: float | None = None
    cached: float | None = None
    context: int | None = None
    created: float | None = None
    inputs: frozenset[str] | None = None
    """What it takes: text, image, audio ...; None is unknown."""
    outputs: frozenset[str] | None = None
    """What it answers in."""

    @property
    def free(self) -> bool:
        """Whether both prices are known to be zero."""
        return self.prompt == 0 and self.completion == 0


def parse(content: bytes) -> Mapping[str, Listed] | None:
    """Return the models by id; None when ``content`` is no catalogue."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    rows = as_object(data).get("data")
    if not isinstance(rows, list):
        return None
    found = (_listed(as_object(row)) for row in rows[:MODELS_CAP])
    return {model.id: model for model in found if model is not None}


def _listed(row: Mapping[str, object]) -> Listed | None:
    name = row.get("id")
    if not isinstance(name, str) or not 0 < len(name) <= ID_CAP or not name.isprintable() or " " in name:
        return None
    pricing, architecture = as_object(row.get("pricing")), as_object(row.get("architecture"))
    return Listed(
        id=name,
        prompt=usd_per_token(pricing.get("prompt")),
        completion=usd_per_token(pricing.get("completion")),
        cached=usd_per_token(pricing.get("input_cache_read")),
        context=as_count(row.get("context_length")),
        created=as_number(row.get("created")),
        inputs=_modalities(architecture.get("input_modalities")),
        outputs=_modalities(architecture.get("output_modalities")),
    )


def _modalities(value: object) -> frozenset[str] | None:
    """Return the words of a list; None where there is none, or no word in it."""
    return frozenset(word.lower() for word in as_list(value)[:16] if isinstance(word, str) and word) or None


VENDOR_OF = {"claude": "anthropic", "codex": "openai", "gemini": "google"}
"""Lanes whose own models the catalogue lists under their vendor, at the vendor's price."""


def by_vendor(models: Iterable[Listed]) -> Mapping[tuple[str, str], Listed]:
    """Return the models by vendor and key (``canonical``); not those whose name stands for two prices, nor variants."""
    found: dict[tuple[str, str], Listed | None] = {}
    for model in models:
        vendor, _, name = model.id.partition("/")
        if not name or ":" in name:
            continue
        other = found.setdefault((vendor, canonical(name)), model)
        if other is not None and _prices(other) != _prices(model):
            found[vendor, canonical(name)] = None
    return {key: model for key, model in found.items() if model is not None}


def _prices(model: Listed) -> tuple[float | None, ...]:
    return (model.prompt, model.completion, model.cached)


def tier_by_price(
    model: Listed | None, budget_usd_m: float = BUDGET_USD_M, mid_usd_m: float = MID_USD_M
) -> Tier | None:
    """Return the tier that a model's output price suggests, None without one."""
    if model is None or model.completion is None:
        return None
    per_million = model.completion * MILLION
    return Tier.BUDGET if per_million < budget_usd_m else Tier.MID if per_million < mid_usd_m else Tier.FRONTIER


def estimate(model: Listed | None, usage: TokenUsage | None) -> float | None:
    """Return what the tokens would cost at the listed price; None where a price or a count is unknown."""
    if model is None or usage is None or model.prompt is None or model.completion is None:
        return None
    if usage.input is None or usage.output is None:
        return None
    cached = model.prompt if model.cached is None else model.cached
    fresh = usage.input + (usage.cache_write or 0)
    return fresh * model.prompt + (usage.cached_input or 0) * cached + usage.output * model.completion


def is_catalogue(content: bytes) -> bool:
    """Whether ``content`` may replace a cached catalogue: it lists models, and some with prices."""
    found = parse(content)
    return found is not None and any(model.completion is not None for model in found.values())
