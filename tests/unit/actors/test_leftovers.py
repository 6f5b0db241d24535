"""What a killed process left of a job or a session: it makes room where nobody was promised it, else it stays."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from fakes.state import identity, job_id, names, record, scratch_home
from outsourcerer.actors.leftovers import is_in_the_way, make_room
from outsourcerer.actors.lock import HomeLock
from outsourcerer.messages.job import Identity
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.state.identity import identify
from outsourcerer.state.job_folder import LAUNCH, PROMPT, JobFolder
from outsourcerer.state.session_folder import SessionFolder


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


@pytest.fixture
def services(home):
    lock = HomeLock(home)
    yield SimpleNamespace(home=home, attached=False, lock=lock)
    lock.release()


def begun(home, **changes):
    """A job's folder as a supervisor leaves it that is killed before it journals the job."""
    folder = JobFolder.create(home, job_id())
    folder.begin(PROMPT, b"say hello")
    folder.begin(LAUNCH, b"{}")
    folder.place("given/settings.json", b"{}")
    folder.begin_meta(record(**changes), {"lane": "x"})
    return folder


def kept(folder, services):
    """Whether it is refused and nothing of it is touched."""
    before = names(folder.path)
    answer = make_room(folder, services)
    return (
        answer is not None
        and (answer.code, job_id() in answer.message, "nothing was started" in answer.message)
        == (RefusalCode.STATE_DAMAGED, True, True)
        and names(folder.path) == before
    )


def test_where_nothing_is_there_is_room(home, services):
    assert make_room(JobFolder(home.job_dir(job_id())), services) is None
    assert make_room(SessionFolder(home.session_dir(job_id())), services) is None
    assert names(home.jobs_dir) == []


@pytest.mark.parametrize(
    "made",
    [lambda home: JobFolder.create(home, job_id()), begun, lambda home: SessionFolder.create(home, job_id())],
    ids=["an empty folder", "a draft", "a session"],
)
def test_what_was_only_begun_makes_room(home, services, made):
    folder = made(home)
    assert make_room(folder, services) is None
    assert not folder.path.exists()


@pytest.mark.parametrize(
    "name", ["meta.json", "meta.json.bad", ".meta.json.1.ab.tmp", "end.json", "exit.json", "claim.1"]
)
def test_a_job_that_was_promised_stays(home, services, name):
    folder = begun(home)
    folder.file(name).touch()
    assert kept(folder, services)


@pytest.mark.parametrize("name", ["meta.json", "exit.json", "holder.json", "events.jsonl", "claim.2"])
def test_a_session_that_was_promised_stays(home, services, name):
    folder = SessionFolder.create(home, job_id())
    (folder.path / name).touch()
    assert kept(folder, services)


def test_what_is_no_folder_stays(home, services, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    home.job_dir(job_id()).symlink_to(tmp_path / "mine")
    assert kept(JobFolder(home.job_dir(job_id())), services)
    home.job_dir(job_id()).unlink()
    home.job_dir(job_id()).touch()
    assert make_room(JobFolder(home.job_dir(job_id())), services).code is RefusalCode.STATE_DAMAGED
    assert home.job_dir(job_id()).is_file()


def test_what_another_living_command_is_at_stays(home, services):
    parent = Identity.model_validate(identify(os.getppid()))
    assert kept(begun(home, owner=parent), services)


def test_what_a_command_that_is_gone_was_at_makes_room(home, services):
    gone = identity(2**22 + 1)
    folder = begun(home, owner=gone)
    assert make_room(folder, services) is None
    assert not folder.path.exists()


def test_a_command_leaves_what_a_supervisor_may_be_at_and_takes_over_what_none_is(home, services):
    services.attached = True
    supervisor = HomeLock(home)
    assert supervisor.take()
    folder = begun(home)
    assert kept(folder, services)
    supervisor.release()
    assert make_room(folder, services) is None
    assert (folder.path.exists(), services.lock.held) == (False, True)


@pytest.mark.parametrize("made", [begun, lambda home: SessionFolder.create(home, job_id())], ids=["a job", "a session"])
def test_only_what_tells_of_more_than_the_store_is_in_the_way(home, made):
    assert not is_in_the_way(JobFolder(home.job_dir(job_id())), lambda: False)
    folder = made(home)
    assert not is_in_the_way(folder, lambda: False), "it makes room, or is being taken"
    (folder.path / "claim.1").touch()
    assert is_in_the_way(folder, lambda: False)
    assert not is_in_the_way(folder, lambda: True)
