"""Paths as words: whose home an environment is, what is absolute on any system, and protected places there."""

import ntpath
import os

import pytest
from outsourcerer.messages.paths import home_of, is_absolute
from outsourcerer.state.protected import protected_by


@pytest.mark.parametrize(
    ("environment", "home"),
    [
        ({"HOME": "/home/a", "USERPROFILE": "C:\\Users\\a"}, "/home/a"),
        ({"HOME": "", "USERPROFILE": "C:\\Users\\a"}, "C:\\Users\\a"),
        ({}, "/"),
    ],
)
def test_a_home(environment, home):
    assert home_of(environment) == home


@pytest.mark.parametrize("path", ["/", "/a", "C:\\a", "c:/a", "\\\\server\\share"])
def test_absolute(path):
    assert is_absolute(path)


@pytest.mark.parametrize("path", ["", "a", "a/b", "C:", "C:a", "1:\\a", "ä:\\a", "\\a", "~/a", "C"])
def test_not_absolute(path):
    assert not is_absolute(path)


@pytest.mark.parametrize(
    ("folder", "protected"),
    [
        ("c:\\users\\A\\.SSH\\keys", True),
        ("C:/Users/a/.ssh", True),
        ("C:\\Users\\a\\.sshd", False),
        ("D:\\work", False),
    ],
)
def test_case_and_slashes_get_nobody_past_a_protected_place_of_windows(monkeypatch, folder, protected):
    monkeypatch.setattr(os, "path", ntpath)
    monkeypatch.setattr(os, "sep", "\\")
    assert (protected_by(folder, ["~/.ssh"], "C:\\Users\\a") is not None) is protected
