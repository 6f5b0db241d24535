"""What is released: a wheel and a sdist, built from a copy of what the repository ships, and checked.

    make dist                  # builds both into dist/, checks them, installs the wheel on every Python that is here
    make dist ARGS=--no-install

Tests share :func:`build` and the checks; each check returns complaints, and no complaint means well.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("actors", "cli", "lanes", "messages", "state")
FILES = ("__init__.py", "__main__.py", "py.typed")
BESIDE = ("pyproject.toml", "README.md", "LICENSE")
"""Files that a build needs, and a sdist has."""
BUILD = "import setuptools.build_meta as b, sys; getattr(b, 'build_' + sys.argv[1])(sys.argv[2])"
MADE = ("PKG-INFO", "setup.cfg")
"""Files that setuptools adds to a sdist, beside its egg-info."""
LARGEST = 3_000_000
"""Bytes that neither may exceed: what is larger holds something that nobody meant to ship."""
OLDEST = (3, 11)
LANE = """\
argv = [{python}, "-c", "import sys; sys.stdin.read(); print('It is a comma.')"]
stdin = "prompt"
output = "text"
local = true
agentic = false
billing = {{ kind = "free", words = "$0" }}
[verbs]
run = "READ-ONLY"
"""


@dataclass(frozen=True)
class Built:
    """The two files of a release."""

    wheel: Path
    sdist: Path


def ours(path: Path) -> bool:
    """Whether a file is part of the package, as opposed to what running it leaves."""
    return path.is_file() and "__pycache__" not in path.parts


def shipped(root: Path = ROOT) -> set[str]:
    """Every file of the package in a checkout, by its path from the root."""
    found = (path for part in SHIPPED for path in (root / part).rglob("*") if ours(path))
    return {path.relative_to(root).as_posix() for path in found} | set(FILES)


def copy(root: Path, into: Path) -> None:
    """Copy what a build needs, with modes that no umask changes."""
    for name in sorted(shipped(root) | set(BESIDE)):
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target)
        target.chmod(0o755 if os.access(root / name, os.X_OK) else 0o644)


def plain(epoch: int) -> dict[str, str]:
    """This environment without this checkout in it, at a fixed time."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    return kept | {"SOURCE_DATE_EPOCH": str(epoch)}


def call_backend(kind: str, source: Path, into: Path, epoch: int) -> Path:
    """Have setuptools build a ``wheel`` or a ``sdist`` from a source folder."""
    into.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, kind, str(into)],
        check=False,
        cwd=source,
        env=plain(epoch),
        capture_output=True,
        text=True,
        timeout=300,
        umask=0o022,
    )
    if done.returncode:
        raise SystemExit(f"{kind} can't be built: {done.stderr[-4000:]}")
    (made,) = into.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


def settle(sdist: Path, epoch: int) -> None:
    """Write a sdist anew so that only its contents tell it apart: setuptools heeds no SOURCE_DATE_EPOCH there."""
    plain_tar = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=plain_tar, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            if member.isfile():
                row = tarfile.TarInfo(member.name)
                row.size, row.mtime = member.size, epoch
                row.mode = 0o755 if member.mode & 0o100 else 0o644
                new.addfile(row, old.extractfile(member))
    with sdist.open("wb") as raw, gzip.GzipFile("", "wb", mtime=epoch, fileobj=raw) as packed:
        packed.write(plain_tar.getvalue())


def build(base: Path, epoch: int, root: Path = ROOT) -> Built:
    """Build both below ``base``; the same files and epoch give the same bytes, wherever and whenever."""
    copy(root, base / "source")
    sdist = call_backend("sdist", base / "source", base / "dist", epoch)
    settle(sdist, epoch)
    return Built(call_backend("wheel", base / "source", base / "dist", epoch), sdist)


def wheel_of_sdist(sdist: Path, base: Path, epoch: int) -> Path:
    """Build the wheel that a packager gets who has the sdist alone."""
    with tarfile.open(sdist) as packed:
        packed.extractall(base)
    (source,) = (path for path in base.iterdir() if path.is_dir())
    return call_backend("wheel", source, base / "dist", epoch)


