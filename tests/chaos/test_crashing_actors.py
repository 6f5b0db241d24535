"""Actors that crash in random order under load: the tree heals within its bounds, and gives up honestly beyond.

On real time: the same rules are driven through hours of a fake clock in the unit tests.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import pytest
from fakes.lanes import steps
from fakes.osrc_process import environment
from fakes.supervised import Supervised, until
from outsourcerer.actors.assembly import Assembly, assemble
from outsourcerer.actors.base import Actor, Directory, Handle, Stop, ask, start
from outsourcerer.actors.clock import SystemClock
from outsourcerer.actors.supervisor import ChildSpec, Strategy, Supervisor
from outsourcerer.messages.refusals import Refused
from outsourcerer.state.home import Home as StateHome
from outsourcerer.state.restart_budget import RestartBudget
from outsourcerer.state.settings import Settings

pytestmark = pytest.mark.chaos

CHILDREN = 300
CRASHES = 900


class Worker(Actor):
    """Echoes, sleeps, blocks or crashes as it is told."""

    def receive(self, message: object) -> None:
        if isinstance(message, BaseException):
            raise message
        if isinstance(message, threading.Event):
            message.wait(30)
        self.reply((self.incarnation, message))


class Group(Supervisor):
    """Gives up a child alone, as the supervisor of jobs does."""

    def __init__(self, **common: Any) -> None:
        super().__init__(**common)
        self.given_up: list[str] = []
        self.crashes = 0

    def child_ended(self, name: str, error: str | None, *, restarted: bool) -> None:
        self.crashes += error is not None

    def gave_up(self, name: str, error: str) -> None:
        self.given_up.append(name)

    def receive_own(self, message: object) -> None:
        self.reply((self.crashes, list(self.given_up)))


class World:
    """A root, rest_for_one, over a group of three hundred, one_for_one."""

    def __init__(self, child: RestartBudget, group: RestartBudget, *, stall_s: float | None = None) -> None:
        self.directory = Directory()
        self.clock = SystemClock()
        self.names = [f"worker {number}" for number in range(CHILDREN)]

        def worker(name: str, parent: Handle, incarnation: int) -> Handle:
            return start(Worker, name, directory=self.directory, parent=parent, incarnation=incarnation)

        def group_(parent: Handle, incarnation: int) -> Handle:
            specs = [
                ChildSpec(id=name, start=partial(worker, name), budget=child, stall_s=stall_s) for name in self.names
            ]
            return start(
                Group,
                "group",
                directory=self.directory,
                parent=parent,
                incarnation=incarnation,
                clock=self.clock,
                specs=specs,
                budget=group,
                probe_every_s=0.2,
            )

        self.root = start(
            Supervisor,
            "root",
            directory=self.directory,
            clock=self.clock,
            strategy=Strategy.REST_FOR_ONE,
            specs=[ChildSpec(id="group", start=group_, budget=RestartBudget(2, 60.0))],
            budget=RestartBudget(2, 60.0),
        )
        until(lambda: self.directory.find(self.names[-1]), "all are started")

    def healthy(self) -> bool:
        return all(handle is not None and handle.alive for handle in map(self.directory.find, self.names))

    def all_live(self, life: int) -> bool:
        handles = map(self.directory.find, self.names)
        return all(handle is not None and handle.incarnation == life for handle in handles)

    def lives(self) -> list[int]:
        """The incarnation of each; 0 for one that is being restarted."""
        answers = [ask(self.directory.find(name), "echo", 10.0) for name in self.names]
        return [0 if isinstance(answer, Refused) else answer[0] for answer in answers]

    def close(self) -> None:
        self.root.tell(Stop("shutdown"))
        assert self.root.wait_down(30)
        self.clock.close()


class Load:
    """Threads that ask all workers all the time. Every question must be answered, by a worker or by a refusal."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._stop = threading.Event()
        self.asked = self.answered = 0
        order = [chance.choice(world.names) for _ in range(4096)]
        self._thread = threading.Thread(target=self._run, args=(world, order), daemon=True)

    def _run(self, world: World, order: list[str]) -> None:
        while not self._stop.is_set():
            for name in order:
                self.asked += 1
                self.answered += ask(world.directory.find(name), "load", 10.0) is not None
                if self._stop.is_set():
                    return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(240)
        assert self.asked == self.answered > 0


