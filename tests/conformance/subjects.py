"""The lanes under test: every built-in one, and one declared lane per way of declaring it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from fakes.cursor_stream import CURSOR_OUT
from outsourcerer.lanes.acp import lane_of
from outsourcerer.lanes.conformance import Recorded, Subject
from outsourcerer.lanes.contract import Host, Lane
from outsourcerer.lanes.custom import load
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.vocabulary import Verb

STREAMS = Path(__file__).parents[1] / "golden" / "streams"

PROGRAMS = ("agent", *sorted({lane.binary for lane in map(builtin, names()) if lane.binary}))
KEYS = ("OPENROUTER_API_KEY", "OSRC_CLAUDEX_TOKEN", "TOKENROUTER_API_KEY")

HOST = Host(
    environment={},
    executables={name: f"/opt/{name}" for name in PROGRAMS},
    secrets=dict.fromkeys(KEYS, "a key"),
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
BY_ACP = """
argv = ["agent", "--acp"]
output = "acp"
[verbs]
run = "READ-ONLY"
edit = "MUTATING"
"""
BY_FILE = """
argv = ["{python}", "/opt/agent.py", "--file", "{prompt_file}"]
stdin = "none"
[verbs]
run = "READ-ONLY"
"""


def recorded(name: str, head: bytes = b"") -> tuple[Recorded, ...]:
    """Every recorded run of a CLI, all versions; ``head`` is put before what each printed."""
    found = []
    for path in sorted(STREAMS.glob(f"{name}/*/*.rc")):
        number = int(path.read_text())
        status = ExitStatus(code=number) if number >= 0 else ExitStatus(signal=-number)
        out, err = path.with_suffix(".out").read_bytes(), path.with_suffix(".err").read_bytes()
        found.append(Recorded(path.stem, head + out, err, status))
    return tuple(found)


def declared(text: str) -> Lane:
    """A lane from TOML."""
    lane = load("mine", text.encode(), "mine.toml")
    assert isinstance(lane, Lane), lane
    return lane


OSRC = (Recorded("whole", OSRC_OUT), Recorded("killed", OSRC_OUT[:150].rpartition(b"\n")[0], exit=ExitStatus(signal=9)))
TEXT = (Recorded("whole", TEXT_OUT), Recorded("failed", b"half", b"boom\n", ExitStatus(code=1)))


HANDS = b'{"type":"vehicle","vehicle":"%s"}\n'
"""What our delegate says before the agent that it starts."""

# Nobody has these programs: their output is that of a fake built from public facts, or plain text.
FAILED = Recorded("failed", b"", b"boom\n", ExitStatus(code=2))
AGENT_SAID = (Recorded("whole", b"Looked.\nDone \xe4\xb8\xad\n"), FAILED)


def seen(name: str, model: str | None = None, **flags: Any) -> Subject:
    """A built-in lane whose program was recorded."""
    streams = recorded(name)
    assert streams, f"nothing was recorded of {name}"
    return Subject(builtin(name), HOST, streams, model, **flags)


def unseen(name: str, streams: tuple[Recorded, ...] = AGENT_SAID, **flags: Any) -> Subject:
    """A built-in lane whose program nobody could record."""
    return Subject(builtin(name), HOST, streams, **flags)


def with_agy() -> Host:
    """The machine with the gemini lane's first choice."""
    return replace(HOST, executables={**HOST.executables, "agy": "/opt/agy"})


def with_hands(**settings: str) -> Host:
    """The machine with a local model that gets tools."""
    return replace(HOST, environment={"OSRC_LOCAL_AGENTIC": "1", **settings})


def built_in() -> dict[str, Subject]:
    """Every built-in lane, by its name."""
    agent = lane_of("agent --acp")
    assert isinstance(agent, Lane), agent
    return {
        "acp": Subject(agent, HOST, OSRC),
        "cc": seen("cc"),
        "claude": seen("claude", "opus"),
        "claudex": Subject(builtin("claudex"), HOST, recorded("claude"), model="gpt-5.6-sol"),
        "cline": seen("cline", prompt_by_argument=True),
        "codex": seen("codex", "gpt-5.5"),
        "codexor": seen("codexor"),
        "copilot": seen("copilot"),
        "cursor": unseen("cursor", (Recorded("whole", CURSOR_OUT), FAILED)),
        "devin": unseen("devin"),
        "droid": seen("droid"),
        "embedded": Subject(builtin("embedded"), HOST, OSRC),
        "gemini": seen("gemini", refused_here=frozenset({Verb.RESEARCH})),
        "hermes": unseen("hermes", prompt_by_argument=True),
        "local": Subject(builtin("local"), HOST, OSRC),
        "opencode": seen("opencode"),
        "pi": seen("pi"),
        "qwen": seen("qwen"),
        "tokenrouter": Subject(builtin("tokenrouter"), HOST, OSRC, model="m"),
        "warp": unseen("warp", prompt_by_argument=True),
    }


def subjects() -> dict[str, Subject]:
    """Name → subject: the built-in lanes, other ways of running some, and declared ones."""
    return {
        **built_in(),
        "gemini-agy": Subject(builtin("gemini"), with_agy(), AGENT_SAID, prompt_by_argument=True),
        "local-claude": Subject(builtin("local"), with_hands(), recorded("claude", HANDS % b"claude")),
        "local-codex": Subject(
            builtin("local"), with_hands(OSRC_LOCAL_API="responses"), recorded("codex", HANDS % b"codex")
        ),
        "declared-osrc": Subject(declared(AGENT % "osrc-jsonl"), HOST, OSRC, model="m"),
        "declared-text": Subject(declared(AGENT % "text"), HOST, TEXT),
        "declared-claude": Subject(declared(AGENT % "claude-stream-json"), HOST, recorded("claude")),
        "declared-codex": Subject(declared(AGENT % "codex-jsonl"), HOST, recorded("codex")),
        "declared-acp": Subject(declared(BY_ACP), HOST, OSRC),
        "declared-argv": Subject(declared(BY_ARGV), HOST, TEXT, small_prompts_only=True),
        "declared-file": Subject(declared(BY_FILE), HOST, TEXT),
    }