def told_apart(what: str, wanted: Iterable[str], found: Iterable[str]) -> list[str]:
    """Complain of names that lack or are too many."""
    should, are = set(wanted), set(found)
    lacking, extra = sorted(should - are), sorted(are - should)
    return [f"{what} lacks {name}" for name in lacking] + [f"{what} has {name}, which nobody ships" for name in extra]


def check_wheel(wheel: Path, root: Path = ROOT) -> list[str]:
    """Exactly the package, its metadata, and both commands."""
    version = version_of(root)
    about = f"outsourcerer-{version}.dist-info"
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if not name.endswith("/")}
        read = {name: packed.read(f"{about}/{name}") for name in ("METADATA", "WHEEL", "entry_points.txt")}
        points = read["entry_points.txt"].decode()
    inside = {name for name in names if not name.startswith(f"{about}/")}
    found = told_apart("the wheel", (f"outsourcerer/{name}" for name in shipped(root)), inside)
    found += [] if b"Tag: py3-none-any" in read["WHEEL"] else ["the wheel is for one platform alone"]
    for name in ("osrc", "outsourcerer"):
        if f"{name} = outsourcerer.cli.main:main" not in points:
            found.append(f"the wheel has no command {name}")
    if f"{about}/licenses/LICENSE" not in names:
        found.append("the wheel has no licence")
    return found + check_metadata(read["METADATA"], root) + check_size(wheel)


def check_sdist(sdist: Path, root: Path = ROOT) -> list[str]:
    """Exactly what the wheel is built from, below one folder of the right name."""
    top = f"outsourcerer-{version_of(root)}"
    with tarfile.open(sdist) as packed:
        names = {member.name for member in packed.getmembers()}
        about = packed.extractfile(f"{top}/PKG-INFO") if f"{top}/PKG-INFO" in names else None
        metadata = about.read() if about else b""
    wanted = {f"{top}/{name}" for name in shipped(root) | set(BESIDE) | set(MADE)}
    made = {name for name in names if name.startswith(f"{top}/outsourcerer.egg-info/")}
    return told_apart("the sdist", wanted, names - made) + check_metadata(metadata, root) + check_size(sdist)


def check_metadata(raw: bytes, root: Path = ROOT) -> list[str]:
    """As an index would take it: valid, of this version, with a README that it can show."""
    try:
        told = Metadata.from_email(raw, validate=True)
    except ExceptionGroup as error:
        return [f"metadata: {one}" for one in error.exceptions]
    found = []
    if (told.name, str(told.version)) != ("outsourcerer", version_of(root)):
        found.append(f"metadata: it is {told.name} {told.version}")
    if told.description_content_type != "text/markdown" or not (told.description or "").strip():
        found.append("metadata: its README can't be shown")
    if str(told.requires_python) != f">={OLDEST[0]}.{OLDEST[1]}" or told.license_expression is None:
        found.append("metadata: the oldest Python or the licence is not said")
    if any(row.url for row in told.requires_dist or []):
        found.append("metadata: an index refuses what depends on an address")
    return found


def check_size(path: Path) -> list[str]:
    """Neither empty nor swollen."""
    size = path.stat().st_size
    return [] if 100_000 < size < LARGEST else [f"{path.name} has {size} bytes"]


def check_changelog(root: Path = ROOT) -> list[str]:
    """The newest heading is this version's."""
    headings = re.findall(r"^## \[([^\]]+)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    newest = next((name for name in headings if name.lower() != "unreleased"), None)
    return [] if newest == version_of(root) else [f"CHANGELOG.md: its newest version is {newest}"]


def version_of(root: Path = ROOT) -> str:
    """What ``__init__.py`` says."""
    return re.findall(r'^__version__ = "([^"]+)"', (root / "__init__.py").read_text(), re.MULTILINE)[0]


def pythons() -> dict[tuple[int, int], str]:
    """One interpreter of each minor version that can be had here: on PATH, or of pyenv's."""
    places = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep)]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    places += [path / "bin" for path in sorted(pyenv.glob("3.*"))]
    found: dict[tuple[int, int], str] = {sys.version_info[:2]: sys.executable}
    for path in (path for place in places for path in sorted(place.glob("python3.*"))):
        if re.fullmatch(r"python3\.\d+", path.name):
            words = [str(path), "-c", "import ensurepip, sys, venv; print(*sys.version_info[:2])"]
            asked = subprocess.run(words, check=False, capture_output=True, text=True, env=plain(0), timeout=60)
            if asked.returncode == 0:
                major, minor = map(int, asked.stdout.split())
                found.setdefault((major, minor), str(path))
    return {version: found[version] for version in sorted(found) if version >= OLDEST}


