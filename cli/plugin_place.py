"""Where the plugin for Claude Code is, and the skill in it: parts of the installed package."""

from __future__ import annotations

import os

SKILL = "outsourcerer"


def plugin_root() -> str:
    """Return the plugin's folder (``claude --plugin-dir`` takes it)."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin")  # noqa: PTH100, PTH118, PTH120 - strings


def skill_folder() -> str:
    """Return the skill's folder: SKILL.md, references, scripts."""
    return f"{plugin_root()}/skills/{SKILL}"


def launcher() -> str:
    """Return the skill's entry point."""
    return f"{skill_folder()}/scripts/outsourcerer.sh"
