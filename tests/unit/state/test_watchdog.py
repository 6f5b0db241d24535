"""The watchdog's rules, one table each: when a rule fires, when it does not, and what it asks first."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages.vocabulary import JobState, Tier, Verb
from outsourcerer.state.watchdog import (
    CAUSE_STATES,
    Cause,
    Policy,
    Watch,
    alarm,
    answer_awaited,
    close_look_due,
    next_deadline_s,
    policy_for,
)

RUN = Policy(verb=Verb.RUN)
EDIT = Policy(verb=Verb.EDIT)
LIVELY = Watch(initialised=True, wrote=True)


def policy(verb=Verb.RUN, tier=Tier.MID, own=None, **terms) -> Policy:
    return policy_for((own or {}).get, tier=tier, verb=verb, **terms)


# --- windows


@pytest.mark.parametrize(
    ("tier", "warn", "kill", "hard"),
    [
        (Tier.BUDGET, 90, 240, 900),
        (Tier.MID, 150, 420, 1800),
        (Tier.RAW, 150, 420, 1800),
        (Tier.CAPABLE, 300, 900, 3600),
        (Tier.FRONTIER, 300, 900, 3600),
    ],
)
def test_the_tier_of_the_model_picks_the_windows(tier, warn, kill, hard):
    made = policy(tier=tier)
    assert (made.stall_warn_s, made.stall_kill_s, made.hard_s, made.hard_max_s) == (warn, kill, hard, 3 * hard)
    assert (made.first_output_s, made.explore_warn_s, made.explore_kill_s) == (150, 180, kill)
    assert (made.no_progress_s, made.no_progress_kill_s, made.launch_grace_s, made.kill_grace_s) == (600, 0, 45, 2)
    assert (made.poll_s, made.permission_abort, made.look_files, made.look_depth) == (10, 3, True, 6)


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("poll", 3, "poll_s", 3),
        ("stall_warn", 33, "stall_warn_s", 33),
        ("stall_kill", 500, "stall_kill_s", 500),
        ("timeout", 77, "hard_s", 77),
        ("timeout", 77, "hard_max_s", 77),
        ("timeout_max", 9000, "hard_max_s", 9000),
        ("noinit_secs", 12, "first_output_s", 12),
        ("noinit_secs", 0, "first_output_s", 0),
        ("nowrite_warn", 20, "explore_warn_s", 20),
        ("nowrite_kill", 300, "explore_kill_s", 300),
        ("noprogress_secs", 60, "no_progress_s", 60),
        ("noprogress_kill_secs", 900, "no_progress_kill_s", 900),
        ("final_grace", 5, "final_grace_s", 5),
        ("launch_grace", 9, "launch_grace_s", 9),
        ("perm_abort", 7, "permission_abort", 7),
        ("fs_progress", 0, "look_files", False),
        ("fs_progress_depth", 2, "look_depth", 2),
    ],
)
def test_every_window_has_its_name(key, value, field, expected):
    assert getattr(policy(own={key: value}), field) == expected


@pytest.mark.parametrize("key", ["poll", "stall_warn", "stall_kill", "timeout", "timeout_max"])
def test_a_window_that_no_job_can_do_without_is_not_switched_off_by_zero(key):
    assert policy(own={key: 0.0}) == policy()


def test_a_flag_outranks_the_setting_and_switches_the_extension_off():
    made = policy(own={"timeout": 50}, timeout_s=20)
    assert (made.hard_s, made.hard_max_s) == (20, 20)


def test_a_lane_may_be_more_patient_and_then_the_cap_is_too():
    made = policy(tier=Tier.BUDGET, stall_kill_floor_s=1800, first_output_s=600)
    assert (made.stall_kill_s, made.hard_s, made.first_output_s) == (1800, 1800, 600)
    assert policy(own={"stall_kill": 60}, stall_kill_floor_s=1800).stall_kill_s == 60, "a person knows better"
    assert policy(own={"stall_warn": 1000}).stall_warn_s == 420, "no warning after the end"


def test_every_cause_but_the_final_grace_means_a_state():
    assert set(CAUSE_STATES) == set(Cause) - {Cause.FINAL_GRACE}
    assert all(state.terminal for state in CAUSE_STATES.values())


# --- rules

FIRES = [
    # what, watch, policy, cause or state
    ("fresh", Watch(), RUN, None),
    ("first output just in time", Watch(age_s=149, silent_s=149), RUN, None),
    ("no first output", Watch(age_s=150, silent_s=10), RUN, Cause.NO_INIT),
    ("no first output, rule off", Watch(age_s=400, silent_s=10), replace(RUN, first_output_s=0), None),
    ("buffered lanes say nothing first", Watch(age_s=400, silent_s=10), replace(RUN, streamed=False), None),
    ("something said", Watch(age_s=400, silent_s=10, initialised=True), RUN, None),
    ("silent a while", replace(LIVELY, age_s=200, silent_s=149), RUN, None),
    ("silent to the warning", replace(LIVELY, age_s=200, silent_s=150), RUN, JobState.STALLED),
    ("silent to the end", replace(LIVELY, age_s=600, silent_s=420), RUN, Cause.STALL),
    ("buffered and silent", Watch(age_s=600, silent_s=420), replace(RUN, streamed=False), Cause.STALL),
    ("a reader need not write", Watch(initialised=True, age_s=700, silent_s=10), RUN, None),
    ("exploring", Watch(initialised=True, age_s=180, silent_s=10), EDIT, JobState.EXPLORING),
    ("exploring, rule off", Watch(initialised=True, age_s=180, silent_s=1), replace(EDIT, explore_warn_s=0), None),
    ("exploring on a text lane", Watch(initialised=True, age_s=700, silent_s=10), replace(EDIT, agentic=False), None),
    ("written", replace(LIVELY, age_s=700, silent_s=10), EDIT, None),
    ("no progress", Watch(initialised=True, age_s=600, silent_s=10), EDIT, JobState.NO_PROGRESS_WRITES),
    ("research explores", Watch(initialised=True, age_s=600), replace(EDIT, verb=Verb.RESEARCH), JobState.EXPLORING),
    (
        "no progress is shown for ever",
        Watch(initialised=True, age_s=1799, silent_s=10),
        EDIT,
        JobState.NO_PROGRESS_WRITES,
    ),
    (
        "no progress is punished on demand",
        Watch(initialised=True, age_s=900, silent_s=10),
        replace(EDIT, no_progress_kill_s=900),
        Cause.NO_PROGRESS,
    ),
    (
        "but not of research",
        Watch(initialised=True, age_s=900, silent_s=10),
        replace(EDIT, no_progress_kill_s=900, verb=Verb.RESEARCH),
        JobState.EXPLORING,
    ),
    (
        "exploring and silent",
        Watch(initialised=True, age_s=400, silent_s=200),
        replace(EDIT, explore_kill_s=200),
        Cause.EXPLORING,
    ),
    ("past the cap and silent", replace(LIVELY, age_s=1800, silent_s=150), RUN, Cause.HARD),
    ("past the ceiling", replace(LIVELY, age_s=5400, silent_s=0), RUN, Cause.HARD),
    ("past a cap that was set", replace(LIVELY, age_s=60), replace(RUN, hard_s=60, hard_max_s=60), Cause.HARD),
    ("in its last words", replace(LIVELY, age_s=1000, silent_s=400, final_s=19.0), RUN, None),
    ("does not leave", replace(LIVELY, age_s=1000, final_s=20.0), RUN, Cause.FINAL_GRACE),
    ("does not leave, past its cap", replace(LIVELY, age_s=9999, final_s=20.0), RUN, Cause.FINAL_GRACE),
]


@pytest.mark.parametrize(("watch", "terms", "expected"), [row[1:] for row in FIRES], ids=[row[0] for row in FIRES])
def test_rule(watch, terms, expected):
    found = alarm(watch, terms)
    assert (found.cause or found.state) == expected
    assert found.cause is None or found.state is None
    assert (expected is None) or found.sentence


def test_a_lively_job_is_extended_and_that_is_said_once():
    first = alarm(replace(LIVELY, age_s=1800, silent_s=10), RUN)
    assert first.cause is None
    assert "extended" in (first.sentence or "")
    again = alarm(replace(first.watch, age_s=1900), RUN)
    assert (again.cause, again.sentence) == (None, None)


# --- looking closely

LOOKS = [
    ("nothing yet", replace(LIVELY, age_s=100, silent_s=100), RUN, False),
    ("at the warning", replace(LIVELY, age_s=150, silent_s=150), RUN, True),
    ("looked at the warning", replace(LIVELY, age_s=200, silent_s=200, looked_s=150.0, looked_age_s=150.0), RUN, False),
    ("again at the end", replace(LIVELY, age_s=420, silent_s=420, looked_s=150.0, looked_age_s=150.0), RUN, True),
    ("under way", replace(LIVELY, age_s=420, silent_s=420, looking_s=1.0), RUN, False),
    ("after the final event", replace(LIVELY, age_s=420, silent_s=420, final_s=1.0), RUN, False),
    ("no first output", Watch(age_s=150, silent_s=3), RUN, True),
    ("nor after a look", Watch(age_s=160, silent_s=3, looked_s=1.0, looked_age_s=158.0), RUN, False),
    ("nothing written", Watch(initialised=True, age_s=180, silent_s=3), EDIT, True),
    ("still nothing", Watch(initialised=True, age_s=361, silent_s=3, looked_age_s=181.0), EDIT, True),
    ("a moment later", Watch(initialised=True, age_s=190, silent_s=3, looked_age_s=181.0), EDIT, False),
    ("no rule asks", Watch(initialised=True, age_s=190, silent_s=3), RUN, False),
    (
        "before it is punished, whatever else is off",
        Watch(initialised=True, age_s=900, silent_s=3),
        replace(EDIT, explore_warn_s=0, no_progress_s=0, no_progress_kill_s=900),
        True,
    ),
    ("lively past the cap", replace(LIVELY, age_s=2000, silent_s=100), RUN, False),
    (
        "silent past the cap",
        replace(LIVELY, age_s=1800, silent_s=200, looked_s=150.0, looked_age_s=1750.0),
        RUN,
        True,
    ),
]


@pytest.mark.parametrize(("watch", "terms", "expected"), [row[1:] for row in LOOKS], ids=[row[0] for row in LOOKS])
def test_close_look(watch, terms, expected):
    assert close_look_due(watch, terms) is expected


@pytest.mark.parametrize(
    ("watch", "expected"),
    [
        (Watch(), False),
        (Watch(looking_s=0.0), True),
        (Watch(looking_s=29.0), True),
        (Watch(looking_s=30.0), False),
        (Watch(looking_s=1.0, final_s=0.0), False),
        (Watch(looking_s=1.0, age_s=5400.0), False),
    ],
)
def test_the_answer_to_a_look_is_waited_for_but_not_for_ever(watch, expected):
    assert answer_awaited(watch, RUN) is expected


# --- ticks

watches = st.builds(
    Watch,
    age_s=st.floats(0, 10_000),
    silent_s=st.floats(0, 5_000),
    initialised=st.booleans(),
    wrote=st.booleans(),
    final_s=st.none() | st.floats(0, 100),
    ending_s=st.none() | st.floats(0, 100),
)


@given(watches, st.sampled_from([RUN, EDIT, replace(EDIT, poll_s=300.0, explore_kill_s=200.0)]))
def test_no_rule_waits_longer_than_its_own_time(watch, terms):
    pause = next_deadline_s(watch, terms)
    assert 0.05 <= pause <= terms.poll_s
    before = replace(watch, looked_s=watch.silent_s, looked_age_s=watch.age_s)
    just_before = before.older(max(0.0, pause - 0.06))
    if alarm(before, terms).cause is None:
        assert alarm(just_before, terms).cause is None, "a rule fired while nobody looked"
