"""Which record a CLI in a terminal keeps of its conversation, where reading it is known."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...messages.paths import home_of
from .record_copilot import CopilotRecord
from .records import ClaudeRecord, Record


def record_for(cli: str, env: Mapping[str, str], pid: int, conversation: str | None) -> Record | None:
    """Return it, or None. ``conversation`` is the id that was said when it was started."""
    home = home_of(env)
    if cli == "claude":
        return ClaudeRecord(env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), pid)
    if cli == "copilot" and conversation and conversation.replace("-", "").isalnum():
        return CopilotRecord(env.get("COPILOT_HOME") or os.path.join(home, ".copilot"), conversation)
    return None
