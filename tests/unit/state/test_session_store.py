"""Sessions in the store: made of their facts, found by name, id or prefix."""

from __future__ import annotations

import pytest
from fakes.state import NOW, identity
from outsourcerer.messages.session import (
    SessionAccepted,
    SessionEnded,
    SessionEnding,
    SessionGiven,
    SessionHeld,
    SessionLaunching,
    SessionObserved,
    SessionRecord,
    SessionSpent,
    SessionStateChanged,
)
from outsourcerer.messages.vocabulary import SessionState
from outsourcerer.state.reader import Reader
from outsourcerer.state.session_views import derive, is_live, session_object
from outsourcerer.state.store import Store


def sid(number):
    return f"20261130-1245{number:02}-00000000000{number:x}"


def record(number, **changes):
    base = {"session_id": sid(number), "name": "fix", "lane": "claude", "vehicle": "claude", "transport": "native"}
    return SessionRecord.model_validate({**base, "cwd": "/w", "accepted_at": NOW + number, **changes})


@pytest.fixture
def store(tmp_path):
    made = Store.open(tmp_path / "state.db", now=NOW)
    yield made
    made.close()


def keep(store, *facts):
    for number, fact in enumerate(facts):
        store.append([fact], NOW + 100 + number)
    store.commit()


def test_a_record_is_made_of_its_facts(store):
    one = sid(1)
    keep(
        store,
        SessionAccepted(session_id=one, record=record(1)),
        SessionAccepted(session_id=one, record=record(1, name="other")),
        SessionHeld(session_id=one, attempt=1, holder=identity(1), delegate=identity(2)),
        SessionStateChanged(session_id=one, state=SessionState.IDLE, evidence="init"),
        SessionGiven(session_id=one, number=1, send_id="a", op="send", text="x", chars=1),
        SessionObserved(session_id=one, model_observed="opus-5", conversation="c", turns=1),
        SessionObserved(session_id=one, turns=0),
    )
    found = store.session(one)
    assert (found.name, found.state, found.evidence) == ("fix", SessionState.IDLE, "init")
    assert (found.given, found.turns, found.model_observed, found.conversation) == (1, 1, "opus-5", "c")
    assert (found.holder, found.started) == (identity(1), NOW + 102)
    keep(
        store,
        SessionEnding(session_id=one, cause="stopped on request"),
        SessionEnded(session_id=one, attempt=9, state=SessionState.LOST),
        SessionEnded(session_id=one, attempt=1, state=SessionState.EXITED, reason="stopped on request", exit_code=0),
        SessionStateChanged(session_id=one, state=SessionState.WORKING),
    )
    found = store.session(one)
    assert (found.state, found.reason, found.ending, found.exit_code) == (
        SessionState.EXITED, "stopped on request", "stopped on request", 0,
    )  # fmt: skip
    keep(store, SessionLaunching(session_id=one, attempt=2))
    found = store.session(one)
    assert (found.attempt, found.state, found.ended, found.holder) == (2, SessionState.STARTING, None, None)
    assert (found.turns, found.given, found.conversation) == (1, 1, "c")


def test_a_session_is_found_by_its_name_while_it_lives_and_by_its_id_ever_after(store, tmp_path):
    keep(store, SessionAccepted(session_id=sid(1), record=record(1)))
    keep(store, SessionEnded(session_id=sid(1), attempt=1, state=SessionState.EXITED))
    with Reader(tmp_path / "state.db") as reader:
        assert [row["session_id"] for row in reader.resolve_session("fix")] == [sid(1)]
    keep(store, SessionAccepted(session_id=sid(2), record=record(2)))
    with Reader(tmp_path / "state.db") as reader:
        assert [row["session_id"] for row in reader.resolve_session("fix")] == [sid(2)]
        assert [row["session_id"] for row in reader.resolve_session(sid(1)[:-3])] == [sid(1)]
        assert len(reader.resolve_session("20261130")) == 2
        assert reader.resolve_session("no such") == reader.resolve_session("") == []
        assert [row["session_id"] for row in reader.live_sessions()] == [sid(2)]
        assert reader.sessions(1)[1] == 1
        assert [row[2] for row in reader.entries(0, 9, job=sid(1))] == ["session.accepted", "session.ended"]
        seen = session_object(reader.session(sid(1)), "/home", NOW + 500)
    assert (seen["state"], seen["events_path"]) == ("exited", f"/home/sessions/{sid(1)}/events.jsonl")


def test_no_name_hides_the_id_of_another_session(store, tmp_path):
    keep(store, SessionAccepted(session_id=sid(1), record=record(1)))
    keep(store, SessionAccepted(session_id=sid(2), record=record(2, name=sid(1))))
    with Reader(tmp_path / "state.db") as reader:
        assert [row["session_id"] for row in reader.resolve_session(sid(1))] == [sid(1)]


def test_a_live_session_without_its_holder_is_told_as_lost():
    held = record(1, state="idle", holder=identity(1)).model_dump(mode="json")
    assert derive(held, lambda *_: "running") == held
    assert derive(held, lambda *_: "gone")["state"] == "lost"
    assert derive({**held, "ending": "stopped"}, lambda *_: "gone")["reason"] == "stopped"
    assert derive({**held, "state": "exited"}, lambda *_: "gone")["state"] == "exited"
    assert not is_live({"state": "lost"})


def test_a_turn_is_one_row_of_the_ledger_and_told_again_it_is_the_same(store, tmp_path):
    first = record(1, paid="metered", pool="credits", model="m")
    turn = SessionSpent(session_id=sid(1), turn=1, ok=True, model="m", tokens={"input": 5, "output": 7}, cash_usd=0.25)
    plan = record(2, name="other", paid="plan", pool="a plan")
    keep(store, SessionAccepted(session_id=sid(1), record=first), SessionAccepted(session_id=sid(2), record=plan))
    keep(store, turn, turn, turn.model_copy(update={"turn": 2, "tokens": None, "cash_usd": None, "ok": False}))
    keep(store, SessionSpent(session_id=sid(2), turn=1, ok=True))
    keep(store, SessionSpent(session_id=sid(9), turn=1, ok=True))
    with Reader(tmp_path / "state.db") as reader:
        rows = reader.select("SELECT job_id, attempt, ok, spent, pool, cash_nano, known, output FROM ledger")
    assert rows == [
        (sid(1), 1, 1, "estimated", "credits", 250_000_000, 1, 7),
        (sid(1), 2, 0, "unknown", "credits", 0, 0, 0),
        (sid(2), 1, 1, "plan", "a plan", 0, 0, 0),
    ]


def test_a_session_ends_once(store):
    keep(store, SessionAccepted(session_id=sid(1), record=record(1)))
    over = SessionEnded(session_id=sid(1), attempt=1, state=SessionState.EXITED)
    assert len(store.append([over, over], NOW + 5)) == 1
    store.commit()
    assert store.append([over], NOW + 6) == []
