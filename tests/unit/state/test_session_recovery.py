"""Sessions come back from their folders when the store has lost them."""

from __future__ import annotations

from fakes.state import NOW
from outsourcerer.messages.session import SessionAccepted, SessionEnded, SessionRecord, SessionRemoved
from outsourcerer.messages.vocabulary import SessionState
from outsourcerer.state.home import Home
from outsourcerer.state.recovery import open_or_rebuild
from outsourcerer.state.session_folder import SessionFolder

ONE, TWO = "20261130-124501-000000000001", "20261130-124502-000000000002"


def kept(home: Home, session_id: str, **changes: object) -> SessionRecord:
    base = {"session_id": session_id, "name": session_id[-1], "lane": "claude", "vehicle": "claude", "cwd": "/w"}
    record = SessionRecord.model_validate({**base, "transport": "native", "accepted_at": NOW, **changes})
    SessionFolder.create(home, session_id).write_meta(record)
    return record


def test_a_lost_or_damaged_store_gets_them_back(tmp_path):
    home = Home(tmp_path / "home")
    home.preflight()
    one = kept(home, ONE, state="idle")
    (home.sessions_dir / TWO).mkdir()
    for content in (None, b"no database at all" * 100):
        if content is not None:
            home.database.write_bytes(content)
        store, _ = open_or_rebuild(home, NOW)
        assert store.session(ONE) == one
        assert store.session(TWO) is None
        store.close()


def test_an_end_that_the_store_forgot_is_taken_from_the_folder(tmp_path):
    home = Home(tmp_path / "home")
    home.preflight()
    ended = kept(home, ONE, state="exited", ended=NOW + 5, reason="stopped on request")
    store, _ = open_or_rebuild(home, NOW)
    store.close()
    home.database.unlink()
    store, _ = open_or_rebuild(home, NOW)
    live = ended.model_copy(update={"state": SessionState.IDLE, "ended": None, "reason": None})
    store.append([SessionEnded(session_id=ONE, attempt=1, state=SessionState.LOST)], NOW)
    store.restore_session(live)
    store.commit()
    store.close()
    store, _ = open_or_rebuild(home, NOW)
    assert store.session(ONE) == ended
    store.append([SessionAccepted(session_id=TWO, record=live.model_copy(update={"session_id": TWO}))], NOW)
    store.commit()
    store.close()


def test_one_that_was_removed_never_comes_back_and_a_live_one_is_not_removed(tmp_path):
    home = Home(tmp_path / "home")
    home.preflight()
    kept(home, ONE, state="exited", ended=NOW + 5)
    live = kept(home, TWO, state="idle")
    store, _ = open_or_rebuild(home, NOW)
    store.append([SessionRemoved(session_id=ONE), SessionRemoved(session_id=TWO)], NOW)
    store.commit()
    assert (store.session(ONE), store.session(TWO)) == (None, live)
    store.close()
    store, _ = open_or_rebuild(home, NOW)  # its folder is still there: somebody was killed before it was removed
    assert store.session(ONE) is None
    store.close()


def test_an_inbox_keeps_what_was_promised_and_forgets_the_rest(tmp_path):
    home = Home(tmp_path / "home")
    home.preflight()
    folder = SessionFolder.create(home, ONE)
    for number in (1, 2, 3):
        folder.prepare(number, {"id": f"c:{number}", "op": "send", "text": "x"})
    assert folder.promise(1)
    # Killed after the second was journalled and before it was given; the third was not journalled.
    assert folder.settle(2) == {"c:1": 1, "c:2": 2}
    assert sorted(path.name for path in (folder.path / "inbox").iterdir()) == ["00000001.json", "00000002.json"]
    folder.withdraw(9)
    assert not folder.promise(3)
    assert folder.claim(1, {"by": "supervisor"})
    assert not folder.claim(1, {"by": "supervisor"})
    assert folder.read_holder(1) is None
    (folder.path / "holder.json").write_text('{"attempt": 1, "holder": {"pid": "x"}}')
    assert folder.read_holder(1) is None
    (folder.path / "exit.json").write_text('{"attempt": 1, "code": "7", "reason": ""}')
    assert folder.read_exit(1) is not None
    assert folder.read_exit(2) is None
