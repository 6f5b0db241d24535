"""Who asks for what in a storm: jobs, crews, loops, and the end of them.

A storm of the full kind (``FULL``) has loops and checks too; the others keep the histories that they have always had.
"""

from __future__ import annotations

import random
from typing import Any

from fakes.chaos_check import Asked
from fakes.lanes import steps
from fakes.sim_checks import command
from fakes.sim_world import World
from outsourcerer.messages.refusals import Refused
from outsourcerer.state.ids import new_job_id

FULL = (1, 2)
"""What a seed leaves, divided by four, where its storm has loops and checks."""
NOTHING_DONE = ("stopping", "state_full", "state_unwritable", "too_many_launches")
SHAPES = ("verify", "verify", "verify", "escalate", "sweep", "optimize", "council", "opinion")


def is_full(seed: int) -> bool:
    """Whether a seed's storm has all kinds of work."""
    return seed % 4 in FULL


class Asks:
    """The storm's half that wants something. The attributes are the storm's."""

    world: World
    machine: Any
    outcome: Any
    asked: list[Asked]
    loops: list[Asked]
    groups: list[str]
    canceled: set[str]
    step: int
    full: bool

    def ask(self, number: int, chance: random.Random) -> None:
        """A job or a crew; who is left without an answer asks again, under the same id, and must get the same one."""
        if self.full and chance.random() < 0.5:
            self.ask_for_a_loop(number, chance)
            return
        if chance.random() < 0.2:
            self.ask_for_many(number, chance)
            return
        actions, done = script(chance)
        label = f"n{number}"
        more: dict[str, Any] = {}
        taken = [asked.job_id for asked in self.asked if asked.job_id]
        if taken and chance.random() < 0.15:
            more["after"] = [chance.choice(taken)]
        done &= self.maybe_checked(f"n{number}", more, chance, len(actions))
        named = chance.random() < 0.5
        if named:
            more["job_id"] = new_job_id(self.machine.wall, chance.randbytes(6))
        reply = self.world.submit(*actions, label=label, **more)
        if named and (reply is None or answer_of(reply) == "unsure"):
            reply = self.world.submit(*actions, label=label, **more)
        self.asked.append(Asked(label, answer_of(reply), getattr(reply, "job_id", None), done))
        self._refused(label, reply)

    def ask_for_many(self, number: int, chance: random.Random) -> None:
        members = [
            {"label": f"g{number}-{place}", "task": steps(*script(chance)[0])}
            for place in range(chance.randrange(2, 5))
        ]
        common = self.world.asking()
        del common["task"]
        self.maybe_checked(f"g{number}", common, chance, 0)
        request = {
            "group_id": f"fanout-{new_job_id(self.machine.wall, chance.randbytes(6))}",
            "common": common,
            "members": members,
            "most": chance.choice((None, 1, 2)),
        }
        body = {"kind": "fanout.submit", "request": request}
        reply = self.world.request(body)
        if reply is None:
            reply = self.world.request(body)
        self.groups.append(str(request["group_id"]))
        self.asked += [Asked(str(member["label"]), answer_of(reply)) for member in members]
        self._refused(f"g{number}", reply)

    def maybe_checked(self, label: str, request: dict[str, Any], chance: random.Random, salt: int) -> bool:
        """Give a request a check of its own, now and then; return whether it has none."""
        if not self.full or chance.random() < 0.5:
            return True
        path = self.world.work / label
        if (chance.random() + salt) % 1 < 0.6:
            path.write_text("there\n")
        request["check"] = command(path, 1, chance.choice((0.2, 3, 40)))
        request["check_timeout_s"] = chance.choice((20.0, 300.0))
        return False

    def ask_for_a_loop(self, number: int, chance: random.Random) -> None:
        label, shape = f"l{number}", chance.choice(SHAPES)
        path = self.world.work / label
        terms: dict[str, Any] = {"shape": shape, "stall": chance.choice((0, 0, 2))}
        common: dict[str, Any] = {"verb": "edit", "label": label, "task": steps(lap(path, chance))}
        if shape in ("verify", "escalate", "council") or chance.random() < 0.3:
            terms["check"] = command(path, chance.randrange(1, 4), chance.choice((0.2, 3, 40)))
            terms["check_timeout_s"] = chance.choice((20.0, 300.0))
        if shape == "escalate":
            terms |= {"models": ["m1", "m2", "m3"], "per_rung": chance.choice((1, 2))}
        elif shape == "optimize":
            terms |= {"rubric": "be brief", "judge": "fake:j", "bar": chance.choice((50, 95)), "patience": 2}
            common["model"] = "w"
        elif shape == "council":
            terms |= {"models": ["fake:x", "fake:y"], "rounds": chance.choice((1, 2)), "judge": "fake:j"}
            common["model"] = "b"
        elif shape == "opinion":
            terms["seats"] = [{"label": name, "model": f"fake:{name}"} for name in ("x", "y", "z")]
            terms |= {"spares": chance.choice((0, 1)), "judge": chance.choice((None, "fake:j"))}
            terms["judging"] = chance.choice(("differ", "always", "never"))
            common["verb"] = "run"
            terms.pop("check", None)
        limits: dict[str, Any] = {"laps": chance.randrange(1, 5)}
        if chance.random() < 0.2:
            limits["seconds"] = chance.choice((30.0, 600.0))
        loop_id = f"loop-{new_job_id(self.machine.wall, chance.randbytes(6))}"
        reply = self.world.loop(loop_id, terms, limits, **common)
        answer = answer_of(reply)
        if answer == "unsure":
            reply = self.world.loop(loop_id, terms, limits, **common)
            answer = "accepted" if answer_of(reply) == "accepted" else "unsure"  # the first may have been heard
        self.loops.append(Asked(label, answer, loop_id))
        self._refused(label, reply)

    def change_a_loop(self, roll: float) -> bool:
        """Cancel one, or let one go on that has ended."""
        if not self.loops:
            return False
        loop_id = str(pick(self.loops, roll).job_id)
        if roll * 7 % 1 < 0.5:
            self.canceled.add(loop_id)
            self.world.request({"kind": "loop.cancel", "loop_id": loop_id})
        else:
            self.world.request({"kind": "loop.resume", "loop_id": loop_id, "laps": 5, "seconds": 100_000.0})
        return True

    def cancel_a_group(self, roll: float) -> bool:
        if not self.groups:
            return False
        group_id = pick(self.groups, roll)
        self.canceled.add(group_id)
        self.world.request({"kind": "fanout.cancel", "group_id": group_id, "at_once": roll < 0.3})
        return True

    def _refused(self, label: str, reply: Any) -> None:
        if isinstance(reply, Refused):
            self.outcome.log.append(f"{self.step}: {label} {reply.code.value}: {reply.message}")

    def cancel(self, roll: float) -> bool:
        taken = [asked.job_id for asked in self.asked if asked.job_id]
        if not taken:
            return False
        job_id = pick(taken, roll)
        self.canceled.add(job_id)
        self.world.cancel(job_id, at_once=roll < 0.3)
        return True


