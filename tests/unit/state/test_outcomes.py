"""What became of results: the newest word counts, it outlives its job, and older stores hold none."""

import pytest
from fakes.state import NOW, job_id, record
from outsourcerer.messages.facts import FACT, JobAccepted, JobOutcome, JobRemoved
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
