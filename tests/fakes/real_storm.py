"""A storm over real processes: supervisor, shims, delegates, a session's holder, callers, and what is done to them.

The plan (work, faults, their times) comes from the seed. What falls between two instructions is the operating
system's to choose, so that a seed gives the same plan again and not the same history.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.chaos_check import TERMINAL, Asked, Process, Prompted, Seen, Sent, Told, Violation, check
from fakes.lanes import steps
from fakes.real_scene import DISK, own_disk, said_by, strangers, told
from fakes.repos import repository
from fakes.sessions import Sessions
from fakes.supervised import DAEMON, Supervised, kill, until
from outsourcerer.state.identity import look
from outsourcerer.state.reader import Reader

LASTS_S = 14.0
FAULTS = 45
JOBS = 12
SENDS = 8
SETTINGS = {
    "OSRC_MAX_JOBS": "6",
    "OSRC_STALL_WARN": "3",
    "OSRC_LAUNCHES_PER_HOUR": "0",
    "OSRC_MIN_FREE_DISK": "0",
    # A process that may write no large file leaves half a .pyc in this very checkout, if it writes any.
    "PYTHONDONTWRITEBYTECODE": "1",
}
CLOCK = "import time\nreal = time.time\ntime.time = lambda: real() + {by}"


@dataclass
class Outcome:
    """What came of it."""

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


class RealStorm:
    """See the module."""

    def __init__(self, seed: int, home: Supervised) -> None:
        self.outcome = Outcome(seed)
        self.home = home
        self.sessions = Sessions(home)
        self.proofs = home.scratch / "started"
        self.proofs.mkdir()
        self.asked: list[Asked] = []
        self.sent: list[tuple[str, str]] = []
        self.session_id: str | None = None
        self.callers: list[subprocess.Popen[bytes]] = []
        self.undo: list[tuple[float, Callable[[], None]]] = []
        self.spoiled: set[str] = set()
        self.began = time.monotonic()

    # --- work

    def ask(self, chance: random.Random) -> None:
        """Jobs, one after the other; some callers are killed before they have their answer."""
        for number in range(JOBS):
            time.sleep(chance.uniform(0, 0.8))
            task, label = self.task(f"n{number}", chance), f"n{number}"
            client = self.home.start("bg", "--json", "--lane", "fake", "--label", label, "--", task)
            if chance.random() < 0.2:
                time.sleep(chance.uniform(0.05, 0.6))
                kill(client.pid)
                self.outcome.faults["caller killed"] += 1
            out, _ = client.communicate(timeout=120)
            said = {}
            with contextlib.suppress(ValueError):
                said = json.loads(out)
            answer = "accepted" if client.returncode == 0 and said.get("job_id") else "unsure"
            self.asked.append(Asked(label, answer, said.get("job_id")))

    def task(self, name: str, chance: random.Random) -> str:
        actions: list[dict[str, object]] = [{"record": str(self.proofs / name)}]
        if chance.random() < 0.2:
            actions.append({"ignore": ["TERM"]})
        if chance.random() < 0.25:
            actions.append({"grandchild": 120, "setsid": chance.random() < 0.5})
        words = json.dumps({"type": "text", "text": f"piece of {name}", "partial": True}) + "\n"
        actions.append({"stream": words * 10, "size": 31, "every_s": chance.uniform(0.01, 0.3)})
        ends: list[list[dict[str, object]]] = [
            [{"mark": "DONE"}, {"end": name}],
            [{"mark": "DONE"}, {"end": name}],
            [{"mark": "DONE"}, {"end": name}, {"exit": 7}],
            [{"end": name}],
            [{"exit": 3}],
        ]
        return steps(*actions, *chance.choice(ends))

    def talk(self, chance: random.Random) -> None:
        """One session, and what is sent to it: each a text of its own."""
        for _ in range(20):
            done = self.sessions.osrc("start", "--lane", "claude", "--name", "talk", "--json", "say hello", timeout=120)
            with contextlib.suppress(ValueError, KeyError):
                self.session_id = json.loads(done.stdout)["session"]["session_id"]
            if done.returncode == 0 or b"session_name_in_use" in done.stdout:
                break
            time.sleep(0.5)
        if self.session_id is None:  # its start was taken and the answer lost: what it is given counts all the same
            with contextlib.suppress(Exception), Reader(self.home.root / "state.db") as reader:
                self.session_id = next((str(row["session_id"]) for row in reader.live_sessions()), None)
        for number in range(SENDS):
            time.sleep(chance.uniform(0, 1.0))
            text = f"say part {number}"
            done = self.sessions.osrc("send", "talk", text, "--for", "0.1", timeout=120)
            self.sent.append((text, "given" if b" accepted" in done.stdout or done.returncode == 0 else "unsure"))

    def crowd(self, chance: random.Random) -> None:
        """A crew, and a loop."""
        lines = [
            json.dumps({"label": f"m{number}", "task": self.task(f"m{number}", chance)})
            for number in range(chance.randrange(2, 6))
        ]
        self.home.osrc("fanout", "--lane", "fake", "--tasks", "-", stdin="\n".join(lines).encode(), timeout=120)
        repository(self.home.work / "tree")
        lap = steps({"run": ["sh", "-c", "echo x >> laps"]}, {"end": "one more"})
        check_ = 'test "$(cat laps 2>/dev/null | wc -l)" -ge 2'
        words = ("loop", "verify", "--lane", "fake", "--max", "4", "--check", check_, "--", lap)
        self.home.osrc(*words, cwd=self.home.work / "tree", timeout=240)

    # --- faults

    def run(self, chance: random.Random) -> None:
        plan = sorted(
            (chance.uniform(0.3, LASTS_S), chance.choice(FAULT_NAMES), chance.random()) for _ in range(FAULTS)
        )
        threads = [
            threading.Thread(target=work, args=(random.Random(f"{self.outcome.seed} {name}"),), name=name)
            for name, work in (("ask", self.ask), ("talk", self.talk), ("crowd", self.crowd))
        ]
        for thread in threads:
            thread.start()
        for at, name, roll in plan:
            while (wait_s := at - (time.monotonic() - self.began)) > 0:
                self.undone()
                time.sleep(min(wait_s, 0.05))
            self.undone()
            before = time.monotonic()
            happened = getattr(self, "do_" + name.replace(" ", "_"))(roll)
            if happened is not False:
                self.outcome.faults[name] += 1
                self.outcome.log.append(
                    f"{before - self.began:.2f}: {name}{'' if happened is None else f': {happened}'}"
                )
        self.all_well()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
        self.settle()

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        self.undo.append((time.monotonic() + seconds, what))

    def undone(self, *, everything: bool = False) -> None:
        now = time.monotonic()
        due = [what for at, what in self.undo if everything or at <= now]
        self.undo = [] if everything else [(at, what) for at, what in self.undo if at > now]
        for what in due:
            what()

    def all_well(self) -> None:
        self.undone(everything=True)
        for pid, _, _ in list(self.home._processes()):
            kill(pid, signal.SIGCONT)

    def _stop_a_while(self, pid: int, seconds: float) -> None:
        kill(pid, signal.SIGSTOP)
        self.later(seconds, lambda: kill(pid, signal.SIGCONT))

    def do_supervisor_killed(self, _roll: float) -> object:
        return self.home.kill_supervisor() or False

    def do_supervisor_stopped_for_a_while(self, roll: float) -> object:
        daemons = self.home.daemons()
        if not daemons:
            return False
        self._stop_a_while(daemons[0], 0.1 + 2 * roll)
        return None

    def do_supervisor_restarted(self, _roll: float) -> object:
        client = self.home.start("supervisor", "restart")
        deadline = time.monotonic() + 120
        while client.poll() is None and time.monotonic() < deadline:
            self.undone()  # it may wait for one that was stopped for a while
            time.sleep(0.02)
        client.communicate(timeout=1)
        return None

    def do_clock_jumped(self, roll: float) -> object:
        """Another supervisor, whose wall clock is another."""
        by = (roll - 0.5) * 40_000
        self.home.kill_supervisor()
        program = f"{CLOCK.format(by=by)}\nimport sys\nfrom outsourcerer.actors.daemon import main\nsys.argv[1:] = sys.argv[2:]\nmain()\n"
        words = [sys.executable, "-c", program, DAEMON.decode(), "--home", str(self.home.root)]
        with (self.home.root / "supervisor.log").open("ab") as log:
            made = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.home.environment(),
                start_new_session=True,
            )
        self.callers.append(made)
        return f"{by:.0f} s"

    def _limited(self, which: int, most: int, seconds: float) -> object:
        daemons = self.home.daemons()
        if not daemons:
            return False
        pid = daemons[0]
        with contextlib.suppress(OSError):
            before = resource.prlimit(pid, which)
            resource.prlimit(pid, which, (most, before[1]))

            def restored() -> None:
                with contextlib.suppress(OSError):
                    if pid in self.home.daemons():
                        resource.prlimit(pid, which, before)

            self.later(seconds, restored)
            return None
        return False

    def do_no_files(self, roll: float) -> object:
        try:
            there = sum(1 for _ in Path(f"/proc/{self.home.daemons()[0]}/fd").iterdir())
        except (OSError, IndexError):
            return False
        return self._limited(resource.RLIMIT_NOFILE, there + int(roll * 3), 0.2 + 1.5 * roll)

    def do_no_large_files(self, roll: float) -> object:
        return self._limited(resource.RLIMIT_FSIZE, int(roll * 65_536), 0.1 + roll)

    def do_disk_full(self, roll: float) -> object:
        seen = os.statvfs(self.home.root)
        if seen.f_blocks * seen.f_frsize > 2 * DISK:
            return False  # no disk of its own
        ballast = self.home.root / f"ballast{roll}"
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, seen.f_bavail * seen.f_frsize - int(roll * 8192)))
        self.later(0.1 + roll, lambda: ballast.unlink(missing_ok=True))
        return None

    def do_forker_killed(self, _roll: float) -> object:
        zygotes = self.home.zygotes()
        if not zygotes:
            return False
        kill(zygotes[0])
        return None

    def do_forker_stopped(self, roll: float) -> object:
        zygotes = self.home.zygotes()
        if not zygotes:
            return False
        self._stop_a_while(zygotes[0], 5 * roll)
        return None

    def _one(self, kind: str, roll: float) -> int | None:
        """One living process that our records name."""
        found = []
        with contextlib.suppress(Exception):
            for record in self.home.records():
                named = record.get(kind)
                if (
                    named
                    and not record.get("ended")
                    and look(named["pid"], named["started"], named["boot_id"]) != "gone"
                ):
                    found.append(named["pid"])
        return found[int(roll * len(found))] if found else None

    def _signalled(self, kind: str, number: int, roll: float) -> object:
        pid = self._one(kind, roll)
        if pid is None:
            return False
        if number == signal.SIGSTOP:
            self._stop_a_while(pid, 4 * (roll * 10 % 1))
        else:
            kill(pid, number)
        return pid

    def do_shim_killed(self, roll: float) -> object:
        return self._signalled("shim", signal.SIGKILL, roll)

    def do_shim_stopped(self, roll: float) -> object:
        return self._signalled("shim", signal.SIGSTOP, roll)

    def do_delegate_killed(self, roll: float) -> object:
        return self._signalled("delegate", signal.SIGKILL, roll)

    def do_delegate_terminated(self, roll: float) -> object:
        return self._signalled("delegate", signal.SIGTERM, roll)

    def do_delegate_stopped(self, roll: float) -> object:
        return self._signalled("delegate", signal.SIGSTOP, roll)

    def do_holder_stopped(self, roll: float) -> object:
        holder = (self._session() or {}).get("holder")
        if not holder or look(holder["pid"], holder["started"], holder["boot_id"]) == "gone":
            return False
        self._stop_a_while(holder["pid"], 2 * roll)
        return None

    def do_holder_killed(self, roll: float) -> object:
        holder = (self._session() or {}).get("holder")
        if roll > 0.3 or not holder or look(holder["pid"], holder["started"], holder["boot_id"]) == "gone":
            return False  # mostly it lives, so that sends have somebody to read them
        kill(holder["pid"])
        return None

    def _session(self) -> dict[str, Any] | None:
        with contextlib.suppress(Exception):
            return self.sessions.record(self.session_id) if self.session_id else None
        return None

    def do_file_damaged(self, roll: float) -> object:
        name = ("exit.json", "watch.json", "events.jsonl", "last.txt")[int(roll * 4)]
        files = sorted((self.home.root / "jobs").glob(f"*/{name}"))
        if not files:
            return False
        path = files[int(roll * 13 % 1 * len(files))]
        with contextlib.suppress(OSError):
            path.write_bytes((b"", b"\x00" * 40, b'{"attempt": 1, "co', b"\xff\xfe not json")[int(roll * 17 % 1 * 4)])
        self.spoiled.add(path.parent.name)
        return f"{name} of {path.parent.name}"

    # --- the end

    def settle(self) -> None:
        """All is well again: it must all come to its end by itself."""
        restarted = self.home.osrc("supervisor", "restart", timeout=120)
        self.outcome.log.append(f"restart at the end: {restarted.returncode} {restarted.stderr[-300:]!r}")

        def over() -> bool:
            with contextlib.suppress(Exception):
                return all(record.get("state") in TERMINAL for record in self.home.records())
            return False

        with contextlib.suppress(AssertionError):
            until(over, "every job ended", 180)
        if self.session_id and self.sent:
            with contextlib.suppress(AssertionError):
                until(lambda: not self._awaited(), "all that was given was read", 60)
        for caller in self.callers:
            if caller.poll() is None:
                kill(caller.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                caller.wait(60)

    def _awaited(self) -> list[str]:
        lives = not str((self._session() or {}).get("state")).startswith(("exited", "lost", "failed"))
        read = self.sessions.given()
        return [text for text, answer in self.sent if lives and answer == "given" and text not in read]


FAULT_NAMES = [name.removeprefix("do_").replace("_", " ") for name in vars(RealStorm) if name.startswith("do_")]


def real_storm(seed: int, place: Path) -> Outcome:
    """Play one plan in a folder of its own."""
    with own_disk(place / "osrc"):
        home = Supervised(place, **SETTINGS)
        made = RealStorm(seed, home)
        try:
            with strangers(home) as decoys:
                made.run(random.Random(f"real {seed}"))
                seen = look_at(made, decoys)
            made.outcome.violations += check(seen)
            made.outcome.log += [line for violation in made.outcome.violations for line in told(home, seen, violation)]
        finally:
            home.kill_all()
        return made.outcome


def look_at(made: RealStorm, decoys: list[subprocess.Popen[bytes]]) -> Seen:
    """All that can be known of it."""
    home = made.home
    lives = not str((made._session() or {}).get("state")).startswith(("exited", "lost", "failed"))
    answers = home.osrc("status", "--json", timeout=120).returncode == 0
    if made.outcome.seed % 2:
        home.kill_supervisor()  # whoever types this wants everything ended, also what nobody looks after
    stopped = home.osrc("supervisor", "stop", "--cancel", timeout=120)
    made.outcome.log.append(f"stop at the end: {stopped.returncode} {stopped.stdout!r} {stopped.stderr[-300:]!r}")
    deadline = time.monotonic() + 60
    while home.processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    left = list(home._processes())
    with contextlib.closing(sqlite3.connect(home.root / "state.db")) as db:
        database = str(db.execute("PRAGMA integrity_check").fetchone()[0])
        rows = db.execute("SELECT seq, kind, body FROM facts ORDER BY seq").fetchall()
    records = {record["job_id"]: record for record in home.records()}
    mine = {record["label"]: job_id for job_id, record in records.items() if str(record.get("label"))[:1] in ("n", "m")}
    read = Counter(made.sessions.given())
    prompts = []
    for path in made.proofs.iterdir():
        for _ in path.read_text().splitlines():
            job_id = mine.get(path.name, path.name)
            said = said_by(home.folder(job_id) / "out.log")
            prompts.append(Prompted(job_id, {"DONE", "end"} <= said, "end" in said))
    return Seen(
        journal=[Told(1, seq, kind, json.loads(body)) for seq, kind, body in rows],
        kept={seq: kind for seq, kind, _ in rows},
        generation=1,
        records=records,
        asked=made.asked,
        prompts=prompts,
        sends=[
            Sent(made.session_id or "", number, answer, read[text], session_lives=lives)
            for number, (text, answer) in enumerate(made.sent)
        ],
        processes=[
            *(Process(decoy.pid, "stranger", "", decoy.poll() is None) for decoy in decoys),
            *(Process(pid, "process", command.decode(errors="replace"), alive=True) for pid, command, _ in left),
        ],
        spoiled=made.spoiled | (set(records) - set(mine.values())),
        database=database,
        answers=answers,
    )


__all__ = ["Outcome", "real_storm"]
