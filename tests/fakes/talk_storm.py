"""One seed's storm of sessions on the simulated machine: they are started, sent to, steered and stopped while all fails.

    outcome = talk_storm(seed, folder)

Planned, played and settled as in ``chaos_storm.py``; some jobs run beside them. What a delegate read, it kept itself
(``TalkWorld.heard``); what became of what it was given is in the session's events.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fakes.chaos_asks import answer_of, pick
from fakes.chaos_check import Asked, Sent, check
from fakes.chaos_check_sessions import Talk, check_talks
from fakes.chaos_faults import Event
from fakes.chaos_storm import Outcome, Storm, live, seen
from fakes.sim_machine import CONT, KILL, STOP, TERM
from fakes.sim_sessions import TalkWorld
from outsourcerer.actors.holder_log import EVENTS, OVER
from outsourcerer.actors.session_holding import BEGIN_S
from outsourcerer.actors.session_reading import Tail
from outsourcerer.messages.refusals import Refused
from outsourcerer.state.ids import new_job_id
from outsourcerer.state.store import Reader

STEPS = 900
SETTLE_S = 3600.0
LOOKS_S = 20.0
"""Until somebody was surely looked at."""
CALM_S = 120.0
KINDS: dict[str, float] = {
    "supervisor killed": 6,
    "supervisor killed in a call": 10,
    "supervisor stopped in order": 3,
    "actor crashed": 8,
    "session crashed": 4,
    "actor slowed": 4,
    "clock jumped": 4,
    "machine stood still": 2,
    "hints lost": 3,
    "disk full": 3,
    "one write failed": 6,
    "no files": 2,
    "holder killed": 3,
    "holder killed in a call": 5,
    "holder stopped": 3,
    "holder terminated": 1,
    "delegate killed": 3,
    "delegate terminated": 1,
    "delegate stopped": 3,
    "strangers came": 3,
    "strangers left": 2,
}
ACTS = (
    "start",
    "send",
    "send",
    "send",
    "send",
    "again",
    "cut in",
    "answer",
    "answer",
    "interrupt",
    "set",
    "stop",
    "anew",
)


@dataclass(slots=True)
class Words:
    """One thing that was sent."""

    session_id: str
    send_id: str
    text: str
    answer: str
    number: int | None = None


class TalkStorm(Storm):
    """See the module."""

    world: TalkWorld

    def __init__(self, world: TalkWorld, outcome: Outcome) -> None:
        super().__init__(world, outcome)
        self.talks: list[Asked] = []
        self.words: list[Words] = []
        self.over: set[str] = set()
        """Sessions that were said to have ended: most callers turn to others."""
        self.alone: list[str] = []
        """Sessions that were said to live in a calm hour, and nobody held them."""

    # --- what fails

    def do_holder_killed(self, roll: float) -> object:
        return self._signalled("holder", KILL, roll)

    def do_holder_killed_in_a_call(self, roll: float) -> object:
        there = [proc for proc in self.machine.table.values() if proc.kind == "holder" and proc.there]
        if not there:
            return False
        pick(there, roll * 7 % 1).last_call = 1 + int(roll * 12)
        return f"the {1 + int(roll * 12)}th from now"

    def do_session_crashed(self, roll: float) -> object:
        """Once; or so often that it is given up."""
        if self.world.assembly is None:
            return False
        directory = self.world.assembly.services.directory
        names = [name for name in directory.waiting() if name.startswith("session:")]
        if not names:
            return False
        name = pick(names, roll)
        for place in range(1 if roll * 10 % 1 < 0.6 else 5):
            self._later(place * 12, lambda: self._strike(name))
        return name

    def _strike(self, name: str) -> None:
        if self.world.assembly is not None:
            self.world.assembly.services.directory.tell(name, object())

    def do_holder_stopped(self, roll: float) -> object:
        return self._signalled("holder", STOP, roll)

    def do_holder_terminated(self, roll: float) -> object:
        return self._signalled("holder", TERM, roll)

    # --- what is asked for

    def act(self, number: int, chance: random.Random) -> None:
        """What one caller does."""
        act = chance.choice(ACTS) if self.talks else "start"
        if act == "start":
            self.start(number, chance)
            return
        if act == "anew":
            self.start_anew(chance)
            return
        talk = chance.choice([talk for talk in self.talks if talk.job_id not in self.over] or self.talks)
        if act == "stop":
            self._ask({"kind": "session.stop", "session": talk.job_id}, chance)
        elif act in ("send", "cut in"):
            words = Words(str(talk.job_id), f"c:{number}", f"text {number}", "")
            self.words.append(words)
            self.send(words, chance, interrupt=act == "cut in")
        elif act == "again":
            mine = [words for words in self.words if words.session_id == talk.job_id]
            if mine:
                self.send(chance.choice(mine), chance)
        else:
            actions: dict[str, dict[str, Any]] = {
                "answer": {"op": "answer", "choice": "yes"},
                "interrupt": {"op": "interrupt"},
                "set": {"op": "effort", "effort": "high"},
            }
            body = {"kind": "session.steer", "session": talk.job_id, "send_id": f"s:{number}", "action": actions[act]}
            self._ask({**body, "environment": self.world.asking()["environment"]}, chance)

    def start(self, number: int, chance: random.Random) -> None:
        session_id = new_job_id(self.machine.wall, chance.randbytes(6))
        asked = self.world.asking()
        if chance.random() < 0.25:
            self.world.settings["OSRC_SESSION_IDLE"] = "300"
            asked = self.world.asking()
            del self.world.settings["OSRC_SESSION_IDLE"]
        request = {"session_id": session_id, "lane": "fake", "cwd": asked["cwd"], "environment": asked["environment"]}
        if chance.random() < 0.5:
            request["task"] = f"text {number}"
        reply = self._ask({"kind": "session.start", "request": request}, chance, tries=3)
        answer = answer_of(reply)
        self.talks.append(Asked(f"t{number}", answer, session_id))
        if "task" in request:
            given = "given" if answer == "accepted" else answer
            self.words.append(Words(session_id, f"{session_id}:task", request["task"], given, 1))

    def start_anew(self, chance: random.Random) -> None:
        """One that has ended, if any was said to have; it goes on with what it is given from then on."""
        session_id = chance.choice(sorted(self.over) or [str(talk.job_id) for talk in self.talks])
        body = {"kind": "session.relaunch", "session": session_id, "environment": self.world.asking()["environment"]}
        if getattr(self._ask(body, chance), "kind", "") == "session_accepted":
            self.over.discard(session_id)

    def send(self, words: Words, chance: random.Random, *, interrupt: bool = False) -> None:
        body = {"kind": "session.send", "session": words.session_id, "send_id": words.send_id, "text": words.text}
        body |= {"interrupt": interrupt, "environment": self.world.asking()["environment"]}
        reply = self._ask(body, chance)
        if getattr(reply, "kind", "") == "session_given":
            if words.number not in (None, reply.number):
                self.outcome.log.append(f"{words.send_id} was {words.number}, and is {reply.number}")
                words.answer = "doubled"
                return
            words.answer, words.number = "given", reply.number
        elif words.answer != "given":
            told = answer_of(reply)
            if isinstance(reply, Refused) and reply.code.value in ("session_ended", "no_such_session"):
                told = "refused"
            words.answer = told if words.answer in ("", "refused") else "unsure"

    def _ask(self, body: dict[str, Any], chance: random.Random, tries: int = 1) -> Any:
        """Ask; who heard nothing asks again, at least now and then."""
        reply = None
        for _ in range(tries + (chance.random() < 0.5)):
            reply = self.world.request(body)
            if reply is not None:
                break
        what = getattr(reply, "code", None)
        if what is not None and what.value in ("session_ended", "no_such_session"):
            self.over.add(body["session"])
        self.outcome.log.append(f"{self.step}: {body['kind']} {what.value if what else getattr(reply, 'kind', reply)}")
        return reply


def planned(seed: int) -> tuple[list[Event], list[tuple[int, int]]]:
    """Draw the faults, and when callers come (step, number)."""
    chance = random.Random(f"talk plan {seed}")
    names = chance.choices(list(KINDS), weights=list(KINDS.values()), k=chance.randrange(20, 60))
    faults = sorted((Event(chance.randrange(STEPS), name, chance.random()) for name in names), key=lambda e: e.at)
    callers = sorted((int(STEPS * 0.9 * chance.random()), number) for number in range(chance.randrange(12, 40)))
    return faults, callers


def talk_storm(seed: int, folder: Path, only: Collection[int] | None = None) -> Outcome:
    """Play one seed's storm in an empty folder; ``only`` these faults of its plan (places from 0)."""
    outcome = Outcome(seed)
    faults, callers = planned(seed)
    chosen = [fault for place, fault in enumerate(faults) if only is None or place in only]
    with TalkWorld(seed, folder, max_jobs=3) as world:
        made, asking = TalkStorm(world, outcome), random.Random(f"talk ask {seed}")
        for step in range(STEPS):
            made.step = step
            made.undone()
            while callers and callers[0][0] <= step:
                number = callers.pop(0)[1]
                if asking.random() < 0.1:
                    made.ask(number, asking)
                else:
                    made.act(number, asking)
            while chosen and chosen[0].at <= step:
                made.fault(chosen.pop(0))
            if world.assembly is None and asking.random() < 0.2:
                world.start()
            world.one()
        settle(world, made)
        known = seen(world, made)
        outcome.violations = check(replace(known, sends=sends(world, made)))
        outcome.violations += check_talks(known, talks(world, made))
        outcome.steps, outcome.jobs = world.steps, len(made.asked) + len(made.talks)
        outcome.crashes = list(world.crashes)
        outcome.log += world.machine.happened
    return outcome


