"""Codex CLI driving a model of OpenRouter, metered on the person's key there. Facts seen on 0.171.0 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
