"""Alarms by histories: what happens when, and exactly which pushes follow, none lost and none doubled."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.alarm import AlarmAcknowledged, AlarmEnded, AlarmRaised, AlarmTold
from outsourcerer.state.alarm_machine import (
    Condition,
    End,
    Moment,
    Policy,
    alarm_id,
    applied,
    decide,
    next_due,
    worth_pushing,
)

POLICY = Policy()
BASE = 1_800_000_000.0
SORTS = {
    "q": {"state": "needs-answer"},
    "b": {"state": "blocked"},
    "p": {"state": "permission-blocked"},
    "m": {"state": "maybe-stuck", "soft": True},
    "u": {"state": "unknown", "soft": True},
    "d": {"state": "dead", "once": True, "passing": True},
    "l": {"state": "limit", "once": True, "kind": "limit"},
    "r": {"state": "drift", "once": True, "kind": "model-drift"},
}
"""Letter → a sort of condition. A digit behind it is another entity."""


class World:
    """One heartbeat over a store that survives it, with sinks that remember what they were given."""

    def __init__(self) -> None:
        self.now = 0.0
        self.book = {}
        self.held: dict[str, Condition] = {}
        self.passing: list[Condition] = []
        self.sinks = True
        self.awake_since = 0.0
        self.pushes: list[str] = []
        self.claims: set[str] = set()
        self.letters: dict[str, str] = {}
        self.dies = ""
        self.hangs: list[str] = []
        self.hanging = False

    def condition(self, letter: str, since: float) -> Condition:
        entity = f"job:{letter[1:] or '1'}"
        return Condition(entity=entity, since=BASE + since, summary=letter, **SORTS[letter[0]])

    @property
    def moment(self) -> Moment:
        return Moment(now=BASE + self.now, awake_since=BASE + self.awake_since, sinks=self.sinks)

    # --- what happens

    def do(self, what: str) -> None:
        verb, rest = what[0], what[1:]
        match verb:
            case "+" if rest[0] == "d":
                self.passing.append(self.condition(rest, self.now))
            case "+":
                self.held[rest] = self.condition(rest, self.now)
            case "-":
                self.held.pop(rest, None)
            case "!":  # acknowledged
                for record in list(self.book.values()):
                    if record.open and record.summary == rest:
                        self.journal(AlarmAcknowledged(alarm_id=record.alarm_id))
            case "k":  # killed at this point of the next decision; or now
                self.dies = rest
                if not rest:
                    self.restart()
            case "h":  # the notifier hangs, or comes back
                self.hanging = rest == "ang"
                if not self.hanging:
                    hung, self.hangs = self.hangs, []
                    for name in hung:
                        self.told(name)
            case "z":  # the machine slept until now: nobody looked
                self.awake_since = self.now
            case "s":  # there are sinks, or not
                self.sinks = rest == "inks"
            case "c":  # the clock was set
                self.now += float(rest)
            case ".":
                pass
            case _:
                raise AssertionError(what)

    def journal(self, fact) -> None:
        name = fact.record.alarm_id if isinstance(fact, AlarmRaised) else fact.alarm_id
        self.book[name] = applied(self.book.get(name), fact, BASE + self.now)

    def look(self) -> None:
        conditions = [*self.held.values(), *self.passing]
        decisions = decide(self.book, conditions, self.moment, POLICY)
        if decisions and self.dies == "decided":
            self.restart()
            return self.look()
        self.passing = []
        pushed = []
        for decision in decisions:
            if isinstance(decision, End):
                self.journal(AlarmEnded(alarm_id=decision.alarm_id, why=decision.why))
            else:
                before = self.book.get(decision.record.alarm_id)
                self.journal(AlarmRaised(record=decision.record, upto=0))
                if decision.record.pushes > (before.pushes if before else 0):
                    pushed.append(decision.record.alarm_id)
        if pushed and self.dies == "journalled":
            self.restart()
            return None
        for name in pushed:
            self.push(name)
        assert decide(self.book, list(self.held.values()), self.moment, POLICY) == (), "deciding again changes nothing"
        return None

    def push(self, name: str) -> None:
        record = self.book[name]
        if record.push_id not in self.claims:
            self.claims.add(record.push_id)
            self.pushes.append(f"{self.now:g} {record.summary}#{record.pushes}")
        if self.dies == "given":
            self.restart()
        elif self.hanging:
            self.hangs.append(name)
        else:
            self.told(name)

    def told(self, name: str) -> None:
        self.journal(AlarmTold(alarm_id=name, push=self.book[name].pushes))

    def restart(self) -> None:
        self.dies, self.hangs = "", []
        for record in list(self.book.values()):
            if not record.owed:
                continue
            if worth_pushing(record):
                self.push(record.alarm_id)
            else:
                self.told(record.alarm_id)

    def to(self, when: float) -> None:
        """Let time pass, looking whenever something is due."""
        for _ in range(200):
            due = next_due(self.book, self.held.values(), self.moment, POLICY)
            if due is None or due - BASE > when:
                break
            self.now = max(self.now, due - BASE)
            self.look()
        self.now = max(self.now, when)


def live(history: str) -> list[str]:
    """Live through a history: ``time what``, ``|`` between; return every push as ``time letter#number``."""
    world = World()
    for step in history.split("|"):
        when, what = step.split()
        if what[0] == "z":  # nobody looked in between
            world.now = float(when)
        else:
            world.to(float(when))
        world.do(what)
        world.look()
    return world.pushes


