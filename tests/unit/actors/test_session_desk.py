"""A session that is asked for and of which nobody hears: nothing is left of it once it is refused, and none is doubled."""

from __future__ import annotations

import errno
import threading
from types import SimpleNamespace

import pytest
from fakes.actors import Barrier, eventually
from fakes.state import job_id, scratch_home
from outsourcerer.actors import session_desk
from outsourcerer.actors.base import Actor, Directory, start
from outsourcerer.actors.journal import Settle
from outsourcerer.actors.session_desk import SessionDesk
from outsourcerer.actors.session_intake import create_session
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.session import SessionRequest, SessionStart
from outsourcerer.state.errors import StateError
from outsourcerer.state.files import FILES
from outsourcerer.state.session_folder import INBOX, SessionFolder
from outsourcerer.state.store import Store

BUSY = Refused(code=RefusalCode.SUPERVISOR_BUSY, message="no answer yet")
TAKEN = Refused(code=RefusalCode.SESSION_NAME_IN_USE, message="that name is in use")


class Taker(Actor):
    def receive(self, message: object) -> None:
        if isinstance(message, Barrier):
            message()
        if isinstance(message, Settle):
            self.reply(True)


@pytest.fixture
def home(tmp_path):
    made = scratch_home(tmp_path)
    Store.open(made.database, now=1.0).close()
    return made


@pytest.fixture
def desk(home, monkeypatch):
    """A desk whose requests are planned as they are, and whose answers never come by themselves."""
    directory = Directory()
    for name in ("sessions", "journal"):
        start(Taker, name, directory=directory)
    services = SimpleNamespace(
        home=home,
        directory=directory,
        models=None,
        limits=None,
        umask=0o022,
        road=None,
        stopping=threading.Event(),
        attached=False,
        admission=SimpleNamespace(admit=lambda _settings: None),
        heartbeat_watch=SimpleNamespace(launched=lambda *_: None),
    )

    def draft(request, *_arguments, **_more):
        plan = SimpleNamespace(model_dump=lambda **_: {})
        return SimpleNamespace(request=request, settings=None, environment={}, plan=plan)

    def create(made, at, **_more):
        return SimpleNamespace(session_id=made.request.session_id), SessionFolder.create(at, made.request.session_id)

    monkeypatch.setattr(session_desk, "draft_session", draft)
    monkeypatch.setattr(session_desk, "create_session", create)
    return SessionDesk(services, SimpleNamespace(registry=dict))


@pytest.mark.parametrize("chosen", [True, False], ids=["the client's id", "an id of ours"])
def test_a_start_that_is_refused_late_leaves_no_folder(desk, home, monkeypatch, chosen):
    ports = []

    def ask(_handle, body, _timeout_s, port):
        ports.append((body.record.session_id, port))
        return BUSY

    monkeypatch.setattr(session_desk, "ask", ask)
    request = SessionRequest(cwd="/", session_id=job_id(1) if chosen else None)
    assert desk.answer(SessionStart(request=request)).code is RefusalCode.SUPERVISOR_BUSY
    ((session_id, port),) = ports
    folder = home.session_dir(session_id)
    assert folder.is_dir(), "it may be taken yet"
    assert desk.live() == 1
    again = desk.answer(SessionStart(request=request.model_copy(update={"session_id": session_id})))
    assert (again.code, len(ports)) == (RefusalCode.SUPERVISOR_BUSY, 1), "it was handed over twice"
    port.set(TAKEN)
    assert desk.live() == 0
    assert not folder.exists()


def test_a_start_that_is_taken_late_keeps_its_folder(desk, home, monkeypatch):
    ports = []
    monkeypatch.setattr(session_desk, "ask", lambda *asked: ports.append(asked[3]) or BUSY)
    desk.answer(SessionStart(request=SessionRequest(cwd="/", session_id=job_id(1))))
    ports[0].set("taken")
    assert desk.live() == 0
    assert home.session_dir(job_id(1)).is_dir()


def test_a_start_that_is_refused_at_once_leaves_no_folder(desk, home, monkeypatch):
    monkeypatch.setattr(session_desk, "ask", lambda *_: TAKEN)
    assert desk.answer(SessionStart(request=SessionRequest(cwd="/", session_id=job_id(1)))) is TAKEN
    assert not home.session_dir(job_id(1)).exists()
    assert desk.live() == 0


def test_a_start_whose_supervisor_was_killed_may_be_asked_for_again_under_its_id(desk, home, monkeypatch):
    left = SessionFolder.create(home, job_id(1))
    left.write_json("launch.json", {})
    asked = []
    monkeypatch.setattr(session_desk, "ask", lambda *words: asked.append(words[1].record.session_id) or TAKEN)
    start_ = SessionStart(request=SessionRequest(cwd="/", session_id=job_id(1)))
    assert desk.answer(start_) is TAKEN
    assert asked == [job_id(1)]


def test_a_session_that_there_is_is_not_said_to_be_none_for_want_of_its_plan(desk, monkeypatch):
    monkeypatch.setattr(desk, "_row", lambda session_id: {"session_id": session_id})
    answer = desk.answer(SessionStart(request=SessionRequest(cwd="/", session_id=job_id(1))))
    assert (answer.code, "was taken" in answer.message) == (RefusalCode.STATE_DAMAGED, True)


def test_a_start_whose_taker_crashed_leaves_no_folder_and_may_be_asked_for_again(desk, home, monkeypatch):
    asked = []
    monkeypatch.setattr(session_desk, "ask", lambda *words: asked.append(words) or BUSY)
    start_ = SessionStart(request=SessionRequest(cwd="/", session_id=job_id(1)))
    desk.answer(start_)
    directory = desk.services.directory
    directory.find("sessions").set_aside()
    start(Taker, "sessions", directory=directory)
    eventually(lambda: desk.live() == 0)
    assert not home.session_dir(job_id(1)).exists()
    desk.answer(start_)
    assert [words[1].record.session_id for words in asked] == [job_id(1)] * 2


def test_a_start_whose_plan_cannot_be_kept_leaves_no_folder(desk, home, monkeypatch):
    def full(*_):
        raise StateError("state_full", "no room")

    monkeypatch.setattr(SessionFolder, "write_json", full)
    with pytest.raises(StateError, match="no room"):
        desk.answer(SessionStart(request=SessionRequest(cwd="/", session_id=job_id(1))))
    assert not home.session_dir(job_id(1)).exists()
    assert desk.live() == 0


def test_an_id_of_the_caller_s_whose_folder_is_there_gets_no_other(home):
    SessionFolder.create(home, job_id(1))
    draft = SimpleNamespace(request=SessionRequest(cwd="/", session_id=job_id(1)))
    with pytest.raises(StateError, match=r"already, .* nothing was started"):
        create_session(draft, home, umask=0o022)
    assert home.session_dir(job_id(1)).is_dir(), "it is not ours to remove"


def test_a_folder_without_room_for_its_inbox_is_none(home, monkeypatch):
    def mkdir(_files, path):
        if path.name == INBOX:
            raise OSError(errno.ENOSPC, "no room")
        path.mkdir()

    monkeypatch.setattr(type(FILES), "mkdir", mkdir)
    with pytest.raises(StateError):
        SessionFolder.create(home, job_id(1))
    assert not home.session_dir(job_id(1)).exists()
