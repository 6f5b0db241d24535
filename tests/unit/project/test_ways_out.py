"""No way out but through the gate: every place that starts a process or reaches a server is known, with its reason.

A new one fails here until somebody has said why nothing of a person's work leaves by it, or has let it
take the gate's permit.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import outsourcerer
import pytest
from fakes.ways_out import ways_out
from outsourcerer.actors import holders, image_service, rehearsal_turn
from outsourcerer.actors.gate import Passed
from outsourcerer.actors.plain_spawner import PlainSpawner
from outsourcerer.actors.spawner import Spawner

ROOT = Path(outsourcerer.__path__[0])

KNOWN = {
    # By the gate's permit.
    "actors/job_launch.py": ({"spawner.spawn"}, "hands on the permit of its attempt"),
    "actors/spawner.py": ({"subprocess.Popen"}, "the forking helper itself, which knows no work; spawn takes a permit"),
    "actors/plain_process.py": (
        {"subprocess.Popen"},
        "a shim or a holder by itself, for the permit that whoever starts it takes; or the keeper of a check",
    ),
    "actors/suspended.py": ({"subprocess.Popen"}, "inside a shim: only what spawn asked for"),
    "actors/holders.py": ({"subprocess.run"}, "start_holder takes a permit"),
    "actors/rehearsal_turn.py": ({"subprocess.Popen"}, "takes a permit"),
    # The shim, and what runs inside a delegate that was let through.
    "actors/shim.py": ({"os.fork", "os.execve"}, "only what spawn asked for"),
    "actors/plain_keeper.py": ({"subprocess.Popen"}, "as in check_keeper.py"),
    "actors/check_run.py": ({"subprocess.Popen"}, "the keeper of a check, which is a command of the person's own"),
    "actors/check_keeper.py": ({"subprocess.Popen"}, "that command, on this machine; no work goes to a lane by it"),
    "actors/holder_main.py": ({"os.fork"}, "leaves its caller's session; whoever starts a holder needs a permit"),
    "actors/transports/child.py": ({"subprocess.Popen"}, "inside a holder"),
    "actors/transports/pty_posix.py": ({"pexpect.spawn"}, "inside a holder"),
    "actors/transports/version.py": ({"os.posix_spawn", "subprocess.run"}, "inside a holder: a CLI's version"),
    "actors/external.py": (
        {"subprocess.run"},
        "a CLI's version; it types into a claimed pane only, after an opt-in and the gate",
    ),
    "actors/sinks.py": (
        {"subprocess.Popen", "httpx.Client"},
        "whom the person named to be woken is told one line of state and reason, redacted: no task, no file, no answer",
    ),
    "actors/wake_child.py": ({"subprocess.Popen"}, "the person's own wake command, with that line"),
    "actors/transports/pty_tmux.py": ({"subprocess.run"}, "inside a holder; tmux, on this machine"),
    "actors/tmux.py": ({"subprocess.run"}, "tmux, on this machine"),
    "actors/delegates/acp_tree.py": (
        {"asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"},
        "inside a delegate",
    ),
    "actors/delegates/local_agent.py": ({"os.execve", "subprocess.Popen", "subprocess.run"}, "inside a delegate"),
    "actors/delegates/anthropic_server.py": ({"httpx.Client"}, "inside a delegate"),
    "actors/delegates/chat_client.py": ({"httpx.Client"}, "inside a delegate"),
    "actors/image_service.py": ({"httpx.Client"}, "ask takes a permit; fetch sends nothing"),
    # Without any work of a person's.
    "actors/host.py": ({"subprocess.run"}, "a CLI's version or status"),
    "actors/git.py": ({"subprocess.run"}, "git on the person's repository: no push, no fetch, no hook"),
    "actors/tree_snapshot.py": ({"subprocess.run"}, "git, on this machine"),
    "actors/work_tree.py": ({"subprocess.run"}, "whether bubblewrap works"),
    "actors/local_servers.py": ({"httpx.Client"}, "which models a server lists"),
    "actors/receipts.py": ({"httpx.Client"}, "what a job cost, by the id that its own provider gave it"),
    "actors/balance.py": ({"httpx.Client"}, "what is left of an account, after the gate"),
    "actors/catalogue.py": ({"httpx.Client"}, "a public list of models"),
    "cli/statusline.py": ({"os.fork", "os.execv", "subprocess.run"}, "the person's own status line, as it was"),
    "cli/launch.py": ({"subprocess.Popen"}, "the supervisor itself"),
    "cli/work_evidence.py": ({"subprocess.run"}, "git, on this machine"),
}
"""File → what in it starts something or reaches out, and why that is no way around the gate."""


def found_in(root: Path) -> dict[str, set[str]]:
    """What every module of the program has."""
    files = [path for part in ("actors", "cli", "lanes", "messages", "state") for path in (root / part).rglob("*.py")]
    seen = {
        path.relative_to(root).as_posix(): ways_out(path.read_text(encoding="utf-8"))
        for path in files
        if "conformance" not in path.parts
    }
    return {name: ways for name, ways in seen.items() if ways}


def test_every_way_out_is_known():
    assert found_in(ROOT) == {name: ways for name, (ways, _) in KNOWN.items()}


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\ndef second_opinion(task):\n    subprocess.Popen(['claude', '-p', task])",
        "from subprocess import run as go\ngo(['claude'])",
        "import os as system\nsystem.posix_spawn('/bin/claude', [], {})",
        "def image(prompt):\n    import httpx\n    with httpx.Client() as client:\n        client.post('https://x', json=prompt)",
        "from httpx import post\npost('https://x')",
        "from urllib.request import urlopen\nurlopen('https://x')",
        "import asyncio\nasyncio.create_subprocess_exec('claude')",
        "import pty\npty.spawn(['claude'])",
        "class Lap:\n    def launch(self, folder):\n        self.services.spawner.spawn(folder, 1)",
        "import os\nos.execvp('claude', [])",
    ],
)
def test_a_new_one_is_noticed(tmp_path, source):
    """The check above must be able to fail: for whatever a new command may be made of."""
    (tmp_path / "cli" / "commands").mkdir(parents=True)
    (tmp_path / "cli" / "commands" / "new.py").write_text(source)
    assert list(found_in(tmp_path)) == ["cli/commands/new.py"]


def test_what_launches_takes_the_gate_s_permit():
    for launches in (Spawner.spawn, PlainSpawner.spawn, holders.start_holder, rehearsal_turn._start, image_service.ask):
        hints = inspect.get_annotations(launches, eval_str=True)
        assert Passed in hints.values(), launches
        assert "permit.demand(" in inspect.getsource(launches), launches


def test_only_the_gate_makes_permits():
    for path in ROOT.rglob("*.py"):
        if "tests" in path.relative_to(ROOT).parts or path.name == "gate.py":
            continue
        source = path.read_text(encoding="utf-8")
        if "Passed" not in source and "_SEAL" not in source:
            continue
        tree = ast.parse(source)
        made = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Passed")
        ]
        seals = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute | ast.Name) and "_SEAL" in ast.unparse(node)
        ]
        assert (made, seals) == ([], []), path
