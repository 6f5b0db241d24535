"""The record of a best-of: there before its tries are, and gone where they are refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from fakes.repos import repository
from outsourcerer.actors.best_of import load_tries
from outsourcerer.cli import crewing, groups
from outsourcerer.cli.app import cli
from outsourcerer.cli.commands import best_of
from outsourcerer.cli.errors import CliError


@pytest.mark.parametrize(("error", "kept"), [(RuntimeError("ended here"), True), (CliError("refused", "no"), False)])
def test_tries_can_be_judged_whenever_their_command_ends(monkeypatch, tmp_path, error, kept):
    def take(*_given):
        raise error

    monkeypatch.setattr(best_of, "Reach", lambda _options: SimpleNamespace(channel=lambda: None, close=lambda: None))
    monkeypatch.setattr(groups, "folder_for", lambda _reach, group_id, _folder: str(tmp_path / group_id))
    monkeypatch.setattr(crewing, "take_group", take)
    repo = repository(tmp_path / "repo")
    done = CliRunner().invoke(cli, ["best-of", "2", "--check", "false", "--cwd", str(repo), "a task"])
    assert done.exception is error
    found = list(tmp_path.glob("fanout-*"))
    assert [load_tries(str(folder))["check"] for folder in found] == (["false"] if kept else [])
