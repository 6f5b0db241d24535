"""Stores of every schema that was ever released load forever."""

import sqlite3
from datetime import UTC
from pathlib import Path

import pytest
from fakes.state import GROUP, NOW, facts_of_a_life, identity, job_id
from outsourcerer.messages.alarm import AlarmRecord
from outsourcerer.messages.facts import FACT
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.alarms_reader import Beat, all_alarms, beat, open_alarms
from outsourcerer.state.groups_reader import groups, resolve_group
from outsourcerer.state.ledger_reader import sums, whole
from outsourcerer.state.limits_reader import marks, quotas, rooms
from outsourcerer.state.outcomes import outcomes
from outsourcerer.state.reader import Reader
from outsourcerer.state.schema import SCHEMA
from outsourcerer.state.store import Store

GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "state").glob("v*.sql"))


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def old(request, tmp_path):
    path = tmp_path / "state.db"
    db = sqlite3.connect(path)
    db.executescript(request.param.read_text(encoding="utf-8"))
    db.close()
    return path


def test_there_is_one_of_every_schema():
    assert [path.stem for path in GOLDEN] == [f"v{number:04}" for number in range(1, SCHEMA + 1)]


def test_it_loads_with_every_job_and_fact(old):
    store = Store.open(old, now=NOW)
    assert store.job_ids() == {job_id(number) for number in (1, 2, 3, 4)}
    assert [record.job_id for record in store.live()] == [job_id(3), job_id(4)]
    assert store.record(job_id(1)).state is JobState.DONE
    assert store.record(job_id(2)).exit_status.code == 0
    assert store.record(job_id(3)).label == "fix ünit tests"
    stalled = store.record(job_id(4))
    assert (stalled.state, stalled.reason, stalled.cancel_requested) == (JobState.STALLED, "silent for 300 s", True)
    assert (stalled.delegate, stalled.marker_id) == (identity(11), "secret-marker")
    assert store.was_removed(job_id(5))
    assert store.last_seq() == 25
    with Reader(old) as reader:
        rows = reader.entries(0, 1000)
        assert [row[0] for row in rows] == list(range(1, 26))
        for _, _, kind, body in rows:
            assert FACT.validate_json(body).kind == kind
        assert reader.jobs("done") == ([reader.record(job_id(1))], 0)
        assert reader.jobs(limit=1)[1] == 3
    store.append(facts_of_a_life(9), NOW + 9)
    store.commit()
    assert store.last_seq() == 30
    store.close()


def test_what_schema_2_knew_of_limits_loads(old):
    if old_schema(old) < 2:
        pytest.skip("it knew of none")
    Store.open(old, now=NOW).close()
    with Reader(old) as reader:
        assert [(one.key, one.until) for one in marks(reader, NOW)] == [("pool:claude", 1795003600.0)]
        assert [(one.lane, one.model, one.per_day, one.zone) for one in quotas(reader)] == [
            ("devin", "glm-5-2", 20, "local"),
            ("any", "sonnet", 5, "utc"),
        ]
        assert [room.used for room in rooms(reader, quotas(reader), NOW + 60, UTC)] == [1, 0]


def test_what_schema_5_knew_of_groups_loads(old):
    if old_schema(old) < 5:
        with Reader(old) as reader:
            assert groups(reader) == []  # before its writer has brought it up to date
        Store.open(old, now=NOW).close()
        pytest.skip("it knew of none")
    Store.open(old, now=NOW).close()
    with Reader(old) as reader:
        assert [row["group_id"] for row in resolve_group(reader, "nightly")] == [GROUP]
        assert resolve_group(reader, "20261118-1106") == groups(reader)


def test_what_schema_6_knew_of_results_loads(old):
    if old_schema(old) < 6:
        pytest.skip("it knew of none")
    Store.open(old, now=NOW).close()
    with Reader(old) as reader:
        told = outcomes(reader, 0.0)
    assert [(one.outcome, one.kind, one.project, one.lane, one.model, one.at) for one in told] == [
        ("passed", "code", "/home/ann/project", "devin", "glm-5-2", 1795000800.0)
    ]


def test_what_schema_7_knew_of_alarms_loads(old):
    if old_schema(old) < 7:
        with Reader(old) as reader:
            assert (beat(reader), open_alarms(reader)) == (None, [])  # before its writer has brought it up to date
        pytest.skip("it knew of none")
    Store.open(old, now=NOW).close()
    with Reader(old) as reader:
        assert beat(reader) == Beat(armed=True, upto=24, at=1795000000.0)
        assert [(one["state"], one["pushes"], one["told"]) for one in open_alarms(reader)] == [("blocked", 1, 0)]
        assert {AlarmRecord.model_validate(one).owed for one in all_alarms(reader)} == {True, False}


def old_schema(path):
    db = sqlite3.connect(path)
    try:
        return db.execute("PRAGMA user_version").fetchone()[0]
    finally:
        db.close()


def test_every_schema_has_its_ledger_and_the_gauges_it_knew(old):
    known = old_schema(old)
    Store.open(old, now=NOW).close()
    with Reader(old) as reader:
        total = whole(sums(reader, "lane", UTC).values())
        assert (total.runs, total.unknown_runs) == (3, 3)  # one of them of a job that was removed since
        found = reader.select("SELECT key, name, utilization FROM gauges")
    assert found == ([] if known < 4 else [("pool:claude", "five_hour", 0.42)])
