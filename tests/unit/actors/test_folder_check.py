"""A folder whose own files would redirect a CLI is refused before anything starts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.state import scratch_home
from outsourcerer.actors.folder_settings import check_folder
from outsourcerer.actors.gate import Dispatch, Passed, Scope, pass_gate
from outsourcerer.actors.recheck import Asks, keep, look_again
from outsourcerer.actors.work_tree import project_of
from outsourcerer.lanes.contract import Host, Locality
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.messages.vocabulary import Verb
from outsourcerer.state.settings import Settings


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "repo" / "sub"
    folder.mkdir(parents=True)
    return folder


def check(repo: Path, lane: str, verb: Verb = Verb.RUN, *, trust: bool = False, **environment: str) -> str | None:
    home = repo.parents[1]
    host = Host(environment=environment, executables={}, home=str(home), trust_folder=trust)
    refused = check_folder(builtin(lane), verb, str(repo), host)
    assert refused is None or refused.code is RefusalCode.UNTRUSTED_FOLDER
    return None if refused is None else refused.message


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_file_and_the_key_are_named(repo: Path) -> None:
    put(repo / ".factory" / "settings.json", '{"customModels": [1]}')
    said = check(repo, "droid")
    assert said is not None
    assert str(repo / ".factory" / "settings.json") in said
    assert "customModels" in said
    assert check(repo, "gemini") is None
    assert check(repo, "droid", trust=True) is None


def test_folders_above_count_but_not_the_persons_home(repo: Path) -> None:
    put(repo.parents[1] / ".env", "OPENAI_BASE_URL=http://mine\n")
    assert check(repo, "qwen") is None
    put(repo.parent / ".env", "OPENAI_BASE_URL=http://theirs\n")
    assert "OPENAI_BASE_URL" in (check(repo, "qwen") or "")
    assert check(repo, "qwen", OPENAI_BASE_URL="http://mine") is None


def test_a_hook_of_the_folder_counts_where_it_would_run(repo: Path) -> None:
    put(repo / ".clinerules" / "rules.md", "Be kind.")
    assert check(repo, "cline") is None
    put(repo / ".clinerules" / "hooks" / "TaskStart", "#!/bin/sh\n")
    assert "TaskStart" in (check(repo, "cline") or "")
    put(repo / ".pi" / "extensions" / "mine.ts", "")
    assert check(repo, "pi") is None
    assert "mine.ts" in (check(repo, "pi", Verb.EDIT) or "")


def test_what_is_no_ordinary_file_is_never_waited_for(repo: Path) -> None:
    os.mkfifo(repo / ".env")
    assert "no ordinary file" in (check(repo, "qwen") or "")
    (repo / ".env").unlink()
    (repo / ".env").mkdir()  # a virtual environment: no CLI reads it
    assert check(repo, "qwen") is None
    (repo / ".env").rmdir()
    (repo / ".env").symlink_to(repo / "gone")
    assert check(repo, "qwen") is None
    (repo / ".env").unlink()
    put(repo / ".env", "A=1\n" * 300_000)
    assert "more than" in (check(repo, "qwen") or "")


def test_a_project_ends_at_its_repositorys_root(repo: Path) -> None:
    assert project_of(str(repo)) == (str(repo),)
    (repo.parent / ".git").mkdir()
    (repo.parent / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert project_of(str(repo)) == (str(repo), str(repo.parent))


class Folder(dict[str, Any]):
    """A job's folder, as far as the gate needs one."""

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        self[name] = json.loads(json.dumps(value))

    def read_json(self, name: str) -> dict[str, Any] | None:
        return self.get(name)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_local_lane_that_heeds_its_folder_is_looked_at_again_at_the_launch(repo: Path, trusted: bool) -> None:
    """Nothing of it leaves the machine, and yet what came into the folder since would run unasked."""
    lane = replace(builtin("droid"), locality=Locality.LOCAL)
    environ = {"HOME": str(repo.parents[1])} | ({"OSRC_TRUST_FOLDER": "1"} if trusted else {})
    dispatch = Dispatch(
        subject="job",
        lane=lane,
        verb=Verb.RUN,
        model=None,
        scope=Scope(folders=(str(repo),)),
        cwd=str(repo),
        home=scratch_home(repo.parents[1]),
        environment=environ,
        settings=Settings.load(environ),
    )
    permit, kept = pass_gate(dispatch), Folder()
    assert isinstance(permit, Passed)
    assert not permit.cloud
    keep(kept, dispatch, permit)
    asks = Asks(subject="job", attempt=1, verb=Verb.RUN, model=None, cwd=str(repo))
    assert isinstance(look_again(kept, asks, lane, dispatch.home), Passed)
    put(repo / ".factory" / "settings.json", '{"customModels": [1]}')
    answer = look_again(kept, asks, lane, dispatch.home)
    assert isinstance(answer, Passed) is trusted
    plain = Folder()
    keep(plain, replace(dispatch, lane=replace(lane, heeds=())), permit)
    assert plain == {}
