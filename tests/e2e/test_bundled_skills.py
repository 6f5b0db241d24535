"""Skills as files on the real CLIs: a tool call that reads one arrives, also where the verb is read-only.

Seen on Gemini CLI 0.61.0, Qwen Code 0.24.4, Droid 0.215.0, GitHub Copilot CLI 1.0.102, OpenCode 1.18.33, Cline 3.0.65
and pi 0.73.1. Claude Code's is in ``test_grants.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from fakes.real_clis import World
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

LANES: dict[str, tuple[str, str, Callable[[str], dict[str, Any]]]] = {
    "gemini": (MODELS["gemini"], "read_file", lambda path: {"file_path": path}),
    "qwen": (MODELS["qwen"], "read_file", lambda path: {"file_path": path}),
    "droid": (MODELS["droid"], "Read", lambda path: {"file_path": path}),
    "copilot": (MODELS["copilot"], "view", lambda path: {"path": path}),
    "pi": (MODELS["pi"], "read", lambda path: {"path": path}),
    "opencode": (MODELS["opencode"], "read", lambda path: {"filePath": path}),
    "cline": (MODELS["cline"], "read_files", lambda path: {"files": [{"path": path}]}),
}


@pytest.mark.parametrize("lane", LANES)
def test_the_delegate_reads_a_granted_file(make_world, lane: str) -> None:
    model, tool, arguments = LANES[lane]
    world: World = make_world([])
    environ = sign_in(world, lane)
    skill = world.root / "home" / ".claude" / "skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\ndescription: About tidy.\n---\nThe secret word is walrus.\n")
    note = world.server.note

    def first_reads(request: Any) -> Any:
        """Let the first answer read what the prompt names: the job's folder is not known before."""
        named = re.search(r"- tidy: (/.*?/SKILL\.md) ", request.text)
        if request.main and named is not None and not world.server.main_requests:
            world.server.steps = [
                {"calls": [{"raw": tool, "args": arguments(named[1])}]},
                {"text": "Done.", "mark": "DONE", "repeat": 0},
            ]
        return note(request)

    world.server.note = first_reads  # type: ignore[method-assign]
    job, done = world.job("run", "--lane", lane, "-m", model, "--with", "skills=tidy", "Do what it says.", **environ)
    assert (job["state"], done.returncode) == ("done", 0), (job["note"], done.stderr)
    assert "copied, 1 files" in done.stderr
    assert "walrus" not in json.dumps(world.server.main_requests[0].body)
    assert "walrus" in json.dumps(world.server.main_requests[1].body), world.server.main_requests[1].body