def living(world: TalkWorld) -> list[dict[str, Any]]:
    """Return the records of the sessions that live."""
    try:
        with Reader(world.home.database) as reader:
            return list(reader.live_sessions())
    except Exception:
        return [{"session_id": "the database can't be read"}]


def settle(world: TalkWorld, made: TalkStorm) -> None:
    """All is well again: who says he lives must; then each is stopped, and must end."""
    machine = world.machine
    machine.full = machine.no_files = world.lose_hints = False
    machine.last_call = machine.failing_call = None
    for _, what in made.undo:
        what()
    made.undo.clear()
    for proc in list(machine.table.values()):
        proc.last_call = None
        if proc.state == "T":
            machine.signal(proc, CONT)
    world.run_until(lambda: False, CALM_S)
    world.run_until(lambda: world.assembly is not None, CALM_S)

    def alone() -> list[str]:
        holders = {proc.job_id for proc in machine.table.values() if proc.kind == "holder" and proc.there}
        return [str(row["session_id"]) for row in living(world) if row["session_id"] not in holders]

    world.run_until(lambda: not alone(), BEGIN_S + LOOKS_S)  # so long one whose claim names nobody is waited for
    made.alone = alone()
    for talk in made.talks:
        for _ in range(5):
            if world.request({"kind": "session.stop", "session": talk.job_id}) is not None:
                break
    looked: list[int] = []

    def over() -> bool:
        if world.assembly is None or looked == [len(world.committed)]:
            return False
        looked[:] = [len(world.committed)]
        return not living(world) and not live(world)

    world.run_until(over, SETTLE_S)
    world.run_until(lambda: not machine.of_ours(), SETTLE_S)
    world.run_until(lambda: False, 5.0)
    world.kill()


