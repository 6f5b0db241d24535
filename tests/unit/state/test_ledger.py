"""The ledger: one row per attempt, sums that add up, nothing that was not known told as if it were."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fakes.state import NOW, any_fact, facts_of_a_life, job_id, record
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.facts import GaugesRead, JobAccepted, JobEnded, JobHopped, JobRemoved, JobSpawned
from outsourcerer.messages.job import Attempted, Cost, ExitStatus, TokenUsage
from outsourcerer.messages.session import GaugeWindow
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state import ledger_store
from outsourcerer.state.ledger import CASH_CAP_USD, NANO, rows_of, total_in
from outsourcerer.state.ledger_reader import Sum, sums, whole
from outsourcerer.state.reader import Reader
from outsourcerer.state.records import apply
from outsourcerer.state.store import Store

METERED = Cost(kind="metered", cash_usd=0.25, measured=True)
USAGE = TokenUsage(input=100, cached_input=40, output=10, reasoning=4)


def ended(number, cost, state=JobState.DONE, **more):
    code = 0 if state is JobState.DONE else 1
    return JobEnded(job_id=job_id(number), state=state, exit=code, exit_status=ExitStatus(code=0), cost=cost, **more)


def life(number, cost, state=JobState.DONE, **changes):
    return [
        JobAccepted(job_id=job_id(number), record=record(number, attempt=1, **changes)),
        JobSpawned(job_id=job_id(number), shim=None, delegate=None),
        ended(number, cost, state),
    ]


@pytest.fixture
def store(tmp_path):
    kept = Store.open(tmp_path / "state.db", now=NOW)
    yield kept
    kept.close()


def rows(path: Path):
    with Reader(path) as reader:
        return reader.select("SELECT job_id, attempt, spent, cash_nano, known, input, output FROM ledger ORDER BY 1, 2")


def spent(store, tmp_path, facts, by="lane", **more):
    store.append(facts, NOW)
    store.commit()
    with Reader(tmp_path / "state.db") as reader:
        return sums(reader, by, UTC, **more)


@pytest.mark.parametrize(
    ("cost", "kind", "cash"),
    [
        (METERED, "measured", 250_000_000),
        (METERED.model_copy(update={"measured": False}), "estimated", 250_000_000),
        (METERED.model_copy(update={"cash_usd": None}), "unknown", 0),
        (METERED.model_copy(update={"cash_usd": float("nan")}), "unknown", 0),
        (METERED.model_copy(update={"cash_usd": -1.0}), "unknown", 0),
        (METERED.model_copy(update={"cash_usd": 2 * CASH_CAP_USD}), "unknown", 0),
        (Cost(kind="plan", plan="Claude", cash_usd=0.0), "plan", 0),
        (Cost(kind="free", cash_usd=0.0, measured=True), "local", 0),
        (Cost(kind="unknown", cash_usd=3.0), "unknown", 0),
        (Cost(), "unknown", 0),
    ],
)
def test_what_an_attempt_spent(store, tmp_path, cost, kind, cash):
    spent(store, tmp_path, life(1, cost, local=kind == "local"))
    assert [row[2:4] for row in rows(tmp_path / "state.db")] == [(kind, cash)]


def test_what_is_free_of_charge_elsewhere_is_not_told_as_this_machine_s(store, tmp_path):
    spent(store, tmp_path, life(1, Cost(kind="free", cash_usd=0.0), pool="a free tier"))
    assert [row[2:4] for row in rows(tmp_path / "state.db")] == [("plan", 0)]


def test_a_failed_turn_costs_what_it_cost_and_is_no_success(store, tmp_path):
    """The process ended with 0; the verdict did not."""
    found = spent(store, tmp_path, life(1, METERED, JobState.FAILED))["claude"]
    assert (found.runs, found.ok, found.measured_nano) == (1, 0, NANO // 4)


def test_a_program_that_never_started_spent_nothing(store, tmp_path):
    facts = [*life(1, METERED)[:2], ended(1, METERED).model_copy(update={"exit_status": ExitStatus(error="gone")})]
    found = spent(store, tmp_path, facts)["claude"]
    assert (found.runs, found.idle_runs, found.cash_nano) == (1, 1, 0)


def test_a_job_that_never_began_has_no_row(store, tmp_path):
    facts = life(1, METERED)
    assert spent(store, tmp_path, [facts[0], facts[2]]) == {}


def test_each_attempt_has_its_own_lane_and_price(store, tmp_path):
    first = Attempted(attempt=1, lane="claude", vehicle="claude", cost=Cost(kind="plan"), pool="claude", why="limit")
    facts = life(1, METERED, lane="claude")
    hop = JobHopped(job_id=job_id(1), over=first, record=record(1, lane="cc", pool="openrouter"), why="limit")
    found = spent(store, tmp_path, [*facts[:2], hop, facts[2].model_copy(update={"job_id": job_id(1)})])
    assert (found["claude"].plans, found["claude"].cash_nano, found["claude"].ok) == ({"claude": 1}, 0, 0)
    assert "cc" not in found  # its second attempt never had a number of its own
    assert len(rows(tmp_path / "state.db")) == 1


def test_a_part_is_never_told_as_the_whole():
    assert Sum(measured_nano=5, measured_runs=1).cash_nano == 5
    assert Sum(measured_nano=5, measured_runs=1, unknown_runs=1).cash_nano is None


def test_a_removed_job_has_spent_what_it_spent(store, tmp_path):
    found = spent(store, tmp_path, [*life(1, METERED), JobRemoved(job_id=job_id(1))])
    assert found["claude"].measured_nano == NANO // 4


def test_a_revised_verdict_replaces_its_row(store, tmp_path):
    later = ended(1, METERED.model_copy(update={"cash_usd": 0.5}), revises=True)
    found = spent(store, tmp_path, [*life(1, METERED, JobState.FAILED), later])["claude"]
    assert (found.runs, found.ok, found.measured_nano) == (1, 1, NANO // 2)


# --- conversations whose CLI counts them whole (Codex 0.171.0: a resumed thread told 2468 after 1234)

WHOLE = Cost(kind="plan", plan="ChatGPT", tokens_of="conversation")


def whole_cost(tokens, **more):
    return WHOLE.model_copy(update={"tokens": tokens, **more})


def test_what_went_before_in_a_conversation_is_not_counted_twice(store, tmp_path):
    """Hand-worked from the recorded streams: 1034 uncached and 200 cached a turn; two forks of one job."""
    turn = TokenUsage(input=1034, cached_input=200, cache_write=0, output=56, reasoning=0)
    both = TokenUsage(input=2068, cached_input=400, cache_write=0, output=112, reasoning=0)
    facts = [
        *life(1, whole_cost(turn)),
        *life(2, whole_cost(both), continues=job_id(1)),
        *life(3, whole_cost(both), continues=job_id(1)),
    ]
    tokens = spent(store, tmp_path, facts)["claude"].tokens
    assert (tokens.input, tokens.cached_input, tokens.output) == (3 * 1034, 3 * 200, 3 * 56)


def test_where_the_earlier_count_is_not_known_neither_is_the_rest(store, tmp_path):
    estimate = whole_cost(USAGE, kind="metered", cash_usd=1.0)
    found = spent(store, tmp_path, life(2, estimate, continues=job_id(1)))["claude"]
    assert (found.known_runs, found.unknown_runs, found.estimated_nano) == (0, 1, 0)


def test_a_count_that_shrank_is_not_believed(store, tmp_path):
    facts = [*life(1, whole_cost(USAGE)), *life(2, whole_cost(TokenUsage(input=1, output=1)), continues=job_id(1))]
    found = spent(store, tmp_path, facts)["claude"]
    assert (found.runs, found.known_runs, found.tokens.input) == (2, 1, 100)


# --- properties

COSTS = st.builds(
    Cost,
    kind=st.sampled_from(["free", "plan", "metered", "unknown"]),
    cash_usd=st.none() | st.floats(0, 100) | st.sampled_from([float("inf"), float("nan"), -1.0, 1e308]),
    measured=st.booleans(),
    plan=st.none() | st.sampled_from(["Claude", "ChatGPT"]),
    tokens=st.none()
    | st.builds(
        TokenUsage,
        input=st.none() | st.integers(-5, 10**13),
        cached_input=st.none() | st.integers(0, 1000),
        output=st.none() | st.integers(0, 1000),
    ),
    tokens_of=st.sampled_from(["run", "conversation"]),
)
LIVES = st.tuples(COSTS, st.sampled_from(["claude", "cc", "codex"]), st.integers(0, 400 * 86400))


@settings(max_examples=40, deadline=None)
@given(st.lists(LIVES, max_size=12), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu", "Lord_Howe"]))
def test_every_way_of_cutting_it_adds_up_to_the_same(tmp_path_factory, lives, zone_name):
    zone = ZoneInfo("Australia/Lord_Howe" if zone_name == "Lord_Howe" else zone_name)
    folder = tmp_path_factory.mktemp("ledger")
    store = Store.open(folder / "state.db", now=NOW)
    for number, (cost, lane, later) in enumerate(lives):
        at = NOW + later
        facts = life(number, cost, lane=lane, group_id="g" if number % 2 else None, model=lane + "-model")
        store.append([*facts[:2], facts[2].model_copy(update={"ended_at": at})], at)
    store.commit()
    store.close()
    with Reader(folder / "state.db") as reader:
        totals = [whole(sums(reader, by, zone).values()) for by in ("lane", "model", "day", "group")]
        days = sums(reader, "day", zone)
    assert totals[0].runs == len(lives)
    assert all(total == totals[0] for total in totals)
    assert totals[0].measured_nano == sum(
        row.cash_nano
        for number, (cost, _, _) in enumerate(lives)
        for row in rows_of(record(number, state=JobState.DONE, started=NOW, attempt=1, cost=cost), NOW)
        if row.spent == "measured"
    )
    local = [datetime.fromtimestamp(NOW + later, zone).date().isoformat() for _, _, later in lives]
    assert {day: found.runs for day, found in days.items()} == {day: local.count(day) for day in local}


@settings(max_examples=40, deadline=None)
@given(st.lists(any_fact(job_id(0)), max_size=12))
def test_the_ledger_is_what_the_facts_make_of_it(tmp_path_factory, facts):
    """Written fact by fact, or filled in by the migration: the same rows, and each attempt once."""
    path = tmp_path_factory.mktemp("facts") / "state.db"
    store = Store.open(path, now=NOW)
    now_known = None
    for step, fact in enumerate(facts):
        store.append([fact], NOW + step)
        now_known = apply(now_known, fact, NOW + step)
    store.commit()
    written = rows(path)
    if now_known is not None:
        assert {row[1] for row in written} >= {row.attempt for row in rows_of(now_known, NOW)}
    assert len({row[:2] for row in written}) == len(written)
    store._db.execute("BEGIN")
    store._db.execute("DELETE FROM ledger")
    ledger_store.fill(store._db)
    store.commit()
    if not any(isinstance(fact, JobRemoved) for fact in facts):
        assert rows(path) == written
    store.close()


def test_a_day_of_changed_clocks_is_one_day(store, tmp_path):
    """25 hours in Berlin: the first and the last quarter of 2026-10-25 are the same day, their neighbours are not."""
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime(2026, 10, 25, tzinfo=zone)
    instants = [begin.timestamp() + offset for offset in (-1, 0, 24.9 * 3600, 25 * 3600)]
    for number, at in enumerate(instants):
        facts = life(number, METERED)
        store.append([*facts[:2], facts[2].model_copy(update={"ended_at": at})], at)
    store.commit()
    with Reader(tmp_path / "state.db") as reader:
        found = {day: one.runs for day, one in sums(reader, "day", zone).items()}
    assert found == {"2026-10-24": 1, "2026-10-25": 2, "2026-10-26": 1}


def test_since_begins_at_the_instant(store, tmp_path):
    for number in range(4):
        facts = life(number, METERED)
        store.append([*facts[:2], facts[2].model_copy(update={"ended_at": NOW + number})], NOW + number)
    store.commit()
    with Reader(tmp_path / "state.db") as reader:
        kept = [whole(sums(reader, "lane", UTC, NOW + number).values()).runs for number in range(5)]
    assert kept == [4, 3, 2, 1, 0]
    assert all(later == earlier - 1 for earlier, later in pairwise(kept))


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"input": -1}', '{"input": true}', 7, "[" * 100_000])
def test_a_torn_count_is_none(text):
    assert total_in(text) is None


def test_a_rebuilt_store_has_its_ledger(store, tmp_path):
    store.restore(record(1, state=JobState.DONE, started=NOW, ended=NOW + 5, attempt=1, cost=METERED))
    store.commit()
    assert [row[2:4] for row in rows(tmp_path / "state.db")] == [("measured", 250_000_000)]


def test_the_newest_gauge_is_kept(store, tmp_path):
    def read(used, at):
        windows = (GaugeWindow(name="five_hour", utilization=used, resets_at=NOW + 60),)
        return GaugesRead(lane="claude", pool="claude", windows=windows, measured_at=at)

    store.append([read(0.5, NOW), read(0.4, NOW - 60), read(None, NOW + 1), read(7.0, NOW + 2)], NOW + 10)
    store.append(facts_of_a_life(1), NOW + timedelta(seconds=1).total_seconds())
    store.commit()
    with Reader(tmp_path / "state.db") as reader:
        found = reader.select("SELECT key, name, utilization, measured_at, source FROM gauges")
    assert found == [("pool:claude", "five_hour", 1.0, NOW + 2, "run")]
    assert json.loads(json.dumps(found))
