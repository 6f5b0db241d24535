"""GitHub Copilot CLI, headless, on the person's own plan or provider. Facts seen on 1.0.102 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
