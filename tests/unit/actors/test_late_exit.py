"""A verdict on a lost exit is taken back when the exit turns up: same attempt, all evidence, and the record says so."""

import json

import pytest
from fakes.actors import eventually
from fakes.lanes import install_fake_lanes
from fakes.state import NOW, record, scratch_home
from outsourcerer.actors.assembly import assemble
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.actors.late_exit import look_again, may_be_revised
from outsourcerer.actors.lock import HomeLock
from outsourcerer.messages.facts import JobAccepted, JobEnded, JobLaunching
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.job_folder import JobFolder
from outsourcerer.state.reader import Reader
from outsourcerer.state.records import apply
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

LOST = ExitStatus(lost=True)
OUTPUT = [
    {"type": "start", "model": "fake-1"},
    {"type": "text", "text": "half of the ans", "partial": False},
    {"type": "end", "ok": True, "text": "the whole answer"},
]


class Desk:
    def __init__(self, folder) -> None:
        self.home = scratch_home(folder)
        install_fake_lanes(self.home.root)
        self.lane = LaneBook(self.home).lane("fake")

    def job(self, number: int, *, exit_=None, output=OUTPUT, **changes):
        ended = record(number, lane="fake", attempt=1, state=JobState.INTERRUPTED, exit=130, exit_status=LOST)
        ended = ended.model_copy(update=changes)
        folder = JobFolder.create(self.home, ended.job_id)
        (folder.path / "out.log").write_text("".join(json.dumps(line) + "\n" for line in output))
        (folder.path / "err.log").write_bytes(b"")
        if exit_ is not None:
            self.exit(folder, **exit_)
        return ended, folder

    def exit(self, folder, **more) -> None:
        value = {"attempt": 1, "code": None, "signal": None, "error": None, "at": NOW, **more}
        (folder.path / "exit.json").write_text(json.dumps(value))

    def look(self, number: int = 0, **terms):
        ended, folder = self.job(number, **terms)
        return ended, folder, look_again(ended, self.lane, folder)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_a_late_exit_makes_the_answer_count(desk):
    ended, folder, fact = desk.look(exit_={"code": 0})
    assert fact.revises
    assert fact.state in (JobState.DONE, JobState.DONE_UNVERIFIED)
    assert (fact.exit_status.code, fact.exit_status.lost) == (0, False)
    assert (folder.path / "last.txt").read_text() == "the whole answer"
    assert "judged again" in fact.note
    after = apply(ended, fact, NOW)
    assert (after.state, after.exit_status.code) == (fact.state, 0)
    assert not may_be_revised(after), "once is enough"


@pytest.mark.parametrize(
    ("exit_", "output", "state"),
    [
        ({"code": 1}, OUTPUT[:1], JobState.FAILED),
        ({"signal": 9}, OUTPUT[:2], JobState.INTERRUPTED),
    ],
)
def test_a_late_exit_that_is_no_success_is_recorded_as_what_it_is(desk, exit_, output, state):
    _, _, fact = desk.look(exit_=exit_, output=output)
    assert fact.state is state
    assert not fact.exit_status.lost


@pytest.mark.parametrize(
    "exit_",
    [None, {"code": 0, "attempt": 2}, {"code": None}],
    ids=["none came", "another attempt's", "it says nothing"],
)
def test_nothing_new_changes_nothing(desk, exit_):
    _, folder, fact = desk.look(exit_=exit_)
    assert fact is None
    assert not (folder.path / "last.txt").exists()


@pytest.mark.parametrize(
    ("changes", "may"),
    [
        ({}, True),
        ({"state": JobState.WEDGED}, True),
        ({"state": JobState.DONE}, False),
        ({"state": JobState.CANCELED}, False),
        ({"state": JobState.RUNNING}, False),
        ({"exit_status": ExitStatus(code=3)}, False),
        ({"exit_status": None}, False),
    ],
)
def test_only_a_verdict_on_a_lost_exit_may_be_revised(changes, may):
    base = record(0, state=JobState.INTERRUPTED, exit_status=LOST)
    assert may_be_revised(base.model_copy(update=changes)) is may


def test_a_tree_looks_again_at_its_start_and_when_a_shim_says_so(desk):
    early, _ = desk.job(1, exit_={"code": 0})
    late, late_folder = desk.job(2)
    plain, _ = desk.job(3, exit_={"code": 0}, state=JobState.FAILED, exit_status=ExitStatus(code=1))
    store = Store.open(desk.home.database, now=NOW)
    for one in (early, late, plain):
        fresh = one.model_copy(update={"state": JobState.QUEUED, "attempt": 0, "exit": None, "exit_status": None})
        end = JobEnded(job_id=one.job_id, state=one.state, exit=130, exit_status=one.exit_status)
        facts = [JobAccepted(job_id=one.job_id, record=fresh), JobLaunching(job_id=one.job_id, attempt=1), end]
        store.append(facts, NOW)
    store.commit()
    store.close()

    def state(one) -> str:
        with Reader(desk.home.database) as reader:
            return reader.record(one.job_id)["state"]

    lock = HomeLock(desk.home)
    assert lock.take()
    tree = assemble(desk.home, Settings.load({}, None), listener=None, attached=True, lock=lock)
    try:
        eventually(lambda: state(early).startswith("done"))
        assert state(late) == "interrupted"
        desk.exit(late_folder, code=0)
        with tree.notices._path.open("wb", buffering=0) as pipe:
            pipe.write(json.dumps({"job": late.job_id, "attempt": 1, "what": "exited"}).encode() + b"\n")
        eventually(lambda: state(late).startswith("done"))
        eventually(lambda: late_folder.read_meta() is not None)
        assert late_folder.read_meta().state.value == state(late)
        assert state(plain) == "failed"
        with Reader(desk.home.database) as reader:
            kinds = [kind for *_, kind, _ in reader.entries(0, 100, late.job_id)]
        assert kinds == ["job.accepted", "job.launching", "job.ended", "job.ended"]
    finally:
        assert tree.stop("shutdown")
        tree.close()
        lock.release()
