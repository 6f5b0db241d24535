"""The lanes under test: every built-in one, and one declared lane per way of declaring it."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.checks import Recorded, Subject
from outsourcerer.lanes.contract import Host, Lane
from outsourcerer.lanes.custom import load
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus

STREAMS = Path(__file__).parents[1] / "golden" / "streams"

HOST = Host(
    environment={},
    executables={"claude": "/opt/claude", "codex": "/opt/codex", "agent": "/opt/agent"},
    python="/opt/python3",
    server="http://127.0.0.1:11434/v1",
    server_models=("small-model",),
    embedded_model="/opt/demo.gguf",
    embedded_runtime=True,
)

OSRC_OUT = "".join(
    json.dumps(line, separators=(",", ":")) + "\n"
    for line in (
        {"type": "start", "model": "m", "conversation": "c"},
        {"type": "text", "text": "caf\u00e9 \u4e2d", "partial": True},
        {"type": "tool", "tool": "write", "name": "write", "target": "a.py"},
        {"type": "tool_end", "name": "write", "ok": True},
        {"type": "usage", "input": 3, "output": 1},
        {"type": "retry", "attempt": 1, "status": 503},
        {"type": "usage", "input": 5, "output": 2},
        {"type": "end", "ok": True, "text": "caf\u00e9 \u4e2d"},
    )
).encode()
TEXT_OUT = "One caf\u00e9.\n\n50%\r100%\nDone \u4e2d".encode()

AGENT = """
argv = ["agent", "go", ["--model", "{model}"]]
output = "%s"
[verbs]
run = "READ-ONLY"
edit = { posture = "MUTATING", argv = ["--write"] }
"""
BY_ARGV = """
argv = ["agent", "--", "{prompt}"]
stdin = "none"
[verbs]
run = "READ-ONLY"
"""
BY_FILE = """
argv = ["{python}", "/opt/agent.py", "--file", "{prompt_file}"]
stdin = "none"
[verbs]
run = "READ-ONLY"
"""


def recorded(name: str) -> tuple[Recorded, ...]:
    """Every recorded run of a CLI, all versions."""
    found = []
    for path in sorted(STREAMS.glob(f"{name}/*/*.rc")):
        number = int(path.read_text())
        status = ExitStatus(code=number) if number >= 0 else ExitStatus(signal=-number)
        out, err = path.with_suffix(".out").read_bytes(), path.with_suffix(".err").read_bytes()
        found.append(Recorded(path.stem, out, err, status))
    return tuple(found)


def declared(text: str) -> Lane:
    """A lane from TOML."""
    lane = load("mine", text.encode(), "mine.toml")
    assert isinstance(lane, Lane), lane
    return lane


OSRC = (Recorded("whole", OSRC_OUT), Recorded("killed", OSRC_OUT[:150].rpartition(b"\n")[0], exit=ExitStatus(signal=9)))
TEXT = (Recorded("whole", TEXT_OUT), Recorded("failed", b"half", b"boom\n", ExitStatus(code=1)))


def subjects() -> dict[str, Subject]:
    """Name → subject."""
    return {
        "claude": Subject(builtin("claude"), HOST, recorded("claude"), model="opus"),
        "codex": Subject(builtin("codex"), HOST, recorded("codex"), model="gpt-5.5"),
        "local": Subject(builtin("local"), HOST, OSRC),
        "embedded": Subject(builtin("embedded"), HOST, OSRC),
        "declared-osrc": Subject(declared(AGENT % "osrc-jsonl"), HOST, OSRC, model="m"),
        "declared-text": Subject(declared(AGENT % "text"), HOST, TEXT),
        "declared-claude": Subject(declared(AGENT % "claude-stream-json"), HOST, recorded("claude")),
        "declared-codex": Subject(declared(AGENT % "codex-jsonl"), HOST, recorded("codex")),
        "declared-argv": Subject(declared(BY_ARGV), HOST, TEXT, small_prompts_only=True),
        "declared-file": Subject(declared(BY_FILE), HOST, TEXT),
    }
