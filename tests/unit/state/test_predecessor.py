"""The predecessor's books: torn rows are counted, the same row always has the same name, and no plan is cash."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.catalog.predecessor import PAST_LANES, past_lane
from outsourcerer.lanes.registry import names
from outsourcerer.messages.history import HistoryImported, PastOutcome, PastRun
from outsourcerer.state import history_store, predecessor
from outsourcerer.state.predecessor import Outcomes, Payer
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store


def payer(word):
    one = past_lane(word)
    return Payer(lane=one.lane, pool=one.pool, paid=one.paid, zero_is_unknown=one.zero_is_unknown)


def row(**changes):
    base = {"epoch": 1_790_000_000, "provider": "or", "model": "z-ai/glm-5.2", "cost_usd": "0.25", "run_id": "r1"}
    return json.dumps({**base, **changes}).encode()


def read(*lines, done=frozenset()):
    return predecessor.runs(lines, payer, done)


def test_every_lane_of_the_books_is_one_of_ours():
    assert {one.lane for one in PAST_LANES.values()} <= set(names())


@pytest.mark.parametrize(
    ("changes", "spent", "nano"),
    [
        ({}, "measured", 250_000_000),
        ({"cost_usd": "~0.5"}, "estimated", 500_000_000),
        ({"cost_usd": ""}, "unknown", 0),
        ({"cost_usd": "nan"}, "unknown", 0),
        ({"cost_usd": "-1"}, "unknown", 0),
        ({"cost_usd": "1e9"}, "unknown", 0),
        ({"cost_usd": True}, "unknown", 0),
        ({"cost_usd": 0.25}, "measured", 250_000_000),
        ({"provider": "cc", "cost_usd": "3.1"}, "plan", 0),
        ({"provider": "cx"}, "plan", 0),
        ({"provider": "dv", "cost_usd": "0"}, "plan", 0),
        ({"provider": "dv", "cost_usd": ""}, "plan", 0),
        ({"provider": "dv", "cost_usd": "0.1"}, "measured", 100_000_000),
        ({"provider": "opencode", "cost_usd": "0"}, "unknown", 0),
        ({"provider": "local", "cost_usd": "0.1"}, "local", 0),
        ({"provider": "somebody", "cost_usd": "0"}, "unknown", 0),
        ({"provider": "or", "lane": "cc"}, "plan", 0),
    ],
)
def test_what_a_row_says_was_spent(changes, spent, nano):
    found, torn = read(row(**changes))
    assert torn == 0
    assert [(one.spent, one.cash_nano) for one in found] == [(spent, nano)]


@pytest.mark.parametrize(
    "line",
    [
        b'{"epoch": 1790000000, "provid',
        b"\xff\xfe\x00",
        b"[]",
        b"7",
        b"[" * 5000,
        row(epoch=0),
        row(epoch="soon"),
        row(epoch=1e300),
        row(provider=""),
        row(provider=7),
        row(provider="a\x1b[31m"),
        row(model="x" * 70_000),
    ],
)
def test_a_torn_row_is_counted_and_hides_no_other(line):
    found, torn = read(row(), line, b"\n", row(run_id="r2"))
    assert (len(found), torn) == (2, 1)


def test_a_stamp_without_seconds_is_read():
    found, _ = read(row(epoch=None, ts="2026-09-21T10:00:00"))
    assert found[0].at == 1_789_984_800.0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["r1", "r2", "", None]), st.integers(0, 3)), max_size=12), st.integers(0, 12))
def test_a_row_s_name_is_its_own_whatever_comes_later(rows, cut):
    lines = [row(run_id=run, in_tokens=number) for run, number in rows]
    whole, _ = read(*lines)
    keys = [(one.run_id, one.attempt) for one in whole]
    assert len(set(keys)) == len(keys)
    assert [(one.run_id, one.attempt) for one in read(*lines[:cut])[0]] == keys[:cut]


def test_outcomes_the_newest_word_counts_and_only_some_teach():
    def told(**changes):
        base = {"run_id": "r1", "ts": "2026-09-21T10:00:00Z", "lane": "dv", "model": "GLM-5.2", "outcome": "passed"}
        return json.dumps({**base, **changes}).encode()

    into = Outcomes()
    predecessor.outcomes(
        [
            told(task_class="code"),
            told(outcome="reverted", ts="2026-09-22T10:00:00Z", task_class="nonsense"),
            told(run_id="r2", outcome="completed_unverified"),
            told(run_id="r3", outcome="blocked"),
            b"{torn",
            told(ts="never"),
        ],
        payer,
        into,
    )
    (one,) = into.told.values()
    assert (one.outcome, one.lane, one.task_kind, into.torn) == ("reverted", "devin", None, 2)
    runs, _ = read(row(run_id="r1"), row(run_id="r2"), row(run_id="r3"), done=into.done)
    assert [run.ok for run in runs] == [True, True, False]


@pytest.mark.parametrize("data", [b"[]", b"{", b'{"models": 3}', b"\xff", b'{"other": {}}'])
def test_quotas_that_are_none(data):
    assert predecessor.quotas(data, payer) == ([], 1)


def test_quotas():
    data = {
        "models": {
            "dv:glm-5.2": {"per_day": 20.9, "reset": "local"},
            "fable": {"per_day": "5"},
            "cc:opus": {"per_day": -1},
            "x": 4,
        }
    }
    found, bad = predecessor.quotas(json.dumps(data).encode(), payer)
    assert [(one.lane, one.model, one.per_day, one.zone) for one in found] == [
        ("devin", "glm-5.2", 20, "local"),
        (None, "fable", 5, "utc"),
    ]
    assert bad == 2


def test_the_store_keeps_a_row_once_and_the_newer_word(tmp_path):
    store = Store.open(tmp_path / "state.db", now=1.0)
    run = PastRun(
        run_id="import-a", attempt=1, at=5.0, lane="cc", ok=True, spent="measured", pool="openrouter", cash_nano=7
    )
    for at, word in ((5.0, "passed"), (9.0, "reverted"), (6.0, "failed")):
        told = PastOutcome(run_id="import-a", at=at, outcome=word, lane="cc", model="glm")
        store.append([HistoryImported(source="/x", runs=(run,), outcomes=(told,))], 10.0)
    store.commit()
    store.close()
    with Reader(tmp_path / "state.db") as reader:
        assert history_store.known_runs(reader) == {("import-a", 1)}
        assert history_store.known_outcomes(reader) == {"import-a": 9.0}
        assert reader.select("SELECT sum(cash_nano), count(*) FROM ledger", ()) == [(7, 1)]
        assert reader.select("SELECT outcome, source FROM outcomes", ()) == [("reverted", "import")]


@pytest.mark.parametrize(
    ("run_id", "last", "kept"),
    [
        ("image-0f", ("measured", 7, True), ("measured", 7, 1)),
        ("image-0f", ("unknown", 0, True), ("unknown", 0, 1)),
        ("image-0f", None, ("unknown", 0, 0)),
        ("import-a", ("measured", 7, True), ("unknown", 0, 0)),
    ],
    ids=["an image that was paid for", "of a price nobody told", "whose command was killed", "no image is rewritten"],
)
def test_a_row_that_was_opened_is_closed_once(tmp_path, run_id, last, kept):
    store = Store.open(tmp_path / "state.db", now=1.0)
    row = {"run_id": run_id, "attempt": 1, "lane": "codexor", "pool": "openrouter"}
    runs = [PastRun(**row, at=5.0, ok=False, spent="unknown")]
    if last is not None:
        spent, nano, ok = last
        runs += [PastRun(**row, at=6.0, ok=ok, spent=spent, cash_nano=nano)] * 2
    if last is not None and last[0] == "measured":
        runs += [PastRun(**row, at=9.0, ok=False, spent="measured", cash_nano=99)]  # what is known stands
    for run in runs:
        store.append([HistoryImported(source="osrc image", runs=(run,))], 10.0)
    store.commit()
    store.close()
    with Reader(tmp_path / "state.db") as reader:
        assert reader.select("SELECT spent, cash_nano, ok FROM ledger", ()) == [kept]
