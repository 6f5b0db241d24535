"""A newcomer's first minutes: a wheel in a fresh environment, an empty home, no network, no tool. Each step says the next.

The wheel is the one that is released (``make dist``), and its dependencies are those of the tests' own
environment, without the embedded model: nothing is downloaded.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import distributions
import outsourcerer
import pytest

pytest.importorskip("setuptools", minversion="77", reason="a wheel is built with setuptools")

EPOCH = 1_800_000_000
NOT_TAKEN = ("outsourcerer", "__editable__", "xllamacpp", "llm_", "_pytest", "sitecustomize", "__pycache__")


@dataclass(frozen=True)
class Newcomer:
    """The fresh environment and its user's home."""

    osrc: Path
    home: Path
    built: distributions.Built

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
            timeout=400,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr, done
        return done


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """Build the wheel, and install it where nothing of this checkout is seen."""
    base = tmp_path_factory.mktemp("newcomer")
    built = distributions.build(base, EPOCH)
    place = base / "venv"
    venv.create(place, symlinks=True, with_pip=False)
    python = place / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(NOT_TAKEN):
            (site / entry.name).symlink_to(entry)
    words = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    words += ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(built.wheel)]
    done = subprocess.run(
        words, env=distributions.plain(EPOCH), capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done
    osrc = place / "bin" / "osrc"
    home = base / "home"
    home.mkdir()
    yield Newcomer(osrc, home, built)
    # The environment's links lead into the tests' own packages: take the links away, never what they lead to.
    for entry in site.iterdir():
        if entry.is_symlink():
            entry.unlink()


def test_the_release_is_whole(newcomer: Newcomer, tmp_path: Path) -> None:
    built = newcomer.built
    assert distributions.check_wheel(built.wheel) == []
    assert distributions.check_sdist(built.sdist) == []
    assert distributions.check_changelog() == []
    anew = distributions.wheel_of_sdist(built.sdist, tmp_path / "anew", EPOCH)
    assert anew.read_bytes() == built.wheel.read_bytes(), "from the sdist alone, elsewhere, the same bytes"


def test_what_nobody_means_to_ship_is_told(newcomer: Newcomer, tmp_path: Path) -> None:
    wheel, sdist = tmp_path / newcomer.built.wheel.name, tmp_path / newcomer.built.sdist.name
    with zipfile.ZipFile(newcomer.built.wheel) as whole, zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in whole.namelist():
            if not name.endswith("SKILL.md"):
                lines = whole.read(name)
                packed.writestr(name, lines.replace(b"\nVersion: ", b"\nVersion: 9.") if "METADATA" in name else lines)
        packed.writestr("tests/conftest.py", "")
    version = outsourcerer.__version__
    assert distributions.check_wheel(wheel) == [
        "the wheel lacks outsourcerer/cli/plugin/skills/outsourcerer/SKILL.md",
        "the wheel has tests/conftest.py, which nobody ships",
        *distributions.check_metadata(METADATA.format(version=f"9.{version}").encode()),
    ]
    with tarfile.open(sdist, "w:gz") as packed_tar:
        packed_tar.add(__file__, f"outsourcerer-{version}/actors/base.py")
    told = distributions.check_sdist(sdist)
    assert f"the sdist lacks outsourcerer-{version}/actors/job.py" in told
    assert any(one.startswith("metadata: ") for one in told)
    assert any(one.endswith(" bytes") for one in told)


METADATA = """\
Metadata-Version: 2.4
Name: outsourcerer
Version: {version}
Requires-Python: >=3.11
License-Expression: Apache-2.0
Description-Content-Type: text/markdown

# It
"""


@pytest.mark.parametrize(
    ("was", "put", "told"),
    [
        ("Version: {version}", "Version: one", "version"),
        ("text/markdown", "text/plain", "README"),
        (">=3.11", ">=3.9", "oldest Python"),
        ("License-Expression: Apache-2.0", "Requires-Dist: a @ https://example.invalid/a.zip", "an address"),
        ("Name: outsourcerer", "Name: other", "it is other"),
    ],
)
def test_metadata_that_an_index_would_refuse_is_told(was: str, put: str, told: str) -> None:
    good = METADATA.replace("{version}", outsourcerer.__version__)
    assert distributions.check_metadata(good.encode()) == []
    bad = METADATA.replace(was, put).replace("{version}", outsourcerer.__version__)
    assert told in " ".join(distributions.check_metadata(bad.encode()))


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
