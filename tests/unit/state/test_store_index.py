"""An index that tells of other rows than its table: made anew as the store is opened, and nothing is lost by it."""

import sqlite3

import pytest
from fakes.state import NOW, facts_of_a_life, job_id
from outsourcerer.state.errors import DamagedStore
from outsourcerer.state.store import Store

ROW = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'facts_by_kind'"


@pytest.fixture
def path(tmp_path):
    """A store whose index of kinds knows nothing of the second life in it."""
    made = tmp_path / "state.db"
    store = Store.open(made, now=NOW)
    store.append(facts_of_a_life(0), NOW)
    store.commit()
    store.close()
    db = sqlite3.connect(made)
    row = db.execute(ROW).fetchone()
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_master WHERE name = 'facts_by_kind'")
    db.commit()
    db.close()
    db = sqlite3.connect(made)
    db.execute("INSERT INTO facts (at, job_id, kind, body) SELECT at, 'other', kind, body FROM facts")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    return made


def test_the_index_is_made_anew(path):
    store = Store.open(path, now=NOW)
    assert store.job_ids() == {job_id(0)}
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kinds = db.execute("SELECT kind, count(*) FROM facts GROUP BY kind").fetchall()
        by_index = [db.execute("SELECT count(*) FROM facts WHERE kind = ?", (kind,)).fetchone()[0] for kind, _ in kinds]
    assert by_index == [count for _, count in kinds]


def test_what_is_more_than_an_index_is_damage(path):
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 20_000)
    with pytest.raises(DamagedStore):
        Store.open(path, now=NOW)
