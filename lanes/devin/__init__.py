"""Devin CLI, headless. Built from public facts (2026-11); never run with the real program."""

from .lane import LANE

__all__ = ["LANE"]
