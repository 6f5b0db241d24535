"""A supervisor that is none: speaks the wire protocol over a unix socket, from scripted answers.

    with FakeGateway(home) as gateway:
        gateway.jobs[job_id] = job(job_id, state="running")
        ... run the front end against ``home`` ...
        gateway.requests   # every command body that came in

As a program (``python fake_gateway.py HOME``) it serves until it is killed and prints a line when it listens.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import outsourcerer
from outsourcerer.state.identity import boot_id, identify

Body = dict[str, Any]

LIVE = {
    "queued",
    "launching",
    "running",
    "stalled?",
    "exploring?",
    "no-progress-writes",
    "waiting-limit",
    "needs-answer",
}

PLAN: Body = {
    "lane": "fake",
    "vehicle": "fake",
    "model": "fake-1",
    "tier": "mid",
    "effort": None,
    "verb": "run",
    "posture": "READ-ONLY",
    "argv": ["/bin/fake", "--prompt", "it's"],
    "cwd": "/",
    "stdin": "prompt",
    "env_set": ["FAKE_KEY"],
    "env_stripped": ["CLAUDECODE"],
    "gate": "local: nothing leaves this machine",
    "cost": "$0, runs on this machine",
    "notices": [],
}


def job_id(number: int) -> str:
    """A valid job id; a larger number is newer."""
    return f"20300101-{number // 3600 % 24:02}{number // 60 % 60:02}{number % 60:02}-{number:012x}"


def job(identifier: str, **changes: Any) -> Body:
    """A public job object with every key."""
    value: Body = {
        "schema_version": "1",
        "job_id": identifier,
        "label": None,
        "group_id": None,
        "provider": "fake",
        "lane": "fake",
        "vehicle": "fake",
        "verb": "run",
        "shape": "one-shot",
        "model": "fake-1",
        "model_observed": None,
        "tier": "mid",
        "effort": None,
        "state": "running",
        "exit": None,
        "reason": None,
        "outcome": None,
        "started": 1000.0,
        "ended": None,
        "age_s": 42.0,
        "cwd": "/",
        "worktree": None,
        "branch": None,
        "progress": {"last_marker": "PROGRESS 1/2 reading", "reads": 3, "writes": 1, "bash": 2, "percent": 50},
        "cost": {"kind": "free", "cash_usd": None, "measured": False, "plan": None, "tokens": None},
        "supervision": "supervised",
        "result_path": None,
        "log_path": None,
        "note": None,
    }
    value.update(changes)
    value["status"] = value["state"]
    return value


class FakeGateway:
    """Serves one home. Every attribute may be changed while it runs."""

    def __init__(self, home: Path, *, protocol: int = 1, version: str | None = None) -> None:
        self.home = home
        self.protocol = protocol
        self.version = version or outsourcerer.__version__
        self.jobs: dict[str, Body] = {}
        self.requests: list[Body] = []
        self.facts: list[Body] = []
        self.submit: Callable[[Body], Body] = self._accept
        self.on_cancel: Callable[[Body], None] = lambda body: None
        self.silent = False
        self.fleet: list[Body] = []
        self.drop_next: set[str] = set()
        self.on_stop: Callable[[], None] = lambda: None
        self.pid = os.getpid()
        self.started: float | None = None
        self.changed = threading.Condition()
        self._count = 0
        self._folder = tempfile.mkdtemp(prefix="fg-", dir="/tmp")
        self.socket_path = f"{self._folder}/s"
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        with contextlib.suppress(OSError):
            Path(self._folder).rmdir()

    def listen(self) -> None:
        """Bind, say so in the supervisor file, serve in threads."""
        for name in ("", "jobs", "spool"):
            (self.home / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.socket_path)
        listener.listen(64)
        self._listener = listener
        known = identify(self.pid)
        started = self.started if self.started is not None else (known["started"] if known else 0)
        described = {
            "pid": self.pid,
            "started": started,
            "boot_id": boot_id(),
            "socket": self.socket_path,
            "version": self.version,
            "protocol": self.protocol,
        }
        (self.home / "supervisor.json").write_text(json.dumps(described))
        threading.Thread(target=self._accept_all, args=(listener,), daemon=True).start()

    def close(self, *, keep_file: bool = False) -> None:
        """Stop listening and cut every connection."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.cut()
        with contextlib.suppress(OSError):
            Path(self.socket_path).unlink()
        if not keep_file:
            with contextlib.suppress(OSError):
                (self.home / "supervisor.json").unlink()

    def cut(self) -> None:
        """Cut every connection, as a killed supervisor does."""
        for connection in self._open[:]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def change(self, identifier: str, **changes: Any) -> None:
        """Change a job and tell the followers."""
        with self.changed:
            self.jobs[identifier] = {**self.jobs[identifier], **changes}
            self.jobs[identifier]["status"] = self.jobs[identifier]["state"]
            self.changed.notify_all()

    def kinds(self) -> list[str]:
        """The kinds of the commands that came in."""
        return [body["kind"] for body in self.requests]

    def _accept_all(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rwb") as stream:
                for line in stream:
                    frame = json.loads(line)
                    body = frame["body"]
                    if self.silent:
                        time.sleep(30)
                        return
                    if body["kind"] != "hello":
                        self.requests.append(body)
                    if body["kind"] in self.drop_next:
                        self.drop_next.discard(body["kind"])
                        return
                    for reply in self._answer(body):
                        stream.write(json.dumps({"id": frame["id"], "body": reply}).encode() + b"\n")
                        stream.flush()
        except (OSError, ValueError):
            return
        finally:
            self._open.remove(connection)

    def _answer(self, body: Body) -> Iterator[Body]:
        kind = body["kind"]
        if kind == "hello":
            yield {"kind": "hello", "protocol": self.protocol, "version": self.version, "capabilities": []}
        elif kind == "job.submit":
            yield self.submit(body)
        elif kind == "view.jobs":
            yield self._views(body["selection"])
        elif kind == "view.fleet":
            yield {"kind": "fleet_view", "seen_at": 1.0, "sessions": self.fleet, "notes": ["no tmux here"]}
        elif kind == "view.sessions":
            if body.get("session"):
                yield {"kind": "refused", "code": "no_such_session", "message": "there is none", "hint": None}
            else:
                yield {"kind": "session_views", "sessions": [], "omitted": 0}
        elif kind == "job.cancel":
            self.on_cancel(body)
            yield self._views(body["selection"])
        elif kind == "follow.jobs":
            yield from self._follow(body)
        elif kind == "follow.events":
            for fact in self.facts:
                if fact["seq"] > body.get("since", 0):
                    yield {"kind": "event", "entry": fact}
            yield {"kind": "stream_ended", "seq": self.facts[-1]["seq"] if self.facts else 0}
        elif kind == "supervisor.status":
            yield {
                "kind": "supervisor_state",
                "pid": self.pid,
                "version": self.version,
                "protocol": self.protocol,
                "home": str(self.home),
                "socket": self.socket_path,
                "started_at": time.time() - 5,
                "live_jobs": 1,
                "queued_jobs": 0,
                "max_jobs": 16,
                "actors": {"root": 0},
            }
        elif kind == "supervisor.stop":
            yield {"kind": "stopping", "pid": self.pid, "reason": body["reason"]}
            self.on_stop()
        else:
            yield {"kind": "refused", "code": "bad_request", "message": f"unknown command {kind}", "hint": None}

    def _accept(self, body: Body) -> Body:
        if body.get("dry_run"):
            return {"kind": "planned", "plan": PLAN}
        self._count += 1
        identifier = job_id(self._count)
        with self.changed:
            self.jobs[identifier] = job(identifier)
        return {"kind": "accepted", "job_id": identifier, "plan": {**PLAN, "verb": body["request"]["verb"]}}

    def _select(self, selection: Body) -> list[Body] | Body:
        if selection["select"] == "all":
            state = selection.get("state")
            return [value for _, value in sorted(self.jobs.items(), reverse=True) if state in (None, value["state"])]
        found = []
        for token in selection["ids"]:
            matches = [value for key, value in self.jobs.items() if key.startswith(token) or value["label"] == token]
            if len(matches) != 1:
                code = "no_such_job" if not matches else "ambiguous_job"
                return {"kind": "refused", "code": code, "message": f"{code}: {token}", "hint": "osrc status --all"}
            found.append(matches[0])
        return found

    def _views(self, selection: Body) -> Body:
        found = self._select(selection)
        if isinstance(found, dict):
            return found
        limit = selection.get("limit", 40) if selection["select"] == "all" else 0
        shown = found[:limit] if limit else found
        return {"kind": "job_views", "jobs": shown, "omitted": len(found) - len(shown)}

    def _follow(self, body: Body) -> Iterator[Body]:
        last: object = None
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with self.changed:
                views = self._views(body["selection"])
                if views == last and not body.get("every_s"):
                    self.changed.wait(0.5)
                    views = self._views(body["selection"])
                elif views == last:
                    self.changed.wait(body["every_s"])
                    last = None
                    views = self._views(body["selection"])
            if views["kind"] == "refused":
                yield views
                return
            if views != last:
                last = views
                yield views
            ended = [value["state"] not in LIVE for value in views["jobs"]]
            if (any if body.get("until_any") else all)(ended):
                break
        yield {"kind": "stream_ended", "seq": 0}


def main() -> None:
    """Serve ``argv[1]`` with ``argv[2]`` finished jobs until killed."""
    home = Path(sys.argv[1])
    with FakeGateway(home) as gateway:
        for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0):
            identifier = job_id(number + 100_000)
            gateway.jobs[identifier] = job(identifier, state="done", exit=0, ended=1042.0)
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
