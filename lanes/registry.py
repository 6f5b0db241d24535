"""Which lanes there are. Importing this imports no lane; each is loaded when it is asked for.

registry = all_lanes({"mine": toml_bytes})
lane = registry.get("claude")            # a Lane, or Refused
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Tier
from .contract import Lane
from .rows import ROWS

ENTRY_POINTS = "outsourcerer.lanes"
"""Group in which packages announce a lane: the entry point's name is the lane's, its value a ``Lane``."""

AGENTS = "acp:"
"""``acp:COMMAND`` is the lane of that agent."""


def names() -> tuple[str, ...]:
    """Return the names of the built-in lanes, in alphabetical order."""
    return tuple(sorted(ROWS))


def builtin(name: str) -> Lane:
    """Return a built-in lane. Raises KeyError for a name that is not in ``names()``."""
    if name not in ROWS:
        raise KeyError(name)
    lane: Lane = importlib.import_module(f".{name}", __package__).LANE
    return lane


@dataclass(frozen=True, slots=True)
class Registry:
    """The lanes of one state home. A value: build a new one when the files have changed."""

    custom: Mapping[str, Lane] = field(default_factory=dict)
    problems: tuple[Refused, ...] = ()
    """Why declared lanes could not be taken; the others work."""

    def names(self) -> tuple[str, ...]:
        """Return every lane's name, in alphabetical order."""
        return tuple(sorted({*ROWS, *self.custom}))

    def tiers(self, named: str | None = None) -> Mapping[str, Tier]:
        """Return each lane's default tier without loading the built-in ones.

        ``named`` is the word that a person gave for a lane: an agent's command is a lane, but in no list.
        """
        agents = {named: Tier.MID} if named is not None and named.startswith(AGENTS) else {}
        built_in = {name: row.tier for name, row in ROWS.items()}
        return {**built_in, **{name: lane.default_tier for name, lane in self.custom.items()}, **agents}

    def get(self, name: str) -> Lane | Refused:
        """Return the lane called ``name``."""
        if name in ROWS:
            return builtin(name)
        if name.startswith(AGENTS):
            from .acp import lane_of  # noqa: PLC0415 - a lane is loaded when it is asked for

            return lane_of(name.removeprefix(AGENTS))
        if name in self.custom:
            return self.custom[name]
        near = difflib.get_close_matches(name, self.names(), n=1)
        return Refused(
            code=RefusalCode.UNKNOWN_LANE,
            message=f"There is no lane {name!r}." + (f" Did you mean {near[0]}?" if near else ""),
            hint="osrc lanes lists them",
        )


def all_lanes(custom: Mapping[str, bytes], plugins: Mapping[str, object] | None = None) -> Registry:
    """Return the registry of the built-in lanes and those declared.

    ``custom`` maps the path (or bare name) of each ``lanes.d/NAME.toml`` to its content; ``plugins``
    maps each entry point's name in the group ``ENTRY_POINTS`` to what it loads to. A declared lane
    can't take a built-in name, and a file outranks a package.
    """
    from .custom import lane_name, load  # noqa: PLC0415 - pydantic and tomllib only where there are files

    lanes: dict[str, Lane] = {}
    problems: list[Refused] = []
    for name, plugin in sorted((plugins or {}).items()):
        if isinstance(plugin, Lane) and plugin.name == name and name not in ROWS:
            lanes[name] = plugin
        else:
            problems.append(_bad_plugin(name))
    for source, content in sorted(custom.items()):
        name = lane_name(source)
        lane = _taken(name, source) if name in ROWS else load(name, content, source)
        if isinstance(lane, Refused):
            problems.append(lane)
        else:
            lanes[name] = lane
    return Registry(custom=lanes, problems=tuple(problems))


def _bad_plugin(name: str) -> Refused:
    return Refused(
        code=RefusalCode.BAD_CONFIG,
        message=f"The package lane {name!r} is not a Lane of that name, or has a built-in lane's name.",
        hint=f"its entry point in the group {ENTRY_POINTS} must load to a Lane whose name is the entry point's",
    )


def _taken(name: str, source: str) -> Refused:
    return Refused(
        code=RefusalCode.BAD_CONFIG,
        message=f"{source}: {name} is a built-in lane.",
        hint="rename the file; its name is the lane's",
    )
