"""Text answers from TokenRouter's gateway, metered on the person's key there. Public facts of 2026-11."""

from .lane import LANE

__all__ = ["LANE"]