def try_out(python: str, wheel: Path, base: Path) -> list[str]:
    """Install the wheel in a fresh environment, far from the repository, and have it do a job."""
    home, bin_ = base / "home", base / "venv" / "bin"
    (home / "state" / "lanes.d").mkdir(parents=True, mode=0o700)
    (home / "state").chmod(0o700)
    lane = home / "state" / "lanes.d" / "mine.toml"
    lane.write_text(LANE.format(python=f'"{bin_ / "python"}"'))
    lane.chmod(0o600)
    environ = {"HOME": str(home), "OSRC_HOME": str(home / "state"), "PATH": f"{bin_}:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def run(*words: str, into: dict[str, str] = environ) -> str:
        done = subprocess.run(words, check=False, cwd=home, env=into, capture_output=True, text=True, timeout=600)
        said = done.stdout + done.stderr
        return said if done.returncode in (0, 2) and "Traceback" not in said else f"FAILED {done.returncode}: {said}"

    network = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    said = [run(python, "-m", "venv", str(base / "venv"), into=network)]
    said.append(
        run(str(bin_ / "python"), "-m", "pip", "install", "--quiet", "--prefer-binary", str(wheel), into=network)
    )
    said.append(run(str(bin_ / "osrc"), "--version"))
    said.append(run(str(bin_ / "python"), "-m", "outsourcerer", "brief"))
    answered = run(str(bin_ / "osrc"), "run", "--lane", "mine", "what does the build lack?")
    said += [answered, run(str(bin_ / "osrc"), "supervisor", "stop")]
    found = [one for one in said if one.startswith("FAILED")]
    return found if found or "It is a comma." in answered else [f"the job said: {answered}"]


def release_time() -> int:
    """When the newest commit was made; what is not committed is not released."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    if git("status", "--porcelain"):
        raise SystemExit("what is not committed would be released: commit or remove it (git status)")
    return int(git("log", "-1", "--format=%ct"))


def release(*, install: bool) -> list[str]:
    """Build both twice, check them, try them out; they are in dist/ afterwards. Returns complaints."""
    epoch = release_time()
    with tempfile.TemporaryDirectory(prefix="osrc-dist-") as scratch:
        base = Path(scratch)
        built, again = build(base / "1", epoch), build(base / "2", epoch)
        found = check_wheel(built.wheel) + check_sdist(built.sdist) + check_changelog()
        anew = wheel_of_sdist(built.sdist, base / "3", epoch)
        for one, other in ((built.wheel, again.wheel), (built.sdist, again.sdist), (built.wheel, anew)):
            if one.read_bytes() != other.read_bytes():
                found.append(f"{one.name} is not the same when it is built again")
        for version, python in (pythons() if install and not found else {}).items():
            name = ".".join(map(str, version))
            print(f"trying it out on Python {name}", flush=True)
            found += [f"Python {name}: {one}" for one in try_out(python, built.wheel, base / name)]
        if not found:
            place = ROOT / "dist"
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(base / "1" / "dist", place)
            for path in sorted(place.iterdir()):
                print(f"dist/{path.name}  {path.stat().st_size} bytes")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build and check the wheel and the sdist.")
    parser.add_argument("--no-install", action="store_true", help="try the wheel out on no Python")
    complaints = release(install=not parser.parse_args().no_install)
    print("\n".join(complaints), file=sys.stderr)
    sys.exit(bool(complaints))
