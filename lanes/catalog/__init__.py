"""What people type and what it means: aliases, tiers, providers, billing pools. Data, and one pure resolver."""

from .asking import ChooseByReadiness, Known, Resolved
from .resolve import resolve
from .tiers import tier_of

__all__ = ["ChooseByReadiness", "Known", "Resolved", "resolve", "tier_of"]
