"""A session's actor where the journal can't be written: whoever asked is told, and nothing is done by halves."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.actors import eventually, mailbox
from fakes.clock import FakeClock
from fakes.state import scratch_home
from outsourcerer.actors.base import Directory, ask, start
from outsourcerer.actors.journal import Append
from outsourcerer.actors.session import Session
from outsourcerer.actors.session_asks import Give, Given, StopSession
from outsourcerer.messages.internal import FactsCommitted, FactsRefused
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.session import SessionRecord
from outsourcerer.messages.vocabulary import SessionState
from outsourcerer.state.session_folder import SessionFolder

ONE = "20261130-124500-0a1b2c3d4e5f"
FULL = Refused(code=RefusalCode.STATE_FULL, message="no space left on the disk", hint="make room")


class Bench:
    """One session that runs, and a mailbox for its journal."""

    def __init__(self, folder: Any) -> None:
        home, directory = scratch_home(folder), Directory()
        self.journal, self.told = mailbox(directory, "journal")
        self.folder = SessionFolder.create(home, ONE)
        assert self.folder.claim(1, {"pid": 1, "started": 1.0, "boot_id": "another"})
        fixed = {
            "session_id": ONE,
            "name": "one",
            "lane": "claude",
            "vehicle": "claude",
            "transport": "native",
            "cwd": "/w",
        }
        record = SessionRecord.model_validate({**fixed, "accepted_at": 1.0, "state": SessionState.IDLE})
        services = SimpleNamespace(home=home, clock=FakeClock(), directory=directory, lane=lambda _name: None)
        self.session = start(
            Session,
            f"session:{ONE}",
            directory=directory,
            record=record,
            services=services,
            epoch=1,
            fresh=False,
            over=lambda *_: None,
        )

    def asked(self, body: object) -> tuple[Append, Any]:
        """Ask; return what the journal is to write for it, and how to get the answer."""
        before, answers = len(self.told), []
        thread = threading.Thread(target=lambda: answers.append(ask(self.session, body, 30.0)))
        thread.start()
        eventually(lambda: len(self.told) > before)

        def answer() -> object:
            thread.join()
            return answers[0]

        append = self.told[-1]
        assert isinstance(append, Append)
        return append, answer

    def refuse(self, append: Append) -> None:
        self.session.tell(FactsRefused(token=append.token, refusal=FULL))

    def commit(self, append: Append) -> None:
        self.session.tell(FactsCommitted(token=append.token, entries=()))


@pytest.fixture
def bench(tmp_path: Any) -> Bench:
    return Bench(tmp_path)


def test_a_stop_that_can_t_be_journalled_is_refused_at_once_and_asked_again_works(bench: Bench) -> None:
    append, answer = bench.asked(StopSession("stopped on request"))
    assert not append.may_wait  # or whoever asked would wait for room on the disk
    bench.refuse(append)
    assert answer() == FULL
    again, answer = bench.asked(StopSession("stopped on request"))
    bench.commit(again)
    assert answer() is True
    assert ask(bench.session, StopSession("once more"), 30.0) is True


def test_what_can_t_be_journalled_is_taken_back(bench: Bench) -> None:
    append, answer = bench.asked(Give("c:1", "send", {"text": "hello"}))
    bench.refuse(append)
    assert answer() == FULL
    assert list(bench.folder.numbers()) == []
    again, answer = bench.asked(Give("c:1", "send", {"text": "hello"}))
    bench.commit(again)
    assert answer() == Given(1)  # and not 2, for which its holder would look after a first that never comes
    assert list(bench.folder.numbers()) == [1]
