"""Codex CLI, headless, on the user's own sign-in. Facts seen on 0.171.0 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