def sends(world: TalkWorld, made: TalkStorm) -> list[Sent]:
    return [
        Sent(words.session_id, words.number or 0, words.answer, world.heard[words.session_id, words.text], False)
        for words in made.words
    ]


def talks(world: TalkWorld, made: TalkStorm) -> list[Talk]:
    """What is known of each session that was asked for."""
    with Reader(world.home.database) as reader:
        records = {str(row["session_id"]): row for row in reader.sessions(0)[0]}
    found = []
    for asked in made.talks:
        session_id = str(asked.job_id)
        told: dict[int, list[str]] = {}
        tail, more = Tail(world.home.session_dir(session_id) / EVENTS), True
        while more:
            events, more = tail.more()
            for event in events:
                if event.get("type") == "delivery" and event.get("state") in OVER:
                    with contextlib.suppress(KeyError, TypeError):
                        told.setdefault(event["number"], []).append(str(event["state"]))
        mine = [words for words in made.words if words.session_id == session_id]
        read = {words.number: world.heard[session_id, words.text] for words in mine if words.number}
        given = {words.number for words in mine if words.answer == "given" and words.number}
        doubled = [words.send_id for words in mine if words.answer == "doubled"]
        state = records.get(session_id, {}).get("state")
        alone = session_id in made.alone
        found.append(Talk(session_id, asked.answer, state, told, read, given, doubled, alone))
    return found
