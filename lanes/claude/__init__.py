"""Claude Code, headless, on the user's own sign-in. Facts seen on 2.1.332 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
