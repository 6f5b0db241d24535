"""The real claude and codex, as ``tests/install_clis.sh`` installs them, in a scratch world of their own.

The folder comes from ``OSRC_TEST_CLIS`` (default ``$XDG_CACHE_HOME/outsourcerer-clis``). Where it is
absent the tests that need it are skipped, with this reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fakes.model_server import ModelServer

T = TypeVar("T")
CODEX_MODEL = "gpt-5.5"
CLAUDE_MODEL = "claude-sonnet-5"

NESTED = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_SESSION_ID": "00000000-0000-4000-8000-000000000000",
    "CLAUDE_CODE_CHILD_SESSION": "1",
    "CLAUDE_PID": "1",
    "CLAUDE_EFFORT": "high",
    "AI_AGENT": "claude-code",
    "CODEX_THREAD_ID": "00000000-0000-4000-8000-000000000000",
    "CODEX_SANDBOX": "seatbelt",
    "CODEX_SANDBOX_NETWORK_DISABLED": "1",
}
"""What stands in the environment when a command is run from inside Claude Code or Codex."""


def folder() -> Path:
    """Where the CLIs are."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "outsourcerer-clis"
    return Path(os.environ.get("OSRC_TEST_CLIS") or default)


def why_absent(*names: str) -> str | None:
    """The reason to skip, or None when these CLIs are there; without names, claude and codex."""
    missing = [name for name in names or ("node", "claude", "codex") if not (folder() / "bin" / name).exists()]
    return f"{', '.join(missing)} not in {folder()}/bin: run tests/install_clis.sh" if missing else None


@dataclass(frozen=True)
class World:
    """A scratch HOME, OSRC_HOME and repository, with a model server that the CLIs talk to."""

    root: Path
    server: ModelServer
    environ: dict[str, str]
    repo: Path

    @property
    def osrc_home(self) -> Path:
        return self.root / "osrc"

    def osrc(self, *words: str, timeout_s: float = 400, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run ``osrc`` in the repository; stdin is empty."""
        return subprocess.run(
            [sys.executable, "-m", "outsourcerer", *words],
            env=self.environ | environ,
            cwd=self.repo,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def job(self, *words: str, **environ: str) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
        """Run a job to its end; return its job object as ``status`` shows it, and the finished command."""
        done = self.osrc(*words, **environ)
        assert "Traceback" not in done.stderr, done.stderr
        listed = self.osrc("status", "--all", "--json")
        assert listed.returncode == 0, (done.stdout, done.stderr, listed.stderr)
        jobs = json.loads(listed.stdout)["jobs"]
        assert jobs, (done.stdout, done.stderr)
        return jobs[0], done

    def until(self, look: Callable[[], T], told: Callable[[], str], seconds: float) -> T:
        """Return the first true value of ``look``; fails with what ``told`` says when none comes in time.

        A look is the start of a command: one is made when a session has something new to tell, and each second.
        """
        deadline = time.monotonic() + seconds
        while True:
            before = self._told()
            if found := look():
                return found
            assert time.monotonic() < deadline, told()
            time.sleep(0.1)
            again = time.monotonic() + 0.9
            while self._told() == before and time.monotonic() < again:
                time.sleep(0.02)

    def _told(self) -> int:
        """How much the sessions of this world have told so far."""
        told = 0
        for path in self.osrc_home.glob("sessions/*/events.jsonl"):
            with contextlib.suppress(OSError):
                told += path.stat().st_size
        return told

    def result(self, job: dict[str, Any]) -> str:
        """What ``osrc result`` prints for a job."""
        return self.osrc("result", job["job_id"]).stdout.rstrip("\n")


def environment(root: Path, server: ModelServer) -> dict[str, str]:
    """The whole environment of a user who has both CLIs, signed in to the scripted server."""
    return {
        "PATH": f"{folder() / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(root / "home"),
        "OSRC_HOME": str(root / "osrc"),
        "OSRC_IDLE_EXIT": "180",
        "OSRC_CLOUD_ACK": "1",
        "OSRC_FALLBACK": "0",  # each test is of one lane, and the others are there too
        "OSRC_FAILOVER_MAX": "0",
        "OSRC_LOCAL_TIMEOUT": "60",  # the server is a thread of a test that may have to wait for its turn
        # Codex puts no helper into a home below the temporary folder, and behind a bubblewrap of the system's own
        # its sandbox needs one (seen: codex 0.171.0, bubblewrap 0.8.0): so the home must not be below it.
        "TMPDIR": str(root / "tmp"),
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "test",
        "STUB_API_KEY": "test",
        "OSRC_CODEX_USER_CONFIG": "1",
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
    }


def repository(path: Path) -> Path:
    """Make an empty repository."""
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    return path


def codex_config(server: ModelServer) -> str:
    """A Codex configuration whose provider is the scripted server."""
    return f"""\
model = "{CODEX_MODEL}"
model_provider = "stub"

[model_providers.stub]
name = "stub"
base_url = "{server.url}/v1"
env_key = "STUB_API_KEY"
wire_api = "responses"
"""


@contextmanager
def world(root: Path, steps: list[dict[str, Any]]) -> Iterator[World]:
    """Make a world whose model plays ``steps``; afterwards no process of it is left."""
    for path in (root / "home" / ".codex", root / "tmp"):
        path.mkdir(parents=True)
    with ModelServer(steps) as server:
        (root / "home" / ".codex" / "config.toml").write_text(codex_config(server))
        made = World(root, server, environment(root, server), repository(root / "a repo"))
        try:
            yield made
        finally:
            made.osrc("supervisor", "stop", "--cancel")
    left = still_running(str(root))
    assert left == [], f"processes left behind: {left}"


def still_running(root: str, timeout_s: float = 120, but: tuple[str, ...] = ()) -> list[str]:
    """Command lines of processes whose environment names ``root``, once they have had time to leave.

    Those in which one of the words of ``but`` stands may stay.
    """
    end = time.monotonic() + timeout_s
    while True:
        lines = [line for pid in pids() if (line := command_of(pid, root)) is not None]
        left = [line for line in lines if not any(word in line for word in but)]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def pids() -> list[str]:
    """Every process but this one."""
    return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != os.getpid()]


def command_of(pid: str, root: str) -> str | None:
    """The command line of a process that lives in ``root``'s world, or None."""
    try:
        if root.encode() not in Path("/proc", pid, "environ").read_bytes():
            return None
        return Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace") or None
    except OSError:
        return None
