"""pi's own tools, by name, and what each is used on. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping

from ....messages.vocabulary import ToolKind

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read", "grep", "find", "ls"), ToolKind.READ),
    **dict.fromkeys(("write", "edit"), ToolKind.WRITE),
    "bash": ToolKind.EXECUTE,
}
TARGETS = ("path", "command", "pattern", "url", "query")
