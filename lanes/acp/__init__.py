"""``acp:<command>``: any agent that speaks the Agent Client Protocol over stdio, by its command alone."""

from .lane import LANE, lane_of

__all__ = ["LANE", "lane_of"]
