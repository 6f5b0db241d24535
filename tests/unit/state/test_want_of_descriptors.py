"""Where no descriptors are left nobody is gone, no process and no record: that can't be told is said as trouble."""

import errno
import os
import sqlite3

import pytest
from fakes.state import NOW, facts_of_a_life, job_id
from outsourcerer.state import processes
from outsourcerer.state.errors import StateError
from outsourcerer.state.identity import identify, look
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store

linux = pytest.mark.skipif(not processes.LINUX, reason="elsewhere psutil looks")


@linux
@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_process_that_can_not_be_looked_at_is_not_gone(monkeypatch, code):
    me = identify(os.getpid())

    def fails(path, *_given, **_named):
        raise OSError(code, os.strerror(code), path)

    monkeypatch.setattr(os, "open", fails)
    for asked in (lambda: look(me["pid"], me["started"], me["boot_id"]), lambda: identify(1), processes.snapshot):
        with pytest.raises(OSError, match=os.strerror(code)):
            asked()


@linux
@pytest.mark.parametrize("code", [errno.ENOENT, errno.ESRCH, errno.EACCES])
def test_one_that_is_not_there_is(monkeypatch, code):
    def fails(path, *_given, **_named):
        raise OSError(code, os.strerror(code), path)

    monkeypatch.setattr(os, "open", fails)
    assert processes.read_process(os.getpid()) is None


def test_a_store_whose_log_can_not_be_opened_now_is_not_read_without_it(tmp_path, monkeypatch):
    path = tmp_path / "state.db"
    store = Store.open(path, now=NOW)
    store.append(facts_of_a_life(0), NOW)
    store.commit()
    real = sqlite3.connect

    def connect(place, **named):
        if "immutable" in place:
            return real(place, **named)
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect)
        with pytest.raises(StateError, match="unable to open"):
            Reader(path)
    with Reader(path) as reader:
        assert reader.record(job_id(0))
    store.close()
