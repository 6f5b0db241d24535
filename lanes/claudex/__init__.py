"""Claude Code driving a ChatGPT model through the person's own local proxy, which is only looked for."""

from .lane import LANE

__all__ = ["LANE"]
