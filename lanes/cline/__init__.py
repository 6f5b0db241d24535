"""Cline, headless, on the provider that its user has set up. Facts seen on 3.0.65 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
