"""The contracts between the layers hold, and each of them bites."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import outsourcerer
import pytest

ROOT = Path(outsourcerer.__path__[0])
LAYERS = ("actors", "cli", "lanes", "messages", "state")
RUN = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(parent: Path) -> subprocess.CompletedProcess[str]:
    """Run the linter on the package in ``parent``, with the project's own contracts."""
    return subprocess.run(
        [sys.executable, "-P", "-c", RUN, "--config", str(ROOT / "pyproject.toml"), "--no-cache"],
        cwd=parent,
        env={**os.environ, "PYTHONPATH": str(parent), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package; returns the folder it is in."""
    package = tmp_path / "outsourcerer"
    for layer in LAYERS:
        shutil.copytree(ROOT / layer, package / layer, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / name, package / name)
    return tmp_path


def test_all_contracts_are_kept(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("state/views.py", "from ..lanes import values", "Layers"),
        ("lanes/values.py", "from ..actors import clock", "Layers"),
        ("messages/base.py", "from ..state import home", "Layers"),
        ("lanes/claude/lane.py", "from ..codex import lane as other", "Lanes never import each other"),
        ("actors/job.py", "import pykka", "Only actors/base.py knows pykka"),
        ("lanes/values.py", "import os", "Lanes and messages do no I/O"),
        ("lanes/conformance/reading.py", "import socket", "Lanes and messages do no I/O"),
        ("actors/host.py", "from ..lanes import conformance", "Nothing at work imports"),
        ("lanes/vehicles/claude_code/argv.py", "from ...claude import lane", "A vehicle knows no lane"),
        ("messages/codec.py", "import time", "Lanes and messages do no I/O"),
        ("state/views.py", "import click", "State and the machines"),
        ("cli/output.py", "import httpx", "The front end"),
    ],
)
def test_each_contract_bites(copy: Path, file: str, line: str, contract: str) -> None:
    path = copy / "outsourcerer" / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    done = lint(copy)
    assert done.returncode != 0
    broken = [row for row in done.stdout.splitlines() if " BROKEN" in row]
    assert any(row.startswith(contract) for row in broken), done.stdout[-3000:]
