"""SIGKILL, restart and replacement of the supervisor under running jobs: nothing is lost, nothing done twice.

Each test prints the seed it drew; ``OSRC_TEST_SEED`` repeats it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from fakes.lanes import steps
from fakes.osrc_process import command, shown
from fakes.supervised import Supervised, kill, until
from outsourcerer import __version__

pytestmark = pytest.mark.chaos

JOBS = 20
MOMENTS = 10
ASKED = 24
PIECES = 40
"""Lines that each delegate prints on its way."""


class Batch:
    """Twenty delegates of different lengths and different ends, and what must become of each."""

    ENDS = (({"exit": 0}, {"code": 0}), ({"exit": 7}, {"code": 7}), ({"kill": 15}, {"signal": 15}))

    def __init__(self, home: Supervised, chance: random.Random, shortest_s: float, longest_s: float) -> None:
        self.home = home
        self.proofs = home.scratch / "started"
        self.proofs.mkdir()
        self.go = home.scratch / "go"
        # The first job ends no sooner than this exists: however slow the machine, some job runs at each moment.
        self.jobs: dict[str, int] = {}
        self.tasks: dict[int, str] = {}
        for number in range(JOBS):
            self.tasks[number] = self._task(number, chance.uniform(shortest_s, longest_s))

    def _task(self, number: int, seconds: float) -> str:
        pieces = "".join(
            json.dumps(
                {"type": "text", "text": f"job {number} piece {piece} — ümläut\n", "partial": True}, ensure_ascii=False
            )
            + "\n"
            for piece in range(PIECES)
        )
        size = 97  # cuts lines and characters anywhere
        writes = len(pieces.encode()) // size + 1
        return steps(
            {"record": str(self.proofs / str(number))},
            {"stream": pieces, "size": size, "every_s": seconds / writes},
            *([] if number else [{"wait_for": str(self.go)}]),
            {"mark": "DONE", "text": f"number {number}"},
            {"end": f"answer {number}"},
            self.ENDS[number % len(self.ENDS)][0],
        )

    def submit(self) -> None:
        """All of them, four at a time; returns once every one has a process."""

        def some(numbers: list[int]) -> None:
            for number in numbers:
                self.jobs[
                    self.home.ok("bg", "--lane", "fake", "--label", f"n{number}", "--", self.tasks[number]).strip()
                ] = number

        threads = [threading.Thread(target=some, args=(list(self.tasks)[start::4],)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(self.jobs) == JOBS
        for job_id in self.jobs:
            self.home.running(job_id)

    def check(self) -> None:
        """Everything that must hold at the end."""
        for job_id, number in self.jobs.items():
            record = self.home.ended(job_id)
            expected = self.ENDS[number % len(self.ENDS)][1]
            status = {
                name: value for name, value in record["exit_status"].items() if value is not None and value is not False
            }
            assert status == expected, record
            assert record["state"] == "done", record
            assert self.home.result(job_id) == f"answer {number}"
            self.check_output(job_id, number)
            started = (self.proofs / str(number)).read_text().splitlines()
            assert len(started) == 1, f"job {number} was started {len(started)} times"
            prompt = (
                (self.home.folder(job_id) / "stdin").read_bytes()
                if (self.home.folder(job_id) / "stdin").exists()
                else None
            )
            if prompt is not None:
                assert started[0].split()[1] == hashlib.sha256(prompt).hexdigest()
        ends = Counter(fact["job_id"] for fact in self.home.facts("job.ended"))
        assert ends == dict.fromkeys(self.jobs, 1), "each job has exactly one result"
        self.home.nothing_left()

    def check_output(self, job_id: str, number: int) -> None:
        lines = (self.home.folder(job_id) / "out.log").read_bytes().decode().splitlines()
        texts = [event.get("text", "") for event in map(json.loads, lines) if event["type"] == "text"]
        assert texts[:PIECES] == [f"job {number} piece {piece} — ümläut\n" for piece in range(PIECES)]
        assert json.loads(lines[-1])["type"] == "end"


class Waiter:
    """A client that waits for all jobs and has to find, or start, each next supervisor by itself.

    Where several in a row are killed before they listen, it takes the jobs over itself.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._errors = batch.home.scratch / "waiter.err"
        self._start()

    def _start(self) -> None:
        with self._errors.open("wb") as errors:
            self.client = subprocess.Popen(
                command("wait", "--json", *self._batch.jobs),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self._batch.home.environment(),
                start_new_session=True,
            )

    @property
    def by_itself(self) -> bool:
        return b"supervises by itself" in self._errors.read_bytes()

    def kill_who_supervises(self) -> None:
        """The supervisor, or the client where that has become one; then another client waits."""
        if not self.by_itself:
            self._batch.home.kill_supervisor()
            return
        self.close()
        self._start()

    def close(self) -> None:
        if self.client.poll() is None:
            kill(self.client.pid)
            self.client.communicate()

    def finish(self) -> None:
        out, _ = self.client.communicate(timeout=240)
        assert self.client.returncode == 0, (out[-2000:], self._errors.read_bytes()[-2000:])
        states = {job["job_id"]: job["state"] for job in json.loads(out)["jobs"]}
        assert states == dict.fromkeys(self._batch.jobs, "done"), states


@contextlib.contextmanager
def waiting(batch: Batch) -> Iterator[Waiter]:
    """A waiter that has to see the end of all jobs."""
    waiter = Waiter(batch)
    try:
        yield waiter
        waiter.finish()
    finally:
        waiter.close()


