"""Lanes over ``fake_cli.py``, as TOML files in a state home: the fake is a real lane.

``fake``           osrc-jsonl, streamed, agentic, every verb
``fake-text``      plain text, streamed, no tools
``fake-buffered``  osrc-jsonl, but declared to say nothing before its end
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FAKE_CLI = Path(__file__).with_name("fake_cli.py")

ALL_VERBS = {
    "run": "READ-ONLY",
    "explore": "READ-ONLY",
    "research": "SANDBOXED autonomy",
    "edit": "MUTATING",
    "yolo": "DANGER (no sandbox, approvals bypassed)",
}
READ_VERBS = {"run": "READ-ONLY", "explore": "READ-ONLY"}


def fake_argv(format_: str, *extra: str) -> list[str | list[str]]:
    """The fake's command; isolated, so that it starts fast and nothing in the environment changes it."""
    return [sys.executable, "-I", "-S", str(FAKE_CLI), "--format", format_, ["--model", "{model}"], *extra]


def lane_toml(
    *,
    argv: list[str | list[str]],
    output: str = "osrc-jsonl",
    stdin: str = "prompt",
    streamed: bool = True,
    agentic: bool = True,
    verbs: dict[str, str] | None = None,
    extra: str = "",
) -> str:
    """The text of one ``lanes.d`` file."""
    lines = [
        'summary = "A scripted program, for tests."',
        f"argv = {json.dumps(argv)}",
        f"stdin = {json.dumps(stdin)}",
        f"output = {json.dumps(output)}",
        "local = true",
        f"streamed = {json.dumps(streamed)}",
        f"agentic = {json.dumps(agentic)}",
        'billing = { kind = "free", words = "$0, it is a fake" }',
        extra,
        "[verbs]",
        *(f"{verb} = {json.dumps(posture)}" for verb, posture in (verbs or ALL_VERBS).items()),
    ]
    return "\n".join(lines) + "\n"


def write_lane(home: Path, name: str, text: str) -> Path:
    """Put one lane file into a state home, made private as the preflight wants it."""
    folder = home / "lanes.d"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def install_fake_lanes(home: Path) -> None:
    """Write the three fake lanes into ``home`` (the folder that ``OSRC_HOME`` names)."""
    write_lane(home, "fake", lane_toml(argv=fake_argv("osrc-jsonl")))
    write_lane(
        home,
        "fake-text",
        lane_toml(argv=fake_argv("text"), output="text", agentic=False, verbs=READ_VERBS),
    )
    write_lane(home, "fake-buffered", lane_toml(argv=fake_argv("osrc-jsonl"), streamed=False))


def steps(*actions: dict[str, object]) -> str:
    """A task text that carries these steps for the fake."""
    return "\n".join(f"#fake: {json.dumps(action)}" for action in actions)
