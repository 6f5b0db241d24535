"""Small actors for tests of supervision, and waiting without sleeping for luck."""

import threading
import time

from outsourcerer.actors.base import Actor, Directory, Handle, start

PATIENCE_S = 120.0


def eventually(what, because: str = "it did not happen in time", patience_s: float = PATIENCE_S):
    """Wait until ``what()`` is true and return it."""
    deadline = time.monotonic() + patience_s
    while True:
        found = what()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(because)
        time.sleep(0.002)


class Mailbox(Actor):
    """Keeps all it is told."""

    def __init__(self, **common) -> None:
        super().__init__(**common)
        self.got: list[object] = GOT.setdefault(id(common["directory"]), [])

    def receive(self, message: object) -> None:
        self.got.append(message)


GOT: dict[int, list[object]] = {}


def mailbox(directory: Directory, name: str = "mailbox") -> tuple[Handle, list[object]]:
    """Return an actor that keeps what it is told, and where."""
    got: list[object] = []
    GOT[id(directory)] = got
    handle = start(Mailbox, name, directory=directory)
    return handle, got


class Barrier:
    """Holds an actor in its handler until a test lets it go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.leave = threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        self.leave.wait(PATIENCE_S)