def answer_of(reply: Any) -> str:
    """``unsure`` for one that never came, and for a refusal that may have come too late."""
    if reply is None:
        return "unsure"
    if not isinstance(reply, Refused):
        return "accepted"
    return "refused" if reply.code.value in NOTHING_DONE else "unsure"


def script(chance: random.Random) -> tuple[list[dict[str, object]], bool]:
    """What a delegate does, and whether it is done if nobody disturbs it."""
    actions: list[dict[str, object]] = [{"say": f"piece {number}"} for number in range(chance.randrange(3))]
    if chance.random() < 0.15:
        actions.insert(0, {"ignore": ["TERM"]})
    if chance.random() < 0.25:
        actions.append({"grandchild": chance.choice((1, 30, 900)), "setsid": chance.random() < 0.4})
    if chance.random() < 0.5:
        actions.append({"sleep": chance.choice((0.2, 5, 40, 400))})
    kind = chance.random()
    if kind < 0.55:
        actions += [{"mark": "DONE"}, {"end": "the answer"}]
        if chance.random() < 0.3:
            actions.append({"sleep": chance.choice((1, 60))})
        if chance.random() < 0.2:
            actions.append({"exit": 7})
        return actions, True
    if kind < 0.7:
        actions.append({"end": "an answer, unsigned"})
    elif kind < 0.8:
        actions += [{"mark": "BLOCKED", "text": "no key"}, {"end": "blocked"}]
    elif kind < 0.9:
        actions.append({"exit": 3})
    else:
        actions.append({"kill": 11})
    return actions, False


def lap(path: Any, chance: random.Random) -> dict[str, object]:
    """What each delegate of a loop does: one of these, as it comes."""
    score = chance.choice((40, 60, 97))
    answer = f"the answer\nFINDING: {chance.randrange(9)}\nSCORE: {score}\nVERDICT: AS PLANNED"
    nap = {"sleep": chance.choice((0.2, 5, 40))}
    well = [nap, {"work": str(path)}, {"mark": "DONE"}, {"end": answer}]
    ways = [
        well,
        well,
        [{"work": str(path)}, nap, {"mark": "DONE"}, {"end": "NO FINDINGS\nSCORE: 70"}],
        [{"work": str(path)}, {"end": answer}],
        [nap, {"mark": "DONE"}, {"end": answer}],
        [{"say": "one"}, {"exit": 3}],
    ]
    if chance.random() < 0.2:
        ways.append([{"mark": "BLOCKED", "text": "no key"}, {"end": "blocked"}])
    return {"draw": ways}


def pick(things: Any, roll: float) -> Any:
    """Return the one that a roll means."""
    return things[min(int(roll * len(things)), len(things) - 1)]
