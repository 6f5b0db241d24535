"""The gateway lets in whoever comes, also after a time without descriptors or threads."""

import errno
import socket
import threading
from types import SimpleNamespace

import pytest
from fakes.actors import eventually
from outsourcerer.actors import dispatch, gateway
from outsourcerer.actors.base import Directory, Stop, start
from outsourcerer.messages.codec import encode
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.messages.replies import Stopping


class Door:
    """A listening socket: troubles first, then who comes, then nobody any more."""

    def __init__(self, *comes: object) -> None:
        self.comes = list(comes)
        self.open = True

    def settimeout(self, seconds: float | None) -> None:
        pass

    def fileno(self) -> int:
        return 7 if self.open else -1

    def accept(self) -> tuple[socket.socket, str]:
        if self.comes and isinstance(found := self.comes.pop(0), socket.socket):
            return found, ""
        self.open = bool(self.comes)
        raise found if self.open else OSError(errno.EBADF, "closed")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED, errno.ENOMEM])
def test_after_trouble_it_goes_on_accepting(number, monkeypatch):
    monkeypatch.setattr(gateway, "ACCEPT_PAUSE_S", 0.001)
    ours, theirs = socket.socketpair()
    answers = SimpleNamespace(exchange=lambda _body: iter([Stopping(pid=1, reason="restart")]))
    door = Door(OSError(number, "none left"), OSError(number, "none left"), theirs)
    handle = start(
        gateway.Gateway, "gateway", directory=Directory(), dispatcher=answers, listener=gateway.Listener(door, "x")
    )
    with ours:
        ours.settimeout(60)
        ours.sendall(encode({"id": 1, "body": {"kind": "supervisor.stop"}}))
        assert b'"stopping"' in ours.recv(4096)
    handle.tell(Stop("shutdown"))
    assert handle.wait_down(60)


def test_one_that_no_thread_is_left_for_is_let_go_and_the_next_is_served(monkeypatch):
    monkeypatch.setattr(gateway, "ACCEPT_PAUSE_S", 0.001)
    first, refused = socket.socketpair()
    ours, theirs = socket.socketpair()
    plain, denied = threading.Thread.start, []

    def begin(thread: threading.Thread) -> None:
        if thread.name == "connection" and not denied:
            denied.append(thread)
            raise RuntimeError("can't start new thread")
        plain(thread)

    monkeypatch.setattr(threading.Thread, "start", begin)
    answers = SimpleNamespace(exchange=lambda _body: iter([Stopping(pid=1, reason="restart")]))
    handle = start(
        gateway.Gateway,
        "gateway",
        directory=Directory(),
        dispatcher=answers,
        listener=gateway.Listener(Door(refused, theirs), "x"),
    )
    with first, ours:
        first.settimeout(60)
        ours.settimeout(60)
        assert first.recv(1) == b""
        ours.sendall(encode({"id": 1, "body": {"kind": "supervisor.stop"}}))
        assert b'"stopping"' in ours.recv(4096)
    handle.tell(Stop("shutdown"))
    assert handle.wait_down(60)
    eventually(lambda: denied)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EMFILE, RefusalCode.SUPERVISOR_BUSY),
        (errno.ENFILE, RefusalCode.SUPERVISOR_BUSY),
        (errno.ENOMEM, RefusalCode.SUPERVISOR_BUSY),
        (errno.ENOSPC, RefusalCode.STATE_FULL),
        (errno.EBADF, RefusalCode.INTERNAL),
    ],
)
def test_what_the_machine_denies_is_no_fault_of_ours(number, code):
    refusal = dispatch.unable(OSError(number, "none left"))
    assert refusal.code is code
    assert refusal.hint
