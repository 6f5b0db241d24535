"""pi's own tools, by name, and what each is used on."""

from __future__ import annotations

from collections.abc import Mapping

from ....messages.lane_events import ToolKind

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read", "grep", "find", "ls"), ToolKind.READ),
    **dict.fromkeys(("write", "edit"), ToolKind.WRITE),
    "bash": ToolKind.EXECUTE,
}
TARGETS = ("path", "command", "pattern", "url", "query")
