"""Droid (Factory's CLI), headless, on the person's own account or own models. Facts seen on 0.215.0 (2026-11-30)."""

from .lane import LANE

__all__ = ["LANE"]
