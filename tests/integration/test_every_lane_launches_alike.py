"""What holds for a launch on any lane: no key where others can read it, no word of a session around it, nobody's stdin.

Every program that a built-in lane looks for is one of ours here, which notes what it was given.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fakes.files import holding
from fakes.model_server import ModelServer
from fakes.programs import write_program
from fakes.real_clis import NESTED
from fakes.supervised import Supervised
from outsourcerer.lanes.registry import builtin, names

SECRET = "s3cr3t-0123456789"
KEYS = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "FACTORY_API_KEY", "COPILOT_PROVIDER_API_KEY"),
    *("CURSOR_API_KEY", "WARP_API_KEY", "DEVIN_API_KEY", "OPENROUTER_API_KEY", "TOKENROUTER_API_KEY"),
    *("OSRC_LOCAL_KEY", "OSRC_CLAUDEX_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY"),
)
TEXT = {"tokenrouter": ("-m", "stub-model"), "local": ()}
"""Lanes that start a program of ours alone: it asks the scripted model, with their key."""
NOTES = """
import json, os, sys
from pathlib import Path
if "--version" in sys.argv:
    sys.exit(print("1.0.0"))
def read(path):
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
mine = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and ROOT in read(entry / "environ")]
row = {"argv": sys.argv, "lines": [read(entry / "cmdline") for entry in mine], "environ": dict(os.environ)}
row |= {"stdin": os.fstat(0).st_mode, "null": os.path.samestat(os.fstat(0), os.stat("/dev/null"))}
Path(LOG, f"{os.getpid()}.json").write_text(json.dumps(row))
sys.exit("no more than that")
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([]) as made:
        yield made


@pytest.fixture
def everything(tmp_path: Path, server: ModelServer) -> Iterator[Supervised]:
    """A home with every program on PATH, every key set, asked from inside another session."""
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    log.mkdir()
    for name in {"agent", *filter(None, (builtin(lane).binary for lane in names()))}:
        write_program(programs / name, f"ROOT, LOG = {str(tmp_path)!r}, {str(log)!r}\n{NOTES}")
    environ = {
        **NESTED,
        **dict.fromkeys(KEYS, SECRET),
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "OSRC_CLAUDEX_URL": server.url,
        "OSRC_LOCAL_URL": f"{server.url}/v1",
        "OSRC_TOKENROUTER_URL": f"{server.url}/v1",
        "OSRC_WALL": "compare",
        "OSRC_COPILOT_USER_MCP": "1",
    }
    home = Supervised(tmp_path, **environ)
    yield home
    home.close()


def started(home: Supervised) -> dict[str, list[dict[str, Any]]]:
    """Job → what each program that was started for it noted."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in (home.scratch / "log").iterdir():
        row = json.loads(path.read_text())
        if (job := row["environ"].get("OSRC_JOB_ID")) is not None:
            found.setdefault(job, []).append(row)
    return found


def test_no_lane_shows_a_key_or_lets_its_surroundings_through(everything: Supervised, server: ModelServer) -> None:
    lanes = ["acp:agent --acp", *(name for name in names() if builtin(name).binary), *TEXT]

    def start(lane: str) -> str:
        words = TEXT.get(lane, ())
        done = everything.osrc("bg", "--lane", lane, *words, "--", "Do it.")
        assert done.returncode == 0, (lane, done.stderr)
        return done.stdout.decode().split()[0]

    with ThreadPoolExecutor(4) as pool:
        jobs = dict(zip(lanes, pool.map(start, lanes), strict=True))
    everything.osrc("wait", *jobs.values(), timeout=400)
    noted = started(everything)
    for lane, job in jobs.items():
        if lane in TEXT:
            continue
        assert noted.get(job), f"{lane} started nothing"
        for row in noted[job]:
            assert SECRET not in "\n".join([*row["argv"], *row["lines"]]), lane
            assert not NESTED.keys() & row["environ"].keys(), lane
            assert row["environ"]["GIT_AUTHOR_NAME"] == "outsourcerer-delegate", lane
            assert lane.startswith("acp:") or row["null"] or stat.S_ISREG(row["stdin"]), lane
    assert any(SECRET in row["environ"].values() for rows in noted.values() for row in rows), "so it could have shown"
    asked = [request for request in server.main_requests if SECRET in request.headers.get("authorization", "")]
    assert len(asked) == len(TEXT)
    assert holding(everything.root, SECRET) == []
