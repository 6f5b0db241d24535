"""OpenCode, headless, on the providers that its user has set up. Facts seen on 1.18.33 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
