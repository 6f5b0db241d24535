"""Whoever sets a rule of the linter aside says which, and why, on the same line."""

import re
from pathlib import Path

import outsourcerer
import pytest

ROOT = Path(outsourcerer.__path__[0])
PARTS = ("actors", "cli", "docs", "lanes", "messages", "state", "tests")
_WORD = "no" + "qa"  # in two, or this file would seem to hold some
_EXCEPTION = re.compile(rf"#\s*(?:ruff:\s*)?{_WORD}\b(.*)")
_REASONED = re.compile(r": ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*(?: - |  )\w.{2,}")


def unreasoned(line: str) -> bool:
    found = _EXCEPTION.search(line)
    return found is not None and _REASONED.match(found[1]) is None


@pytest.mark.parametrize("said", ["", ": S101", ": S101, PT018", ": S101  ", ": S101 - ", " because it is so"])
@pytest.mark.parametrize("kind", ["x = 1  # ", "# ruff: "])
def test_a_bare_exception_is_found(kind, said):
    assert unreasoned(f"{kind}{_WORD}{said}")


@pytest.mark.parametrize("said", [": S101  as above", ": S101, PT018 - it was drained", None])
def test_a_reasoned_one_is_not(said):
    assert not unreasoned("x = 1" if said is None else f"x = 1  # {_WORD}{said}")


def test_every_exception_has_its_reason():
    files = [*ROOT.glob("*.py"), *(path for part in PARTS for path in (ROOT / part).rglob("*.py"))]
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        if _WORD in (text := path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1)
        if unreasoned(line)
    ]
    assert len(files) > 500, "the program is looked at, and not an empty folder"
    assert not bare
