"""The two base classes of every message, and nothing else."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """A frozen message. Unknown fields are refused by name: silently ignoring one would be a lie."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=False)


class Observation(BaseModel):
    """A frozen record of something seen. Unknown fields are ignored, so that newer journals still load."""

    model_config = ConfigDict(frozen=True, extra="ignore")