def test_killed_with_twenty_jobs_at_ten_moments(home: Supervised, chance: random.Random) -> None:
    home.environ["OSRC_MAX_JOBS"] = str(JOBS)
    batch = Batch(home, chance, 1.0, 9.0)
    batch.submit()
    with waiting(batch) as waiter:
        for _ in range(MOMENTS):
            until(lambda: home.daemons() or waiter.by_itself, "somebody supervises", pause=0.002)
            # from the first instruction of a new supervisor to some time after it adopted everything
            time.sleep(chance.uniform(0, 0.5))
            waiter.kill_who_supervises()
        batch.go.touch()
    batch.check()


def test_restarted_with_twenty_jobs_at_ten_moments(home: Supervised, chance: random.Random) -> None:
    home.environ["OSRC_MAX_JOBS"] = str(JOBS)
    batch = Batch(home, chance, 1.0, 9.0)
    batch.submit()
    with waiting(batch):
        for _ in range(MOMENTS):
            time.sleep(chance.uniform(0, 0.4))
            done = home.osrc("supervisor", "restart")
            assert done.returncode == 0, shown(done)
            # the waiting client may have started one too, which finds the lock taken and leaves
            until(lambda: len(home.daemons()) == 1, "there is one supervisor")
        batch.go.touch()
    batch.check()


OLDER = 'import outsourcerer; outsourcerer.__version__ = "0.0.1"'


def test_an_older_supervisor_hands_over_twenty_jobs_ten_times(home: Supervised, chance: random.Random) -> None:
    home.environ["OSRC_MAX_JOBS"] = str(JOBS)
    batch = Batch(home, chance, 1.0, 9.0)
    batch.submit()
    for _ in range(MOMENTS):
        home.kill_supervisor()
        home.start_changed(OLDER)
        time.sleep(chance.uniform(0, 0.1))
        older = home.supervisor()
        done = home.osrc("bg", "--lane", "fake", "--dry-run", "what would be done?")
        newer = home.supervisor()
        assert b"handing over from supervisor 0.0.1" in done.stderr, shown(done)
        assert (older["version"], newer["version"]) == ("0.0.1", __version__)
        assert home.daemons() == [newer["pid"]] != [older["pid"]]
    batch.go.touch()
    batch.check()


def test_jobs_that_are_asked_for_while_supervisors_are_killed(home: Supervised, chance: random.Random) -> None:
    """An id that was printed is a job that runs once; a refusal may have been one; nothing runs twice."""
    home.environ["OSRC_MAX_JOBS"] = "4"
    proofs = home.scratch / "started"
    proofs.mkdir()
    accepted: dict[str, int] = {}
    unsure: set[int] = set()

    def ask(numbers: range) -> None:
        for number in numbers:
            task = steps({"record": str(proofs / str(number))}, {"mark": "DONE"}, {"end": f"answer {number}"})
            done = home.osrc("bg", "--json", "--lane", "fake", "--label", f"n{number}", "--", task)
            said = json.loads(done.stdout)
            if done.returncode == 0:
                accepted[said["job_id"]] = number
            else:
                assert said["error"]["code"] in ("supervisor_unavailable", "supervisor_busy", "stopping"), said
                unsure.add(number)

    askers = [threading.Thread(target=ask, args=(range(start, ASKED, 2),)) for start in range(2)]
    for asker in askers:
        asker.start()
    for _ in range(MOMENTS):
        # let it come to listen now and then, so that something is accepted at all
        until(lambda: home.supervisor() or not any(asker.is_alive() for asker in askers), "one listens")
        time.sleep(chance.uniform(0, 1.0))
        if any(asker.is_alive() for asker in askers):
            home.kill_supervisor()
    for asker in askers:
        asker.join()
    home.ok("supervisor", "restart")
    for job_id, number in accepted.items():
        assert home.ended(job_id)["state"] == "done", home.record(job_id)
        assert home.result(job_id) == f"answer {number}"
    until(lambda: all(record["ended"] for record in home.records()), "those that nobody was sure of ended too")
    known = {int(record["label"][1:]): record["job_id"] for record in home.records()}
    for number in range(ASKED):
        started = (proofs / str(number)).read_text().splitlines() if (proofs / str(number)).exists() else []
        assert len(started) == (number in known), f"{number} was started {len(started)} times"
    assert set(accepted.values()) | unsure == set(range(ASKED))
    assert set(known) >= set(accepted.values())
    assert accepted
    assert Counter(fact["job_id"] for fact in home.facts("job.ended")) == dict.fromkeys(known.values(), 1)


def test_a_job_that_is_asked_for_during_a_restart_is_taken(home: Supervised, chance: random.Random) -> None:
    """A restart in order is no reason to leave anybody unsure."""
    home.ok("supervisor", "restart")
    stop = threading.Event()

    def restart() -> None:
        while not stop.is_set():
            home.ok("supervisor", "restart")
            time.sleep(chance.uniform(0, 0.3))

    restarter = threading.Thread(target=restart)
    restarter.start()
    try:
        jobs = [home.bg({"mark": "DONE"}, {"end": "x"}) for _ in range(20)]
    finally:
        stop.set()
        restarter.join()
    for job_id in jobs:
        assert home.ended(job_id)["state"] == "done"
