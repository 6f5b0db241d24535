"""What parity would do on this machine: shared by ``osrc parity`` and ``osrc doctor``. Not for hot paths."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..actors.parity import SKILL, Found, survey, wanted_of
from ..lanes.parity.hosts import HOST_TOOLS
from ..lanes.parity.servers import Local
from ..lanes.parity.wording import INSTRUCTIONS
from ..lanes.secrets.values import find
from ..state.parity_receipt import Receipt
from .plugin_place import skill_folder
from .table import COMMANDS


def survey_here(
    words: Sequence[str], environment: Mapping[str, str], receipt: Receipt
) -> tuple[list[Found], list[str]]:
    """Return each tool with its plan, and what could not be read. Without ``words``: all that are here."""
    wanted, problems = wanted_of(environment, is_secret, bridge(environment), own_skill(), INSTRUCTIONS)
    return survey(words or tuple(HOST_TOOLS), wanted, environment, receipt, named=bool(words)), problems


def is_secret(text: str) -> bool:
    """Whether a text holds what looks like a secret value."""
    return bool(find(text))


def bridge(environment: Mapping[str, str]) -> Local | None:
    """Return our own MCP server, by which a tool hands work back to us."""
    if "mcp" not in COMMANDS:
        return None
    found = shutil.which("osrc", path=environment.get("PATH"))
    if found is not None:
        return Local(SKILL, found, ("mcp",))
    return Local(SKILL, sys.executable, ("-m", "outsourcerer", "mcp")) if sys.executable else None


def own_skill() -> Path | None:
    """Return the folder of our own skill, where this installation has it."""
    folder = Path(skill_folder())
    return folder if (folder / "SKILL.md").is_file() else None