def test_three_hundred_heal_within_their_bounds(chance: random.Random) -> None:
    most = 5
    world = World(
        RestartBudget(most, 300.0, first_delay_s=0.01, longest_delay_s=0.05), RestartBudget(CRASHES + 1, 300.0)
    )
    with Load(world, chance):
        for life in range(2, CRASHES // CHILDREN + 2):
            for name in chance.sample(world.names, CHILDREN):
                assert world.directory.tell(name, ValueError("storm"))
            until(lambda life=life: world.all_live(life), f"all are in life {life}")
        until(lambda: 0 not in world.lives(), "all answer")
    crashes, given_up = ask(world.directory.find("group"), "how many", 10.0)
    assert (crashes, given_up, sum(world.lives())) == (CRASHES, [], CHILDREN + CRASHES), "one new life for each crash"
    assert world.directory.find("group").incarnation == 1, "the storm stayed below"
    world.close()


def test_beyond_its_own_bound_one_is_given_up_alone(chance: random.Random) -> None:
    world = World(RestartBudget(3, 300.0, first_delay_s=0.01), RestartBudget(1000, 300.0))
    doomed = chance.sample(world.names, 10)
    with Load(world, chance):
        for name in doomed:
            for _ in range(4):
                until(
                    lambda name=name: world.directory.tell(name, ValueError("again")), f"{name} is there", pause=0.001
                )
                until(lambda name=name: not (handle := world.directory.find(name)) or handle.waiting == 0, "it crashed")
        group = world.directory.find("group")
        until(lambda: sorted(ask(group, "who", 10.0)[1]) == sorted(doomed), "exactly those were given up")
    others = [name for name in world.names if name not in doomed]
    assert [ask(world.directory.find(name), "echo", 10.0)[0] for name in others] == [1] * len(others)
    assert all(world.directory.find(name) is None for name in doomed)
    world.close()


def test_beyond_the_groups_bound_all_are_stopped_and_the_root_decides(chance: random.Random) -> None:
    world = World(RestartBudget(50, 300.0, first_delay_s=0.01), RestartBudget(40, 300.0))
    for life in (1, 2, 3):
        until(lambda life=life: (group := world.directory.find("group")) and group.incarnation == life, f"life {life}")
        until(world.healthy, "all are started")
        if life == 3:
            break
        for name in chance.sample(world.names, 60):
            world.directory.tell(name, ValueError("storm"))
    for name in world.names[:60]:
        world.directory.tell(name, ValueError("storm"))
    assert world.root.wait_down(30), "the root's own bound is spent: it goes down instead of trying for ever"
    assert not any(handle and handle.alive for handle in map(world.directory.find, world.names))
    world.clock.close()


def test_stalled_ones_are_replaced_and_their_late_words_change_nothing(chance: random.Random) -> None:
    world = World(RestartBudget(5, 300.0, first_delay_s=0.01), RestartBudget(100, 300.0), stall_s=0.5)
    stuck = chance.sample(world.names, 20)
    wake = threading.Event()
    for name in stuck:
        world.directory.tell(name, wake)
    until(
        lambda: all(life == 2 for name, life in zip(world.names, world.lives(), strict=True) if name in stuck),
        "they were replaced",
    )
    wake.set()
    assert [life for name, life in zip(world.names, world.lives(), strict=True) if name not in stuck] == [1] * (
        CHILDREN - 20
    )
    world.close()


# --- the product's own tree


class Poison:
    """What no actor knows: handling it is a crash."""


@pytest.fixture
def tree(home: Supervised, monkeypatch: pytest.MonkeyPatch) -> Iterator[Assembly]:
    monkeypatch.setenv("HOME", str(home.scratch))
    state_home = StateHome(home.root)
    state_home.preflight()
    made = assemble(state_home, Settings.load({}, None), listener=None, attached=True)
    yield made
    made.stop("cancel", timeout_s=20)
    made.close()


def submit(tree: Assembly, home: Supervised, *actions: dict[str, object]) -> str:
    environ = environment(home.root, **home.environ)
    joined = b"\0".join(f"{name}={value}".encode() for name, value in environ.items())
    request = {
        "verb": "run",
        "lane": "fake",
        "task": steps(*actions),
        "cwd": str(home.work),
        "environment": b64encode(joined).decode(),
    }
    (reply,) = tree.dispatcher.exchange({"kind": "job.submit", "request": request})
    assert reply.kind == "accepted", reply
    return reply.job_id


def test_every_part_of_a_working_tree_crashes_and_no_job_is_lost(
    tree: Assembly, home: Supervised, chance: random.Random
) -> None:
    proofs = home.scratch / "started"
    proofs.mkdir()
    jobs: dict[str, int] = {}
    for number in range(16):
        words = json.dumps({"type": "text", "text": f"piece of {number}", "partial": True}) + "\n"
        jobs[
            submit(
                tree,
                home,
                {"record": str(proofs / str(number))},
                {"stream": words * 40, "size": 50, "every_s": chance.uniform(1.0, 4.0) / (len(words) * 40 / 50)},
                {"mark": "DONE"},
                {"end": f"answer {number}"},
            )
        ] = number
    victims = [
        "journal",
        "jobs",
        "journal",
        "jobs",
        *(f"job:{job_id}" for job_id in jobs),
        *(f"job:{job_id}" for job_id in jobs),
    ]
    chance.shuffle(victims)
    for name in victims:
        time.sleep(chance.uniform(0, 0.15))
        tree.services.directory.tell(name, Poison())
    for job_id, number in jobs.items():
        record = home.ended(job_id)
        assert (record["state"], record["exit_status"]["code"]) == ("done", 0), (record, number)
        assert home.result(job_id) == f"answer {number}"
        assert len((proofs / str(number)).read_text().splitlines()) == 1
    assert Counter(fact["job_id"] for fact in home.facts("job.ended")) == dict.fromkeys(jobs, 1)
    assert tree.root.alive
    home.nothing_left()


def test_a_job_that_can_not_be_looked_after_is_given_up_alone(tree: Assembly, home: Supervised) -> None:
    doomed = submit(tree, home, {"ignore": ["TERM"]}, {"sleep": 600})
    other = submit(tree, home, {"sleep": 3}, {"mark": "DONE"}, {"end": "the answer"})
    home.running(doomed)
    home.running(other)
    deadline = time.monotonic() + 120
    while not home.record(doomed).get("ended") and time.monotonic() < deadline:
        tree.services.directory.tell(f"job:{doomed}", Poison())
        time.sleep(0.02)
    record = home.ended(doomed)
    assert (record["state"], record["exit"]) == ("failed", 1)
    assert record["reason"].startswith("supervisor gave up")
    until(lambda: not [pid for pid in home.delegates() if pid == record["delegate"]["pid"]], "its delegate was ended")
    assert home.ended(other)["state"] == "done"


POISONED = """
import pathlib
import sys
import threading
import time
import outsourcerer.actors.daemon as daemon
signal, part, original = pathlib.Path(sys.argv[2]), sys.argv[3], daemon.assemble
def assemble(*given, **named):
    made = original(*given, **named)
    def poison():
        while True:
            if signal.exists():
                made.services.directory.tell(part, object())
            time.sleep(0.02)
    threading.Thread(target=poison, daemon=True).start()
    return made
daemon.assemble = assemble
sys.argv = ["outsourcerer.actors.daemon", "--home", sys.argv[1]]
daemon.main()
"""


def poisoned(home: Supervised, part: str) -> subprocess.Popen[bytes]:
    """Start a supervisor of which one part crashes again and again once there is a file ``poison``."""
    argv = [POISONED, str(home.root), str(home.scratch / "poison"), part, "outsourcerer.actors.daemon"]
    doomed = subprocess.Popen(
        [sys.executable, "-c", *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(home.root / "supervisor.log").open("ab"),
        env=home.environment(),
        start_new_session=True,
    )
    until(lambda: (home.supervisor() or {}).get("pid") == doomed.pid, "it listens")
    return doomed


def test_a_heartbeat_that_can_not_heal_is_given_up_alone(home: Supervised) -> None:
    supervisor = poisoned(home, "heartbeat")
    (home.scratch / "poison").touch()
    until(lambda: "gave up on the heartbeat" in home.log(), "it is given up")
    assert home.ended(home.bg({"mark": "DONE"}, {"end": "the answer"}))["state"] == "done"
    assert supervisor.poll() is None
    home.ok("supervisor", "stop")
    assert supervisor.wait(240) == 0


def test_a_tree_that_can_not_heal_gives_up_and_the_next_supervisor_goes_on(home: Supervised) -> None:
    """Its journal crashes again and again: it says so and leaves. Delegates go on."""
    poison, go = home.scratch / "poison", home.scratch / "go"
    doomed = poisoned(home, "journal")
    job_id = home.bg({"wait_for": str(go)}, {"mark": "DONE"}, {"end": "the answer"})
    delegate = home.running(job_id)["delegate"]["pid"]
    poison.touch()
    assert doomed.wait(240) == 1
    assert "its tree gave up" in home.log()
    assert delegate in home.delegates()
    waiter = home.start("wait", job_id)
    go.touch()
    _, err = waiter.communicate(timeout=240)
    assert waiter.returncode == 0, err
    assert home.record(job_id)["exit_status"]["code"] == 0


def test_a_question_to_a_dead_part_is_answered(tree: Assembly) -> None:
    handle = tree.services.directory.find("jobs")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(handle, Poison(), 10.0))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert len(answers) == 20
    assert all(answer.kind == "refused" for answer in answers)
