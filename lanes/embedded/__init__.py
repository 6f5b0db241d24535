"""The embedded lane: a real model inside a process of ours, from a GGUF file. No account, no network."""

from .lane import LANE

__all__ = ["LANE"]
