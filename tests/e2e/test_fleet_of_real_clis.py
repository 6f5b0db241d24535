"""What ``osrc fleet`` says of real CLIs that somebody else started: at work, and stopped mid-task once they are killed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fakes.real_clis import repository, why_absent, world
from fakes.signed_in import sign_in
from fakes.supervised import until
from outsourcerer.actors.fleet_scan import Scanner
from outsourcerer.state.home import Home

pytestmark = pytest.mark.e2e

ARGV = {
    "claude": ("claude", "-p", "fix the build"),
    "codex": ("codex", "exec", "--skip-git-repo-check", "fix the build"),
    "gemini": ("gemini", "-p", "fix the build", "--skip-trust"),
}
STALL: dict[str, Any] = {"text": "one two three four", "stall": 600, "repeat": 0}


@pytest.mark.skipif(why_absent(*ARGV) is not None, reason=why_absent(*ARGV) or "")
def test_real_sessions_are_seen_at_work_and_stopped(tmp_path: Path) -> None:
    with world(tmp_path / "w", [STALL]) as made:
        environ = dict(made.environ)
        for tool in ARGV:
            environ |= sign_in(made, tool)
        scanner = Scanner(Home(tmp_path / "unused"), {"HOME": environ["HOME"], "PATH": environ["PATH"]})
        folders = {tool: repository(made.root / tool).resolve() for tool in ARGV}
        started = {
            tool: subprocess.Popen(
                argv,
                env=environ,
                cwd=folders[tool],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for tool, argv in ARGV.items()
        }

        def states() -> dict[str, tuple[str, int | None]]:
            places = {str(folder): tool for tool, folder in folders.items()}
            rows = [row for row in scanner.scan().sessions if row["cwd"] in places]
            assert all(row["tool"] == places[row["cwd"]] for row in rows), rows
            return {row["tool"]: (row["state"], row["pid"]) for row in rows if row["session_id"]}

        try:
            wanted = {tool: ("working", process.pid) for tool, process in started.items()}
            until(lambda: states() == wanted, "all are seen at work", pause=0.2)
        finally:
            for process in started.values():
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(240)
        until(lambda: set(states().values()) == {("stopped", None)}, "all are seen stopped", pause=0.2)
        assert set(states()) == set(ARGV)
