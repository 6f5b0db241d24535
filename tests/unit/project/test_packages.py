"""pyproject.toml against the tree: what is not listed there would be missing from a wheel."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import outsourcerer

ROOT = Path(outsourcerer.__path__[0])
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
LAYERS = ("actors", "cli", "lanes", "messages", "state")


def test_every_package_is_listed() -> None:
    found = {
        ".".join(("outsourcerer", *path.parent.relative_to(ROOT).parts))
        for layer in LAYERS
        for path in (ROOT / layer).rglob("__init__.py")
    }
    assert set(SETUPTOOLS["packages"]) == {"outsourcerer", *found}
    assert SETUPTOOLS["packages"] == sorted(SETUPTOOLS["packages"])


def test_every_python_file_is_in_a_package() -> None:
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*.py"):
            assert (path.parent / "__init__.py").exists(), path


def test_every_data_file_is_listed_and_every_listing_has_a_file() -> None:
    listed = SETUPTOOLS["package-data"]
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*"):
            if path.is_dir() or path.suffix in (".py", ".pyc"):
                continue
            holder = next(folder for folder in path.parents if (folder / "__init__.py").exists())
            package = ".".join(("outsourcerer", *holder.relative_to(ROOT).parts))
            name = path.relative_to(holder).as_posix()
            assert any(fnmatch(name, pattern) for pattern in listed.get(package, ())), path
    for package, patterns in listed.items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        for pattern in patterns:
            assert list(folder.glob(pattern)), f"{package}: {pattern}"


def test_both_programs_are_one() -> None:
    scripts = PROJECT["project"]["scripts"]
    assert set(scripts) == {"osrc", "outsourcerer"}
    assert len(set(scripts.values())) == 1
    module, name = scripts["osrc"].split(":")
    assert callable(getattr(import_module(module), name))


def test_the_changelog_has_this_version() -> None:
    assert f"## [{outsourcerer.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_linter_of_layers_has_every_lane() -> None:
    independent = next(row for row in PROJECT["tool"]["importlinter"]["contracts"] if row["type"] == "independence")
    folders = {path.parent.name for path in (ROOT / "lanes").glob("*/lane.py")}
    assert set(independent["modules"]) == {f"outsourcerer.lanes.{name}" for name in folders}
