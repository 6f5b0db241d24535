"""Gemini: the Antigravity CLI (``agy``) first, Gemini CLI where it is not installed.

Facts of Gemini CLI were seen on 0.61.0 (2026-11-30). Those of ``agy`` are public facts, not seen here.
"""

from .lane import LANE

__all__ = ["LANE"]
