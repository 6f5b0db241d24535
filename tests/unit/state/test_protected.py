"""Protected folders, by name and by where links lead."""

from __future__ import annotations

import pytest
from outsourcerer.state.protected import protected_by


@pytest.fixture
def user(tmp_path):
    for name in (".claude/skills", ".claudette", "work", "real-config/nvim"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".config").symlink_to(tmp_path / "real-config")
    (tmp_path / "work" / "in").symlink_to(tmp_path / ".claude" / "skills")
    return tmp_path


PLACES = ("~/.claude", "~/.config", "relative", "")


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        (".claude", ".claude"),
        (".claude/skills", ".claude"),
        ("work/../.claude", ".claude"),
        ("work/in", ".claude"),
        (".config/nvim", ".config"),
        ("real-config/nvim", ".config"),
        (".claudette", None),
        ("work", None),
        ("", None),
        ("relative", None),
        (".claude/gone", ".claude"),
    ],
)
def test_what_is_protected(user, folder, place):
    found = protected_by(f"{user}/{folder}", PLACES, str(user))
    assert found == (None if place is None else f"{user}/{place}")


def test_the_root_protects_everything(user):
    assert protected_by(str(user), ("/",), "/h") == "/"