HISTORIES = {
    "nothing happens": ("0 . | 100000 .", ""),
    "a question that is answered at once is no alarm": ("0 +q | 0.4 -q | 9999 .", ""),
    "a question is told once it has held": ("0 +q | 200 .", "0.5 q#1"),
    "and again on the ladder while it stands": (
        "0 +q | 90000 .",
        "0.5 q#1, 300.5 q#2, 1200.5 q#3, 4800.5 q#4, 19200.5 q#5, 62400.5 q#6",
    ),
    "the ladder has an end": (
        "0 +q | 62401 . | 999999 .",
        "0.5 q#1, 300.5 q#2, 1200.5 q#3, 4800.5 q#4, 19200.5 q#5, 62400.5 q#6",
    ),
    "one that is answered is told no more": ("0 +q | 10 -q | 99999 .", "0.5 q#1"),
    "the next question is another alarm": ("0 +q | 10 -q | 12 +q | 20 -q | 999 .", "0.5 q#1, 12.5 q#1"),
    "a question that gives way to the next without a pause": ("0 +q | 10 +q | 200 .", "0.5 q#1, 10.5 q#1"),
    "acknowledged, it is told no more": ("0 +q | 10 !q | 99999 .", "0.5 q#1"),
    "acknowledged late, between two rungs": ("0 +q | 900 !q | 99999 .", "0.5 q#1, 300.5 q#2"),
    "acknowledged after it was over changes nothing": ("0 +q | 10 -q | 20 !q | 30 +q | 99 .", "0.5 q#1, 30.5 q#1"),
    "acknowledging one question says nothing of the next": ("0 +q | 5 !q | 9 -q | 10 +q | 99 .", "0.5 q#1, 10.5 q#1"),
    "two entities are two alarms": ("0 +q | 1 +q2 | 100 .", "0.5 q#1, 1.5 q2#1"),
    "two states of one entity are two alarms": ("0 +q | 1 +r | 100 .", "0.5 q#1, 1.5 r#1"),
    "blocked is told again until somebody knows": ("0 +b | 1000 !b | 99999 .", "0.5 b#1, 300.5 b#2"),
    "denied a permission is like blocked": ("0 +p | 1000 -p | 99999 .", "0.5 p#1, 300.5 p#2"),
    "dead is told once": ("0 +d | 999999 .", "0 d#1"),
    "three deaths together are three pushes": ("0 +d | 0 +d2 | 0 +d3 | 99 .", "0 d#1, 0 d2#1, 0 d3#1"),
    "a limit is told once, however long it holds": ("0 +l | 86400 .", "0.5 l#1"),
    "a limit that comes back is told anew": ("0 +l | 3600 -l | 7200 +l | 9999 .", "0.5 l#1, 7200.5 l#1"),
    "drift is told once": ("0 +r | 99999 .", "0.5 r#1"),
    "drift that was mended and comes back is told anew": ("0 +r | 60 -r | 90 +r | 999 .", "0.5 r#1, 90.5 r#1"),
    "silence that ends soon is no alarm": ("0 +m | 19 -m | 9999 .", ""),
    "silence that lasts is told": ("0 +m | 100 .", "20 m#1"),
    "silence is told again on the ladder": ("0 +m | 2000 .", "20 m#1, 320 m#2, 1220 m#3"),
    "flapping silence is one alarm": (
        "0 +m | 30 -m | 40 +m | 70 -m | 80 +m | 110 -m | 120 +m | 150 -m | 9999 .",
        "20 m#1",
    ),
    "flapping past a rung is told at the rung, once": (
        "0 +m | 30 -m | 40 +m | 280 -m | 290 +m | 340 -m | 350 +m | 700 .",
        "20 m#1, 320 m#2",
    ),
    "silence that comes back long after is told anew": ("0 +m | 30 -m | 600 +m | 700 .", "20 m#1, 620 m#1"),
    "flapping that was acknowledged stays so": ("0 +m | 30 !m | 40 -m | 60 +m | 99999 .", "20 m#1"),
    "an unknown screen that flickers is one alarm": ("0 +u | 25 -u | 26 +u | 50 -u | 51 +u | 200 .", "20 u#1"),
    "killed before the journal has it": ("0 +q | 0.1 kdecided | 200 .", "0.5 q#1"),
    "killed between journal and notifier": ("0 +q | 0.1 kjournalled | 200 .", "0.5 q#1"),
    "killed after the notifier, before that was journalled": ("0 +q | 0.1 kgiven | 200 .", "0.5 q#1"),
    "killed between journal and notifier by a death": ("0 kjournalled | 1 +d | 200 .", "1 d#1"),
    "killed after a death was told": ("0 kgiven | 1 +d | 2 k | 200 .", "1 d#1"),
    "killed at a rung": ("0 +q | 299 kjournalled | 400 .", "0.5 q#1, 300.5 q#2"),
    "killed again and again": ("0 +q | 1 k | 2 k | 3 k | 310 k | 400 .", "0.5 q#1, 300.5 q#2"),
    "a notifier that hangs keeps the next push of it waiting": (
        "0 hang | 0 +q | 700 . | 800 hback | 801 .",
        "0.5 q#1, 800 q#2",
    ),
    "a notifier that hangs loses no other alarm": ("0 hang | 0 +q | 5 +b2 | 20 hback | 99 .", "0.5 q#1, 5.5 b2#1"),
    "hanging, then killed": ("0 hang | 0 +q | 10 k | 20 hback | 99 .", "0.5 q#1"),
    "asleep for 9 h: one rung that is overdue, not five": ("0 +q | 1 . | 32400 z | 32500 .", "0.5 q#1, 32400 q#2"),
    "asleep for 9 h while silent: it must hold anew": ("0 +m | 32400 z | 32410 -m | 32500 .", ""),
    "asleep for 9 h and silent after": ("0 +m | 32400 z | 32500 .", "32420 m#1"),
    "asleep while it was answered": ("0 +q | 100 -q | 32400 z | 32500 .", "0.5 q#1"),
    "a clock set back by a day tells once more, not a day late": (
        "0 +q | 1000 c-86400 | -85300 .",
        "0.5 q#1, 300.5 q#2, -85400 q#3",
    ),
    "a clock set forward by a day tells one rung": ("0 +q | 10 c86400 | 86420 .", "0.5 q#1, 86410 q#2"),
    "without a sink nothing is pushed, and it is when there is one": ("0 sno | 0 +q | 900 sinks | 999 .", "900 q#1"),
    "what died without a sink is not told later": ("0 sno | 0 +d | 900 sinks | 999 .", ""),
    "what was over before there was a sink is not told": ("0 sno | 0 +q | 50 -q | 900 sinks | 999 .", ""),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_yields_exactly_these_pushes(name):
    history, expected = HISTORIES[name]
    assert live(history) == [push for push in expected.split(", ") if push]


def test_there_are_forty_and_more():
    assert len(HISTORIES) >= 40


def test_an_alarm_has_the_same_id_in_every_supervisor():
    one = Condition(entity="job:a", state="blocked", since=5.0, summary="x")
    assert alarm_id(one) == alarm_id(replace(one, summary="y", label="z"))
    assert alarm_id(one) != alarm_id(replace(one, since=5.001))
    odd = replace(one, entity="lane:pool:ünï/../" + "x" * 500)
    assert len(alarm_id(odd)) <= 150
    assert set(alarm_id(odd)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert alarm_id(odd) != alarm_id(replace(odd, entity=odd.entity + "y"))


STEPS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.3, 1.0, 21.0, 310.0, 4000.0]),
        st.sampled_from(
            [
                "+q",
                "-q",
                "+m",
                "-m",
                "+b2",
                "-b2",
                "+d3",
                "!q",
                "!m",
                "k",
                "kdecided",
                "kjournalled",
                "kgiven",
                "hang",
                "hback",
                ".",
            ]
        ),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_whatever_happens_no_push_is_doubled_lost_or_out_of_order(steps):
    world = World()
    for pause, what in steps:
        world.to(world.now + pause)
        world.do(what)
        world.look()
    world.do("hback")
    for record in world.book.values():
        assert record.told <= record.pushes <= 1 + len(POLICY.ladder_s)
        given_here = [push for push in world.claims if push.rpartition(".")[0] == record.alarm_id]
        assert len(given_here) <= record.pushes
        if record.state == "dead":
            assert len(given_here) == 1
    assert len(world.pushes) == len(world.claims)
    for letter, condition in world.held.items():  # what has stood for long enough was told
        world.to(world.now + 60)
        world.look()
        assert any(one.open and one.summary == letter for one in world.book.values()), condition
