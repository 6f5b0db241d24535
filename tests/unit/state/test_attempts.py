"""One attempt's files make room for the next one's, and a kill at any point loses neither."""

import os

import pytest
from fakes.state import job_id, names, record, scratch_home
from outsourcerer.state import attempts
from outsourcerer.state.attempts import attempt_folder, discard_stage, put_in_place, stage
from outsourcerer.state.job_folder import EXIT, LAUNCH, OUT, PROMPT, JobFolder

OLD = {OUT: b"old out", EXIT: b"{}", PROMPT: b"old prompt", LAUNCH: b"", "watch.json": b"{}"}
NEW = {PROMPT: b"new prompt", LAUNCH: b"new launch"}


class Killed(BaseException):
    pass


@pytest.fixture
def folder(tmp_path):
    made = JobFolder.create(scratch_home(tmp_path), job_id())
    made.begin_meta(record(), {"lane": "claude"}, {"task": "hello"})
    made.promise()
    for name, data in OLD.items():
        made.write(name, data)
    made.place("skills/one.md", b"old skill")
    made.claim(1, {"by": "shim"})
    return made


def fill(folder):
    staged = stage(folder, 2)
    for name, data in NEW.items():
        staged.write(name, data)
    staged.place("skills/two.md", b"new skill")


def whole(folder):
    assert {name: folder.file(name).read_bytes() for name in NEW} == NEW
    assert names(folder.path / "skills") == ["two.md"]
    assert not (folder.path / OUT).exists()
    assert folder.read_exit() is None
    assert folder.read_claim(1).by == "shim"
    assert folder.read_meta().job_id == job_id()
    before = attempt_folder(folder, 1, 2)
    assert {name: before.file(name).read_bytes() for name in OLD} == OLD
    assert (before.path / "skills" / "one.md").read_bytes() == b"old skill"
    assert not [name for name in names(folder.path) if name.startswith(("next.", "ready."))]


def test_the_next_attempt_takes_the_place_of_the_one_before(folder):
    fill(folder)
    assert put_in_place(folder, 2)
    whole(folder)
    assert not put_in_place(folder, 2)
    whole(folder)
    assert attempt_folder(folder, 2, 2) is folder


@pytest.mark.parametrize("steps", range(12))
def test_a_kill_between_any_two_steps_is_made_good(folder, monkeypatch, steps):
    fill(folder)
    left = [steps]
    real = os.replace

    def replace(source, target):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        real(source, target)

    monkeypatch.setattr(attempts.os, "replace", replace)
    try:
        put_in_place(folder, 2)
    except Killed:
        monkeypatch.setattr(attempts.os, "replace", real)
        assert put_in_place(folder, 2)
    whole(folder)


def test_what_was_made_ready_and_never_decided_leaves_no_trace(folder):
    fill(folder)
    discard_stage(folder)
    assert not put_in_place(folder, 2)
    assert folder.file(OUT).read_bytes() == b"old out"
    fill(folder)
    assert names(stage(folder, 2).path) == []


def test_the_record_s_copy_keeps_what_was_asked_for_and_takes_a_new_plan(folder):
    folder.write_meta(record(lane="codex"), {"lane": "codex"})
    assert folder.read_plan() == {"lane": "codex"}
    assert folder.read_request() == {"task": "hello"}
    folder.write_meta(record(lane="gemini"))
    assert (folder.read_meta().lane, folder.read_plan()) == ("gemini", {"lane": "codex"})
