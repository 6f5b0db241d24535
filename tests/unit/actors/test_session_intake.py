"""When a session's program may be started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from outsourcerer.actors.session_intake import not_before
from outsourcerer.lanes.contract import Host, SessionLaunch, SessionTask
from outsourcerer.lanes.registry import builtin

NOW = 1_796_000_000.0 // 60 * 60 + 20
"""Twenty seconds into a minute."""


@dataclass
class Draft:
    launch: SessionLaunch
    conversation: str | None = "c"
    began: float | None = NOW - 5


def launch(lane: str, program: str) -> SessionLaunch:
    host = Host(environment={}, executables={program: f"/bin/{program}"})
    made = next(iter(builtin(lane).sessions.values()))(SessionTask(cwd="/w", conversation="c"), host)
    assert isinstance(made, SessionLaunch)
    return made


def when(draft: Any) -> float:
    return not_before(draft, NOW)


def test_gemini_takes_a_conversation_up_in_another_minute_only() -> None:
    gemini = launch("gemini", "gemini")
    assert when(Draft(gemini)) == NOW + 41
    assert when(Draft(gemini, began=None)) == NOW + 41
    assert when(Draft(gemini, began=NOW - 21)) == 0
    assert when(Draft(gemini, conversation=None)) == 0
    assert when(Draft(launch("claude", "claude"))) == 0
