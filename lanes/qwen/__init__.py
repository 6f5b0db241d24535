"""Qwen Code, headless, with the provider that it is set up for. Facts seen on 0.24.4 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
