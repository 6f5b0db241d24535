"""Sessions with a fake Claude Code, in a home of the tests' own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fakes.supervised import Supervised, until
from outsourcerer.state.reader import Reader

FAKE = Path(__file__).with_name("fake_claude.py")


class Sessions:
    """Starts and looks at sessions of one home."""

    def __init__(self, home: Supervised) -> None:
        self.home = home
        folder = home.scratch / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "claude"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
        program.chmod(0o700)
        home.environ["PATH"] = f"{folder}:/usr/local/bin:/usr/bin:/bin"

    def osrc(self, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        """Run ``osrc session ...``."""
        done = self.home.osrc("session", *words, **more)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return done

    def ok(self, *words: str, **more: Any) -> str:
        """The same; it must exit 0. Returns its stdout."""
        done = self.osrc(*words, **more)
        assert done.returncode == 0, (words, done.stdout.decode(), done.stderr.decode(), self.home.log()[-2000:])
        return done.stdout.decode().rstrip("\n")

    def start(self, *words: str, **more: Any) -> str:
        """Start one; return its id."""
        return str(json.loads(self.ok("start", "--lane", "claude", "--json", *words, **more))["session"]["session_id"])

    def record(self, session_id: str) -> dict[str, Any]:
        """Its record as the store has it."""
        with Reader(self.home.root / "state.db") as reader:
            return reader.session(session_id) or {}

    def until_state(self, session_id: str, *states: str) -> dict[str, Any]:
        """Wait until the store has it in one of these states."""
        until(lambda: self.record(session_id).get("state") in states, f"{session_id} is {states}", 40.0)
        return self.record(session_id)

    def events(self, session_id: str) -> list[dict[str, Any]]:
        """Its events so far."""
        path = self.home.root / "sessions" / session_id / "events.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def given(self) -> list[str]:
        """Every message that a delegate of this home was ever given."""
        path = self.home.scratch / "given.log"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
