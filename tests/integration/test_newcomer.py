"""A newcomer's first minutes: a wheel in a fresh environment, an empty home, no network, no tool. Each step says the next.

The wheel is built from a copy of what the repository ships, and its dependencies are those of the tests' own
environment, without the embedded model: nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import outsourcerer
import pytest

pytest.importorskip("setuptools", minversion="77", reason="a wheel is built with setuptools")

ROOT = Path(outsourcerer.__path__[0])
SHIPPED = ("actors", "cli", "lanes", "messages", "state")
FILES = ("__init__.py", "__main__.py", "py.typed", "pyproject.toml", "README.md", "LICENSE")
NOT_TAKEN = ("outsourcerer", "__editable__", "xllamacpp", "llm_", "_pytest", "sitecustomize", "__pycache__")
BUILD = "import setuptools.build_meta as b, sys; print(b.build_wheel(sys.argv[1]))"


@dataclass(frozen=True)
class Newcomer:
    """The fresh environment and its user's home."""

    osrc: Path
    home: Path
    wheel: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Type a command."""
        environment = {
            "HOME": str(self.home),
            "PATH": str(self.osrc.parent),
            "LANG": "C.UTF-8",
            "OSRC_LOCAL_URL": "http://127.0.0.1:9/v1",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"),
        }
        done = subprocess.run(
            [self.osrc, *words],
            env=environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr, done
        return done


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """Build the wheel, and install it where nothing of this checkout is seen."""
    base = tmp_path_factory.mktemp("newcomer")
    wheel = build(base)
    place = base / "venv"
    venv.create(place, symlinks=True, with_pip=False)
    python = place / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(NOT_TAKEN):
            (site / entry.name).symlink_to(entry)
    words = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    words += ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    done = subprocess.run(words, env=plain(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done
    osrc = place / "bin" / "osrc"
    home = base / "home"
    home.mkdir()
    yield Newcomer(osrc, home, wheel)
    # The environment's links lead into the tests' own packages: take the links away, never what they lead to.
    for entry in site.iterdir():
        if entry.is_symlink():
            entry.unlink()


def plain() -> dict[str, str]:
    """The tests' environment without this checkout in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}


def build(base: Path) -> Path:
    source = base / "source"
    source.mkdir()
    for name in SHIPPED:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(base)],
        check=False,
        cwd=source,
        env=plain(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    (wheel,) = base.glob("*.whl")
    return wheel


def test_the_wheel_is_whole(newcomer: Newcomer) -> None:
    with zipfile.ZipFile(newcomer.wheel) as packed:
        names = set(packed.namelist())
        (metadata,) = (packed.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    inside = {name.removeprefix("outsourcerer/") for name in names if name.startswith("outsourcerer/")}
    missing = {path.relative_to(ROOT).as_posix() for part in SHIPPED for path in (ROOT / part).rglob("*.py")} - inside
    assert missing == set()
    assert {"py.typed", "state/migrations/0001_initial.sql"} <= inside
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"outsourcerer"}
    assert "Requires-Dist: click" in metadata
    assert {
        "cli/plugin/skills/outsourcerer/SKILL.md",
        "cli/plugin/skills/outsourcerer/scripts/outsourcerer.cmd",
    } <= inside


def test_each_step_says_the_next(newcomer: Newcomer) -> None:
    helped = newcomer.run("--help")
    assert helped.returncode == 0
    assert "osrc run" in helped.stdout

    looked = newcomer.run("doctor")
    assert "local: installed; " in looked.stdout, "what was named and does not answer"
    assert str(newcomer.osrc.parent.parent) in looked.stdout, "it runs from where it was installed"
    assert "fix: Install Claude Code: npm install" in looked.stdout

    told = newcomer.run("brief")
    assert told.returncode == 0
    assert "osrc doctor" in told.stdout

    refused = newcomer.run("run", "why does the build fail?")
    assert refused.returncode == 1
    assert "no lane is ready" in refused.stderr
    assert "try: osrc lanes" in refused.stderr

    spent = newcomer.run("tab")
    assert spent.returncode == 0
    assert "nothing was spent yet" in spent.stdout

    newcomer.run("supervisor", "stop")
    assert "not running" in newcomer.run("supervisor", "status").stdout
