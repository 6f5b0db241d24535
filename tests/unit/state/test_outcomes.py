"""What became of results: the newest word counts, it outlives its job, and older stores hold none."""

import pytest
from fakes.state import NOW, job_id, record
from outsourcerer.messages.facts import FACT, JobAccepted, JobEnded, JobOutcome, JobRemoved
from outsourcerer.messages.loop import LoopAccepted, LoopRecord, LoopStep, LoopStepBegan, LoopStepEnded
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.outcomes import outcomes
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store


def told(number, word, **changes):
    given = {"task_kind": "code", "project": "/repo", "lane": "devin", "model": "glm-5-3", **changes}
    return JobOutcome(job_id=job_id(number), outcome=word, **given)


@pytest.fixture
def store(tmp_path):
    made = Store.open(tmp_path / "state.db", now=NOW)
    yield made
    made.close()


def read(tmp_path, since=0.0):
    with Reader(tmp_path / "state.db") as reader:
        return [(one.job_id, one.outcome, one.at) for one in outcomes(reader, since)]


def test_the_newest_word_counts_and_outlives_its_job(store, tmp_path):
    store.append([JobAccepted(job_id=job_id(1), record=record(1))], NOW)
    store.append([told(1, "passed"), told(2, "failed")], NOW + 1)
    store.append([told(1, "reverted")], NOW + 2)
    store.append([JobRemoved(job_id=job_id(1))], NOW + 3)
    store.commit()
    assert read(tmp_path) == [(job_id(1), "reverted", NOW + 2), (job_id(2), "failed", NOW + 1)]
    assert read(tmp_path, NOW + 2) == [(job_id(1), "reverted", NOW + 2)]
    assert store.record(job_id(1)) is None
    with Reader(tmp_path / "state.db") as reader:
        kinds = [kind for _, _, kind, _ in reader.entries(0, 100, job_id(1))]
    assert kinds.count("job.outcome") == 2


LOOP = "loop-20261130-010203-0123456789ab"


def checked(state):
    """The end of a loop's check, which it graded a job by."""
    terms = {"terms": {"shape": "verify", "check": "make"}, "limits": {}, "verb": "edit", "cwd": "/w"}
    made = LoopRecord.model_validate({"loop_id": LOOP, "accepted_at": 1.0, "segment_began": 1.0, **terms})
    step = LoopStep(number=1, role="check", lap=1, began=2.0)
    begun = [LoopAccepted(loop_id=LOOP, record=made), LoopStepBegan(loop_id=LOOP, step=step)]
    ended = step.model_copy(update={"ended": 3.0, "state": state})
    return begun, LoopStepEnded(loop_id=LOOP, step=ended)


def finished(state):
    """The end of a job by its own check."""
    accepted = JobAccepted(job_id=job_id(1), record=record(1))
    good = state == "passed"
    return [accepted], JobEnded(
        job_id=job_id(1), state=JobState.DONE if good else JobState.FAILED, exit=0 if good else 1
    )


@pytest.mark.parametrize("end", [checked, finished])
@pytest.mark.parametrize("together", [True, False], ids=["one commit", "two"])
def test_an_end_that_is_told_again_brings_no_second_outcome(store, tmp_path, end, together):
    """Its actor crashed once it had said so; the successor's check may say otherwise, and is dropped whole."""
    begun, first = end("passed")
    store.append([*begun, first, told(1, "passed")], NOW)
    if not together:
        store.commit()
    assert store.append([end("failed")[1], told(1, "failed")], NOW + 1) == []
    person = told(1, "reverted")
    assert [one.fact for one in store.append([person], NOW + 2)] == [person], "what somebody says is another decision"
    store.commit()
    assert read(tmp_path) == [(job_id(1), "reverted", NOW + 2)]
    with Reader(tmp_path / "state.db") as reader:
        kinds = [kind for _, _, kind, _ in reader.entries(0, 100, job_id(1))]
    assert kinds.count("job.outcome") == 2


def test_an_outcome_changes_no_record_and_makes_none(store):
    store.append([JobAccepted(job_id=job_id(1), record=record(1))], NOW)
    before = store.record(job_id(1))
    store.append([told(1, "passed"), told(7, "passed")], NOW + 1)
    assert store.record(job_id(1)) == before
    assert store.job_ids() == {job_id(1)}


def test_what_was_not_committed_is_gone(store, tmp_path):
    store.append([told(1, "passed")], NOW)
    store.rollback()
    store.commit()
    assert read(tmp_path) == []


def test_no_store_and_an_empty_one_hold_none(tmp_path):
    assert read(tmp_path) == []


def test_a_word_that_is_none_is_refused():
    with pytest.raises(ValueError, match="outcome"):
        FACT.validate_python({**told(1, "passed").model_dump(), "outcome": "splendid"})
