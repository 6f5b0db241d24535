"""pi, headless, on the person's own keys and sign-ins. Facts seen on 0.73.1 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
