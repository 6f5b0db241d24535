"""Finding a supervision tree for a command: the running supervisor, a new one, or one in this process.

running()   the supervisor, if one answers; looking commands use this and never start anything
channel()   the supervisor, started or handed over where needed; without one, a tree in this process
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..messages.vocabulary import PROTOCOL
from .client import Body, Connection, NoConnectionError, ProtocolMismatchError
from .errors import CliError, SupervisorLostError
from .options import Globals
from .output import say
from .place import read_supervisor_file, readable_root
from .preferences import flag

if TYPE_CHECKING:
    from .channel import Channel

_ATTEMPTS = 5


class Reach:
    """The way from one command line to a supervision tree. Holds at most one channel."""

    def __init__(self, options: Globals) -> None:
        """Connect to nothing yet. Raises StateError where the state home can't be looked into."""
        self.options = options
        self.root = readable_root(os.environ, options.home)
        self._held: Channel | None = None
        self.in_process = False
        """Whether the tree runs in this process: it ends when the command does."""

    @property
    def no_daemon(self) -> bool:
        """Whether the person asked for supervision in this process."""
        return self.options.no_daemon or flag("no_daemon")

    def running(self) -> Channel | None:
        """Return a channel to a supervisor that runs already, or None. Starts and stops nothing."""
        if self._held is not None:
            return self._held
        seen = None if self.no_daemon else read_supervisor_file(self.root)
        if seen is None:
            return None
        try:
            self._held = Connection(seen["socket"])
        except (NoConnectionError, ProtocolMismatchError):
            return None
        return self._held

    def channel(self) -> Channel:
        """Return a channel to a tree that can act. Raises CliError when there can't be one."""
        if self._held is None:
            self._held = self._open()
        return self._held

    def request(self, body: Body) -> Body:
        """Return the reply to a command that has one. Raises CliError where it was refused."""
        from .errors import from_refusal  # noqa: PLC0415 - kept beside its only use

        for reply in self.channel().exchange(body):
            if reply.get("kind") == "refused":
                raise from_refusal(reply)
            return reply
        raise SupervisorLostError("the supervisor gave no answer")

    def ask_running(self, body: Body) -> Body | None:
        """Return what a supervisor that runs already replies; None where none runs, or it left in the middle.

        Starts nothing. Raises CliError where it refused.
        """
        if self.running() is None:
            return None
        try:
            return self.request(body)
        except SupervisorLostError:
            self.drop()
        return None

    def drop(self) -> None:
        """Forget a channel that broke or is busy with a stream; the next use opens another.

        A tree in this process is kept: it is the only one, and takes any number of exchanges.
        """
        if self._held is not None and not self.in_process:
            self._held.close()
            self._held = None

    def close(self) -> None:
        """Close the channel; a tree in this process is stopped, its delegates are not."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _open(self) -> Channel:
        if self.no_daemon:
            return self._here(None)
        for _ in range(_ATTEMPTS):
            seen = read_supervisor_file(self.root)
            if seen is None:
                return self._start()
            try:
                connection = Connection(seen["socket"])
            except NoConnectionError as error:
                if error.forbidden:
                    return self._here(str(error))
                if self._wait_for_stale(seen, str(error)):
                    return self._start()
            except ProtocolMismatchError as error:
                self._replace(seen, error.theirs)
            else:
                if not older(connection.version, __version__):
                    return connection
                self._hand_over(connection, seen)
        raise CliError("supervisor_unavailable", "the supervisor keeps changing", "osrc supervisor status")

    def _start(self) -> Channel:
        from . import launch  # noqa: PLC0415 - a warm command starts nothing

        try:
            return launch.start(self.root)
        except launch.CannotDetachError as error:
            return self._here(str(error))
        except ProtocolMismatchError as error:  # another osrc was faster, and is of another version
            raise CliError(
                "protocol", f"the supervisor that was just started speaks {error}", "use one version of osrc"
            ) from None

    def _here(self, reason: str | None) -> Channel:
        """Return a tree in this process. ``reason`` is why nothing better could be had, None when asked for."""
        from . import launch  # noqa: PLC0415 - loads the whole product

        if reason is not None:
            say(f"osrc: no supervisor can be had here ({reason}); this command supervises by itself.")
        self.in_process = True
        return launch.in_process(self.root)

    def _wait_for_stale(self, seen: dict[str, Any], reason: str) -> bool:
        """Return True when the one that wrote the file is gone, False when it may answer now.

        Raises CliError when it lives and does not answer: slow is not dead, and it holds the lock.
        """
        from . import launch  # noqa: PLC0415 - rare

        deadline = time.monotonic() + 10
        while launch.alive(seen):
            if launch.answers(seen["socket"]) or read_supervisor_file(self.root) != seen:
                return False
            if time.monotonic() > deadline - 8 and _removed(seen["socket"]):
                say("osrc: the supervisor's socket was removed; starting a new supervisor.")
                launch.terminate(seen)  # its delegates go on
                launch.wait_until_gone(seen)
                return True
            if time.monotonic() > deadline:
                raise CliError(
                    "supervisor_busy",
                    f"the supervisor (pid {seen.get('pid')}) runs but can't be reached: {reason}",
                    "osrc supervisor restart",
                )
            time.sleep(0.05)
        return True

    def _hand_over(self, connection: Connection, seen: dict[str, Any]) -> None:
        """Ask an older supervisor to leave. Its delegates go on, and the next one adopts them."""
        from . import launch  # noqa: PLC0415 - once per upgrade

        if not self.options.quiet:
            say(f"osrc: handing over from supervisor {connection.version} to {__version__}.")
        try:
            for _ in connection.exchange({"kind": "supervisor.stop", "reason": "restart"}):
                break
        except SupervisorLostError:
            pass  # it left before it answered
        finally:
            connection.close()
        launch.wait_until_gone(seen)

    def _replace(self, seen: dict[str, Any], theirs: int | None) -> None:
        """End a supervisor that speaks another protocol, by pid and start time."""
        from . import launch  # noqa: PLC0415 - once per upgrade

        if theirs is None and isinstance(seen.get("protocol"), int):
            theirs = seen["protocol"]
        if theirs is not None and theirs > PROTOCOL:
            raise CliError(
                "protocol",
                f"the supervisor (version {seen.get('version')}) speaks protocol {theirs}, this osrc only {PROTOCOL}",
                "use the newer osrc, or: osrc supervisor stop",
            )
        launch.terminate(seen)
        launch.wait_until_gone(seen)


def _removed(address: str) -> bool:
    """Whether a local socket is not in its place any more. A port's only trace is the file of its token."""
    return not os.path.lexists(address.split(":", 2)[-1] if address.startswith("tcp:") else address)


def older(theirs: str, ours: str) -> bool:
    """Whether version ``theirs`` is older. A version that is no version is not.

    >>> older("0.9.2", "0.10.0"), older("1.0", "1.0.0"), older("", "1")
    (True, False, False)
    """
    one, other = _numbers(theirs), _numbers(ours)
    return bool(one) and one < other


def _numbers(version: str) -> list[int]:
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits or len(digits) > 9:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers
