"""What Claude Code's tools do, and how it says that one was not permitted. Seen on 2.1.332. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping

from ....messages.vocabulary import ToolKind

TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("Read", "Grep", "Glob", "LS", "NotebookRead"), ToolKind.READ),
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), ToolKind.WRITE),
    "Bash": ToolKind.EXECUTE,
}
TARGETS = ("file_path", "notebook_path", "command", "path", "pattern", "url", "query", "description")
"""Arguments of a tool call that say what it is about, the best first."""

REFUSALS = ("requested permissions", "needs approval", "No such tool available", "permission to use", "in plan mode")
"""Words of a tool's error that mean "not permitted", as opposed to "did not work"."""
