"""The holder: one process per session that owns the delegate's connection, whoever else dies.

Started by ``holder_main.py``; standard library only. In its session's folder:

``launch.json``        how the delegate is started; read once and removed (0600: it holds the environment)
``claim.N``            whoever creates it owns attempt N: a start that lost the race gives nothing to anybody
``holder.json``        who holds attempt N, the delegate's process, the socket and its token
``inbox/NNNNNNNN.json``  what the delegate is to be given, in order, each once
``events.jsonl``       all that was seen and done (``transports/engine.py``)
``exit.json``          how it ended
``err.log``            the delegate's stderr

The inbox is looked at when somebody says so over the socket, and twice a second in any case: so nothing
that was put there is lost with whoever put it there. The holder leaves when its delegate has ended, and
takes everything along that the delegate started.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
import time
from collections import deque
from typing import Any, cast

from ..state.identity import boot_id, identify
from .descendants import ender
from .holder_door import Door
from .holder_log import ENDED_FIRST, LEFT_US, OVER, QUEUED, EventLog, Voice, hint
from .holder_loop import SelectLoop
from .shim import BINARY, LINUX, NOFOLLOW, PR_SET_CHILD_SUBREAPER, claim, read_all, write_json
from .transports.engine import ENGINES, Attachable, Engine, EngineError, SessionEvent

LOOK_S = 0.5
LONGEST_WAIT_S = 90.0
"""A clock that was set back does not hold a session up for longer."""
LEAVE_S = 5.0
"""How long a delegate may take to leave once it was asked to."""
STARTS = 5
"""How often a program is started that another start of it keeps from starting."""
PAUSE_S = 0.5
"""Between two such starts, more after each; holders differ, so that they do not meet again."""
LAST_WORDS = 65536
"""Bytes of what such a start says: it is over at once."""
ENTRY_LIMIT = 32 * 1024 * 1024
ASKING = frozenset({"waiting-approval", "trust", "login", "menu", "limit"})
QUIET = frozenset({"text", "thought", "usage", "screen"})
"""Events of which the supervisor needs no hint."""


def hold_plainly(folder: str) -> None:
    """Be the holder in a process that was started for it and not forked; what it hints, it says on stdout too."""
    os.umask(0o077)
    hold(folder)


def hold(folder: str) -> None:
    """Be the holder of the session in ``folder``, if nobody else is. Ends the process."""
    path = os.path.join(folder, "launch.json")
    try:
        descriptor = os.open(path, os.O_RDONLY | NOFOLLOW | BINARY)
        launch = json.loads(read_all(descriptor))
    except (OSError, ValueError):
        return
    me = _identity(os.getpid())
    claimed = claim(os.fsencode(folder), int(launch["attempt"]), me)
    if claimed is None:
        return
    os.close(claimed)
    with contextlib.suppress(OSError):
        os.unlink(path)
    if LINUX:
        with contextlib.suppress(OSError):
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for item in launch.get("sys_path", ()):
        if item not in sys.path:
            _know_packages(item)
    Holder(folder, launch, me).run()


class Holder:
    """See the module. The ``Stage`` of its engine."""

    def __init__(self, folder: str, launch: dict[str, Any], me: dict[str, object]) -> None:
        """Start nothing yet."""
        self.folder = folder
        self.launch = launch
        self.loop = SelectLoop()
        self.state = "starting"
        self.evidence: str | None = None
        self._me = me
        self._session = os.path.basename(folder)
        self._log = EventLog(folder)
        self._voice = Voice(self._session) if launch.get("plain") else None
        self._end_left = ender(self._session)
        self._door = Door(self.loop, str(launch["socket"]), str(launch["token"]), self._asked)
        self._engine: Engine | None = None
        self._queue: deque[dict[str, Any]] = deque()
        self._next = int(launch.get("first", 1))
        self._open: dict[int, str] = {}
        """Entries that have no end yet, and their ids."""
        self._left: set[int] = set()
        """Those of them that may have reached the delegate."""
        self._busy: int | None = None
        """The entry that was given and has not led to a turn, or its end, yet."""
        self._cause: str | None = None
        self._idle_since = self.loop.now()
        self._hinted = False
        self._place = ""
        self._starts = 0
        self._said_at = 0
        """Bytes of ``err.log`` that are of an earlier start."""

    # --- its life

    def run(self) -> None:
        """Start the delegate, serve, leave."""
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: self.close("its holder was told to end"))
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self._wait()
        if self._cause is not None:
            self._over(None, None, None)
            return
        self._place = self._door.open()
        trouble = self._begin()
        if trouble is not None:
            self._over(None, None, trouble)
            return
        self.emit({"type": "state", "state": "starting", "evidence": "started"})
        self._look()
        self.loop.later(LOOK_S, self._regularly)
        self.loop.run()

    def _begin(self) -> str | None:
        """Start the delegate and sign for it; return why that can't be."""
        self._starts += 1
        self._said_at = self._errors()
        try:
            module, _, name = ENGINES[str(self.launch["engine"])].partition(":")
            made = getattr(importlib.import_module(f"{__package__}.transports.{module}"), name)
            engine: Engine = made(self)
            self._engine = engine
            engine.start()
        except (EngineError, ImportError, KeyError) as error:
            return str(error)
        delegate = _identity(engine.pid) if engine.pid is not None else None
        record = {
            "attempt": self.launch["attempt"],
            "holder": self._me,
            "delegate": delegate,
            "socket": self._place,
            "token": self.launch["token"],
            "at": time.time(),
        }
        try:
            write_json(os.fsencode(self.folder), "holder.json", record)
        except OSError as error:
            self._kill()
            return f"the session's folder can't be written: {error.strerror}"
        return None

    def _errors(self) -> int:
        try:
            return os.stat(os.path.join(self.folder, "err.log")).st_size
        except OSError:
            return 0

    def _was_kept_out(self, code: int | None) -> bool:
        """Whether another start of the program kept this one from starting: nothing was given to it, or begun by it."""
        words = self.launch.get("contended") or ()
        given = bool(self._left) or self._busy is not None
        if not words or not code or given or self.state != "starting" or self._cause or self._starts >= STARTS:
            return False
        try:
            with open(os.path.join(self.folder, "err.log"), "rb") as file:
                file.seek(self._said_at)
                said = file.read(LAST_WORDS).decode("utf-8", "replace").lower()
        except OSError:
            return False
        return any(str(word) in said for word in words)

    def _begin_again(self) -> None:
        if self._cause is not None or self.loop.stopped:
            self._over(None, None, None)
            return
        text = f"another start of its program held what it needs: start {self._starts + 1} of {STARTS}"
        self.emit({"type": "notice", "text": text})
        trouble = self._begin()
        if trouble is not None:
            self._over(None, None, trouble)
            return
        self.emit({"type": "state", "state": "starting", "evidence": "started again"})

    def _wait(self) -> None:
        """Wait until the program may be started; being told to end ends it."""
        until = float(self.launch.get("not_before") or 0.0)
        if until > time.time():
            text = f"its program is started in {until - time.time():.0f} s: before, it would overwrite the conversation"
            self.emit({"type": "notice", "text": text})
        while self._cause is None and 0.0 < until - time.time() < LONGEST_WAIT_S:
            time.sleep(LOOK_S / 2)

    def _regularly(self) -> None:
        self._look()
        self._log.flush()
        limit_s = float(self.launch.get("idle_s") or 0.0)
        if limit_s and self.state == "idle" and self.loop.now() - self._idle_since > limit_s:
            self.close(f"idle for {limit_s:.0f} s")
        if not os.path.isdir(self.folder):
            self.close("its folder is gone")
        self.loop.later(LOOK_S, self._regularly)

    def close(self, cause: str) -> None:
        """Ask the delegate to leave; end it if it does not."""
        if self._cause is not None:
            return
        self._cause = cause
        self.emit({"type": "ending", "cause": cause})
        if self._engine is not None:
            self._engine.close()
        self.loop.later(LEAVE_S, self._force)

    def _force(self) -> None:
        self._kill()
        self.gone(None, int(signal.SIGKILL) if hasattr(signal, "SIGKILL") else None)

    def _kill(self) -> None:
        pid = self._engine.pid if self._engine is not None else None
        if pid is not None:
            self._end_left(pid)

    def gone(self, code: int | None, signal: int | None) -> None:
        """End what the delegate left behind, say how it ended, and leave; one that could not start is started again."""
        self._kill()
        if not self._was_kept_out(code):
            self._over(code, signal, None)
            return
        leave = getattr(self._engine, "leave", None)
        if leave is not None:
            leave()
        self.loop.later(PAUSE_S * (self._starts + os.getpid() % 16 / 16), self._begin_again)

    def _over(self, code: int | None, signal: int | None, error: str | None) -> None:
        if self.loop.stopped:
            return
        self.loop.stopped = True
        for number, name in list(self._open.items()):
            became = "unverified" if number in self._left else "failed"
            self._deliver(number, name, became, error or ENDED_FIRST)
        reason = self._cause or error
        self.emit({"type": "exited", "code": code, "signal": signal, "reason": reason})
        record: dict[str, object] = {"attempt": self.launch["attempt"], "code": code, "signal": signal, "error": error}
        record |= {"reason": reason, "at": time.time()}
        with contextlib.suppress(OSError):
            write_json(os.fsencode(self.folder), "exit.json", record)
        self._log.flush()
        self._say("gone")
        self._door.close()

    # --- what it is to give

    def _asked(self, op: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """Answer one request at the socket; None: the connection was taken over."""
        if op == "look":
            self._look()
        elif op == "close":
            self.close(str(request.get("cause") or "stopped on request"))
        elif op in ("screen", "attach") and hasattr(self._engine, op):
            terminal = cast("Attachable", self._engine)
            if op == "screen":
                return {"ok": True, "screen": terminal.screen()}
            terminal.attach(self._door.hand_over(), int(request.get("rows") or 24), int(request.get("columns") or 80))
            return None
        elif op != "state":
            return {"ok": False, "error": f"this session has no {op[:40]}"}
        return {"ok": True, "state": self.state, "evidence": self.evidence, "queued": len(self._queue)}

    def _look(self) -> None:
        """Take every entry that is there, in order."""
        while not self.loop.stopped:
            path = os.path.join(self.folder, "inbox", f"{self._next:08}.json")
            try:
                descriptor = os.open(path, os.O_RDONLY | NOFOLLOW | BINARY)
            except OSError:
                later = self._later()
                if later is None or os.path.lexists(path):
                    break
                self._next = later  # what is between was taken back: entries come in order
                continue
            try:
                entry = json.loads(read_all(descriptor))
                number, name = int(entry["number"]), str(entry["id"])
            except (ValueError, KeyError, TypeError):
                self._deliver(self._next, "", "failed", "its entry can't be read")
                self._next += 1
                continue
            self._next += 1
            self._open[number] = name
            self._deliver(number, name, "accepted", None)
            self._take(entry, number)
        self._give()

    def _later(self) -> int | None:
        """The next entry that is there behind one that is not."""
        try:
            names = os.listdir(os.path.join(self.folder, "inbox"))
        except OSError:
            return None
        numbers = (int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdecimal())
        return min((number for number in numbers if number > self._next), default=None)

    def _take(self, entry: dict[str, Any], number: int) -> None:
        engine = self._engine
        assert engine is not None  # noqa: S101 - entries are looked at once it runs
        op = entry.get("op")
        busy = self._busy is not None or self.state not in ("idle", "starting")
        at_work = self.state not in ("idle", "starting") or any(row["op"] == "send" for row in self._queue)
        if op == "answer":
            if self.state in ASKING:
                engine.answer(number, str(entry.get("choice")), entry.get("request"))
            else:
                self._refuse(number, f"it asks nothing: it is {self.state}")
        elif op == "interrupt":
            if self.state in ("working", "waiting-approval") or self._busy is not None:
                engine.interrupt(number)
            else:
                self._refuse(number, f"no turn runs: it is {self.state}")
        elif op in ("model", "effort", "mode") and at_work:
            self._refuse(number, f"not while it is {self.state}: try again when it is idle")
        elif op == "close":
            self.close(str(entry.get("cause") or "stopped on request"))
            self.emit({"type": "delivery", "number": number, "state": "done"})
        elif op in QUEUED:
            if op == "send" and entry.get("interrupt") and busy:
                engine.interrupt(0)
            self._queue.append(entry)
        else:
            self._refuse(number, "what it asks for is not known here")

    def _give(self) -> None:
        """Give the next entry, if nothing runs."""
        if self.state != "idle" or self._busy is not None or not self._queue or self._cause or self.loop.stopped:
            return
        if not self._log.flush():
            return  # were we killed now, nobody could say what had been given: it is tried again at the next look
        engine = self._engine
        assert engine is not None  # noqa: S101 - as above
        entry = self._queue.popleft()
        number = int(entry["number"])
        self._busy = number
        if entry["op"] == "send":
            engine.send(number, str(entry.get("text")))
        elif entry["op"] == "model":
            engine.set_model(number, str(entry.get("model")))
        elif entry["op"] == "mode":
            engine.set_mode(number, str(entry.get("mode")))
        else:
            engine.set_effort(number, str(entry.get("effort")))

    def _refuse(self, number: int, reason: str) -> None:
        self.emit({"type": "delivery", "number": number, "state": "refused", "reason": reason})

    # --- what it sees

    def emit(self, event: SessionEvent) -> None:
        """Append an event, follow the state, hint to the supervisor."""
        kind = event.get("type")
        if kind == "delivery":
            number = event.get("number")
            if isinstance(number, int) and number in self._open:
                self._deliver(number, self._open[number], str(event.get("state")), event.get("reason"))
            return
        if kind == "state":
            if (event.get("state"), event.get("evidence")) == (self.state, self.evidence):
                return
            self.state, self.evidence = str(event.get("state")), event.get("evidence")
            self._idle_since = self.loop.now()
        if kind == "end":
            self._busy = None
        self._log.append(event)
        if kind not in QUIET:
            self._hint_soon()
        if kind in ("state", "end"):
            self.loop.later(0.0, self._give)

    def _deliver(self, number: int, name: str, state: str, reason: object) -> None:
        self._log.append({"type": "delivery", "number": number, "id": name, "state": state, "reason": reason})
        if state in LEFT_US:
            self._left.add(number)
        if state in OVER:
            self._open.pop(number, None)
            self._left.discard(number)
            if self._busy == number:  # a turn that began is told by the state
                self._busy = None
                self.loop.later(0.0, self._give)
        self._hint_soon()

    def _hint_soon(self) -> None:
        """One hint for many events."""
        if not self._hinted:
            self._hinted = True
            self.loop.later(0.02, self._hint)

    def _hint(self) -> None:
        self._hinted = False
        self._say("events")

    def _say(self, what: str) -> None:
        hint(str(self.launch.get("notices", "")), self._session, what)
        if self._voice is not None:
            self._voice.say(what)


def _identity(pid: int) -> dict[str, object]:
    """Name a process as the supervisor does."""
    return {**(identify(pid) or {"pid": pid, "started": 0, "boot_id": boot_id()})}


def _know_packages(folder: str) -> None:
    """Have what is installed in a folder found."""
    if sys.platform != "win32":
        sys.path.append(folder)
        return
    import site  # noqa: PLC0415 - pywin32 is found by its .pth file alone

    site.addsitedir(folder)
