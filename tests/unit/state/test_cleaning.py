"""Which finished jobs go: by age, by size, never what must stay."""

from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.state.cleaning import Finished, choose

NOW = 1_000_000.0


def ids(jobs):
    return [job.job_id for job in jobs]


def test_the_old_go_oldest_first_and_what_must_stay_stays():
    jobs = [
        Finished(job_id="new", ended=NOW - 5),
        Finished(job_id="b", ended=NOW - 20),
        Finished(job_id="a", ended=NOW - 30),
        Finished(job_id="held", ended=NOW - 40, kept="2 commits"),
    ]
    choice = choose(jobs, now=NOW, older_than_s=10)
    assert (ids(choice.go), ids(choice.stay)) == (["a", "b"], ["held"])
    assert ids(choose(jobs, now=NOW, older_than_s=10, most=1).go) == ["a"]


def test_by_size_the_oldest_go_until_the_rest_fits():
    jobs = [Finished(job_id=name, ended=NOW - 10 + place, size=10) for place, name in enumerate("abcd")]
    assert ids(choose(jobs, now=NOW, older_than_s=100, most_bytes=25).go) == ["a", "b"]
    assert ids(choose(jobs, now=NOW, older_than_s=100, most_bytes=40).go) == []


JOBS = st.lists(
    st.builds(
        Finished,
        job_id=st.text("abcdef", min_size=1, max_size=4),
        ended=st.floats(0, NOW),
        size=st.integers(0, 100),
        kept=st.sampled_from([None, "unsaved"]),
    ),
    max_size=12,
    unique_by=lambda job: job.job_id,
)


@given(JOBS, st.floats(0, NOW), st.none() | st.integers(0, 500), st.none() | st.integers(0, 5))
def test_nothing_goes_that_must_stay_or_is_neither_old_nor_too_much(jobs, age, most_bytes, most):
    choice = choose(jobs, now=NOW, older_than_s=age, most_bytes=most_bytes, most=most)
    assert all(job.kept is None for job in choice.go)
    assert most is None or len(choice.go) <= most
    if most_bytes is None:
        assert all(NOW - job.ended >= age for job in choice.go)
    if most is None and most_bytes is not None:
        left = sum(job.size for job in jobs if job not in choice.go)
        assert left <= most_bytes or all(job.kept for job in jobs if job not in choice.go)
