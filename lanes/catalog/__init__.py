"""What people type and what it means: aliases, tiers, providers, billing pools. Data, and one pure resolver."""

from .resolve import ChooseByReadiness, Resolved, resolve
from .tiers import tier_of

__all__ = ["ChooseByReadiness", "Resolved", "resolve", "tier_of"]
