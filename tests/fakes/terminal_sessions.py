"""Sessions whose program is the fake interface, as Claude Code."""

from __future__ import annotations

import json
import sys
from typing import Any

from fakes.sessions import Sessions
from fakes.supervised import Supervised
from fakes.terminal_stage import PROGRAM


class Terminals(Sessions):
    """Sessions whose ``claude`` is the fake interface; what happened to it is in its log."""

    def __init__(self, home: Supervised, script: dict[str, Any]) -> None:
        super().__init__(home)
        self.log_path = home.scratch / "tui.log"
        path = home.scratch / "script.json"
        path.write_text(json.dumps({"log": str(self.log_path), "record": True, **script}))
        program = home.scratch / "bin" / "claude"
        program.write_text(f'#!/bin/sh\nFAKE_TUI_SCRIPT="{path}" exec "{sys.executable}" -I -S "{PROGRAM}" "$@"\n')

    def log(self, key: str) -> list[Any]:
        """What the interface logged under one key."""
        lines = self.log_path.read_text().splitlines() if self.log_path.exists() else []
        return [entry[key] for line in lines if key in (entry := json.loads(line))]
