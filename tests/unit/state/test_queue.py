"""The order in which jobs start: priorities, jobs after jobs, pauses."""

from fakes.state import job_id
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.queue import GOOD, Queue, Waiting, of_group, of_job
from outsourcerer.state.queue_reader import pauses

NONE = frozenset()


def queue(*jobs):
    made = Queue()
    for job in jobs:
        made.add(job)
    return made


def order(made, ends=None, scopes=NONE):
    """The ids in the order in which they would run with one slot, each ending well."""
    ends, ran = dict(ends or {}), []
    while (turn := made.turn(ends, scopes)).run is not None:
        ran.append(turn.run.job_id)
        ends[turn.run.job_id] = JobState.DONE
        made.remove(turn.run.job_id)
    return ran


def test_first_come_first_served_within_a_priority():
    made = queue(
        Waiting(job_id="a"), Waiting(job_id="b", priority=5), Waiting(job_id="c"), Waiting(job_id="d", priority=5)
    )
    made.add(Waiting(job_id="b", priority=-5))
    assert len(made) == 4
    assert order(made) == ["b", "d", "a", "c"]


def test_a_job_waits_for_all_that_it_comes_after():
    made = queue(Waiting(job_id="c", priority=9, after=("a", "b")), Waiting(job_id="d"))
    assert made.turn({"a": JobState.DONE, "b": JobState.RUNNING}, NONE).run.job_id == "d"
    assert made.turn({"a": JobState.DONE, "b": JobState.DONE_UNVERIFIED}, NONE).run.job_id == "c"
    assert made.waited_for() == {"a", "b"}


def test_one_that_failed_skips_what_comes_after_it():
    made = queue(Waiting(job_id="b", after=("a",)), Waiting(job_id="c", after=("b",)))
    turn = made.turn({"a": JobState.TIMEOUT, "b": JobState.QUEUED}, NONE)
    assert turn.run is None
    assert [(job.job_id, reason) for job, reason in turn.skip] == [
        ("b", "skipped: it comes after a, which ended timeout")
    ]
    made.remove("b")
    (skipped,) = made.turn({"b": JobState.CANCELED}, NONE).skip
    assert skipped[1] == "skipped: it comes after b, which ended canceled"


def test_one_that_nobody_knows_any_more_skips_too():
    (skipped,) = queue(Waiting(job_id="b", after=("a",))).turn({"a": None}, NONE).skip
    assert "nothing is known" in skipped[1]


def test_a_pause_holds_its_scope_and_no_more():
    made = queue(Waiting(job_id="a", group_id="g"), Waiting(job_id="b"), Waiting(job_id="c"))
    assert order(made, scopes=frozenset({of_group("g"), of_job("b")})) == ["c"]
    assert made.turn({}, frozenset({"all"})).run is None
    assert made.turn({}, NONE).run.job_id == "a"


def test_what_does_not_fit_lets_the_next_one_go_first():
    made = Queue()
    for name in "ab":
        made.add(Waiting(job_id=name))
    assert made.turn({}, NONE, lambda job: job.job_id != "a").run.job_id == "b"


def test_pauses_are_what_was_paused_and_not_resumed():
    said = [("queue.paused", "all"), ("queue.paused", "group:g"), ("queue.resumed", "group:g")]
    assert pauses(said) == {"all"}
    assert pauses([*said, ("queue.resumed", "all")]) == frozenset()
    assert pauses([("queue.paused", "job:x"), ("queue.resumed", "all")]) == frozenset()


NAMES = [job_id(number) for number in range(6)]
JOBS = st.lists(
    st.builds(
        Waiting,
        job_id=st.sampled_from(NAMES),
        priority=st.integers(-2, 2),
        after=st.lists(st.sampled_from(["x", "y", "z"]), max_size=2).map(tuple),
        group_id=st.sampled_from([None, "g"]),
    ),
    max_size=6,
    unique_by=lambda job: job.job_id,
)
ENDS = st.dictionaries(st.sampled_from(["x", "y", "z"]), st.none() | st.sampled_from(JobState))
SCOPES = st.frozensets(st.sampled_from(["all", "group:g", of_job(NAMES[0])]))


@given(JOBS, ENDS, SCOPES)
def test_a_turn_is_right_for_every_job(jobs, ends, scopes):
    turn = queue(*jobs).turn(ends, scopes)
    skipped = {job.job_id for job, _ in turn.skip}
    for job in jobs:
        states = [ends.get(earlier) for earlier in job.after]
        never = any(state is None or (state.terminal and state not in GOOD) for state in states)
        assert (job.job_id in skipped) == never
    able = [
        job
        for job in jobs
        if job.job_id not in skipped
        and all(ends.get(earlier) in GOOD for earlier in job.after)
        and not scopes & {"all", of_job(job.job_id), f"group:{job.group_id}"}
    ]
    expected = max(able, key=lambda job: job.priority, default=None)
    assert turn.run == expected
