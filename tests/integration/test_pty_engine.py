"""The terminal engine against the fake interface in a real pseudo-terminal."""

import contextlib
import json
import os
import random
import signal
import socket
import sys
from pathlib import Path

import pytest
from fakes import fake_wexpect
from fakes.terminal_stage import ENDS, TerminalStage
from outsourcerer.actors.holder_loop import SelectLoop
from outsourcerer.actors.transports import pty
from outsourcerer.actors.transports.engine import EngineError
from outsourcerer.actors.transports.pty_windows import WindowsProcess


@pytest.fixture
def stage(tmp_path):
    made = []

    def make(script=None, **options):
        made.append(TerminalStage(tmp_path / f"t{len(made)}", script, **options))
        return made[-1]

    yield make
    for one in made:
        one.end()


def ends(tui):
    return [event for event in tui.events if event["type"] == "end"]


# --- a thousand sends

WORLDS = {
    "plain": {},
    "batched, with Enters lost": {"batch": True, "swallow": 13},
    "asking, hostile, wide": {"first": ["trust", "key"], "ask_every": 5, "hostile": True, "wide": True},
    "slow, with a record": {"redraw_s": 0.02, "record": True},
    "limits": {"first": ["resume"], "limit_every": 9},
    "other screen, kitty keyboard": {"alternate": True, "kitty": True},
    "sign-in, batched": {"first": ["login"], "batch": True, "ask_every": 11},
    "recorded, turns of no length": {"record": True, "turn_s": 0.0},
}
EACH = 125
RIGHT = {
    "trust": "Yes, I trust this folder",
    "key": "Yes",
    "login": "1",
    "resume": "Start anew",
    "limit": "1",
    "ask": "yes",
}


def texts(seed):
    rng = random.Random(seed)
    kinds = [
        lambda n: "the same text",
        lambda n: "x",
        lambda n: "\n".join(f"line {row} of {n}" for row in range(rng.randrange(2, 14))),
        lambda n: "Do you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel · Tab to amend",
        lambda n: f"👩‍👩‍👧 漢字 🇩🇪 e\u0301 {n}",
        lambda n: "y" * rng.choice([100, 799, 801, 4095, 4097, 9000]),
        lambda n: "─" * 200 + "\n❯ \n" + "─" * 200,
        lambda n: f"/not a command {n}",
    ]
    made = [kinds[n % len(kinds)](n) for n in range(EACH - 1)]
    rng.shuffle(made)
    return [*made, "z" * 65536]


class Captain:
    """Gives one engine its texts as a holder would: each when it is idle; answers what it asks."""

    def __init__(self, stage, wanted):
        self.stage, self.wanted, self.given, self.open, self.answers = stage, wanted, 0, False, 0
        stage.on_event = self.on_event

    def on_event(self, event):
        if event["type"] == "delivery" and event["state"] in ENDS and event["number"] <= EACH:
            self.open = False
        if event["type"] == "ask":
            self.answers += 1
            number, request = 1000 + self.answers, event["request"]
            dialog = next(kind for word, kind in TITLES if word in event["title"])
            self.stage.loop.later(0, lambda: self.stage.engine.answer(number, RIGHT[dialog], request))
        self.stage.loop.later(0, self.give)

    def give(self):
        if self.stage.state == "idle" and not self.open and self.given < len(self.wanted):
            self.given += 1
            self.open = True
            self.stage.engine.send(self.given, self.wanted[self.given - 1])

    @property
    def done(self):
        return self.given == len(self.wanted) and not self.open and self.stage.state == "idle"


TITLES = [
    ("Quick safety", "trust"),
    ("API key", "key"),
    ("login", "login"),
    ("Resume", "resume"),
    ("What do you want", "limit"),
    ("proceed", "ask"),
]


@pytest.mark.timeout(600)
def test_a_thousand_sends_none_lost_none_doubled_none_misplaced(tmp_path):
    loop = SelectLoop()
    captains = []
    for place, script in enumerate(WORLDS.values()):
        again_s = 0.5 if "swallow" in script else 20.0
        stage = TerminalStage(tmp_path / str(place), {"turn_s": 0.004, **script}, loop=loop, again_s=again_s)
        captains.append(Captain(stage, texts(place)))
    try:
        for captain in captains:
            captain.stage.engine.start()
        captains[0].stage.run_until(lambda: all(captain.done for captain in captains), 500)
        for captain, name in zip(captains, WORLDS, strict=True):
            stage = captain.stage
            assert stage.log("submitted") == captain.wanted, name
            assert stage.log("typed_into_dialog") == [], name
            told = [stage.deliveries(number)[-1] for number in range(1, EACH + 1)]
            assert set(told) == {"turn-started"}, (name, told)
    finally:
        for captain in captains:
            captain.stage.end()


# --- first screens and dialogs


def test_nothing_is_pressed_in_a_trust_dialog_until_it_is_answered(stage):
    tui = stage({"first": ["trust", "key"]}, room_s=0.2).start("trust")
    tui.engine.send(1, "hello")
    assert tui.settled(1) == "refused"
    assert "trust" in tui.reason(1)
    assert [entry["label"] for entry in tui.asked()[0]["options"]] == ["No, exit", "Yes, I trust this folder"]
    tui.engine.answer(2, "Yes, I trust this folder", tui.asked()[0]["request"])
    assert tui.settled(2) == "done"
    tui.run_until(lambda: len(tui.asked()) == 2)
    tui.engine.answer(3, "1", None)
    assert tui.settled(3) == "done"
    tui.run_until(lambda: tui.state == "idle")
    assert tui.log("chose") == ["Yes, I trust this folder", "Yes"]
    assert tui.log("typed_into_dialog") == []


@pytest.mark.parametrize(
    ("choice", "asked", "words"),
    [("9", None, "no option 9"), ("perhaps", None, "names no option"), ("yes", "menu-0-stale", "not open any more")],
)
def test_an_answer_that_fits_nothing_presses_nothing(stage, choice, asked, words):
    tui = stage({"first": ["resume"]}).start("menu")
    tui.engine.answer(1, choice, asked)
    assert tui.settled(1) == "refused"
    assert words in tui.reason(1)
    assert tui.log() == []


def test_a_permission_is_told_answered_and_the_turn_goes_on(stage):
    tui = stage({"ask_every": 1}).start()
    tui.engine.send(1, "please")
    tui.run_until(lambda: tui.state == "waiting-approval")
    kinds = [option["kind"] for option in tui.asked()[0]["options"]]
    assert kinds == ["allow_once", "allow_always", "reject_once"]
    tui.engine.answer(2, "reject_once", tui.asked()[0]["request"])
    assert tui.settled(2) == "done"
    tui.run_until(lambda: ends(tui))
    assert tui.log("chose") == ["No"]
    assert "Answer 1." in ends(tui)[0]["text"]


# --- turns


def test_a_turn_is_interrupted(stage):
    tui = stage({"turn_s": 60}).start()
    tui.engine.send(1, "a long one")
    tui.run_until(lambda: tui.state == "working")
    tui.engine.set_model(2, "fable")
    assert tui.settled(2) == "refused"
    tui.engine.interrupt(3)
    assert tui.settled(3) == "done"
    assert tui.log("interrupted") == [True]
    tui.run_until(lambda: tui.state == "idle")


def test_a_text_that_waits_for_a_person_s_draft_is_not_mixed_with_it(stage):
    tui = stage(room_s=0.5).start()
    tui.engine.type("half a thought")
    tui.run_until(lambda: "half a thought" in tui.engine.screen())
    tui.engine.send(1, "mine")
    assert tui.settled(1) == "refused"
    assert "draft" in tui.reason(1)
    assert tui.log("submitted") == []


def test_what_it_said_is_told_with_the_end_of_the_turn(stage):
    tui = stage({"record": True, "drift": "claude-sonnet-5"}).start()
    tui.engine.send(1, "first\nsecond")
    tui.run_until(lambda: ends(tui))
    assert ends(tui)[0]["text"] == "Answer 1."
    models = [event["model"] for event in tui.events if event["type"] == "start"]
    assert models == ["claude-sonnet-5"]


def test_a_turn_is_not_over_before_its_answer_is_written_down(stage):
    """The screen is at rest before the record has the answer, or before the turn has begun to show."""
    tui = stage({"record": True, "unwritten": True}).start()
    tui.engine.send(1, "first")
    tui.run_until(lambda: tui.deliveries(1)[-1:] == ["turn-started"] and tui.state == "idle")
    assert ends(tui) == []
    (transcript,) = Path(tui.folder).glob(".claude/projects/*/*.jsonl")
    message = {"content": [{"type": "text", "text": "The whole answer."}], "model": "claude-x"}
    with transcript.open("a") as out:
        out.write(json.dumps({"type": "assistant", "message": message}) + "\n")
    tui.run_until(lambda: ends(tui))
    assert ends(tui)[0]["text"] == "The whole answer."


def test_a_turn_that_no_picture_shows_is_told_by_its_answer(stage):
    tui = stage({"unseen": True}, answered_s=0.1).start()
    tui.engine.send(1, "first\nsecond")
    assert tui.settled(1) == "turn-started"
    tui.run_until(lambda: ends(tui))
    assert "Answer 1." in ends(tui)[0]["text"]


def test_an_answer_that_comes_after_a_send_was_given_up_still_ends_its_turn(stage, tmp_path):
    held = tmp_path / "answer"
    tui = stage({"unseen": True, "held": str(held)}, answered_s=0.1, turn_s=0.2).start()
    tui.engine.send(1, "first")
    assert tui.settled(1) == "unverified"
    assert ends(tui) == []
    held.touch()
    tui.run_until(lambda: ends(tui))
    assert "Answer 1." in ends(tui)[0]["text"]
    assert tui.deliveries(1)[-1] == "unverified"  # what was said stays


def test_the_model_is_switched_through_the_picker_for_this_session_only(stage):
    tui = stage({"record": True}).start()
    tui.engine.set_model(1, "fable")
    assert tui.settled(1) == "done"
    assert tui.log("model") == ["Fable"]
    tui.engine.set_model(2, "gpt-9")
    assert tui.settled(2) == "refused"
    assert "no row for gpt-9" in tui.reason(2)
    tui.run_until(lambda: tui.state == "idle")
    tui.engine.send(3, "and who are you?")
    assert tui.settled(3) == "turn-started"
    tui.run_until(lambda: ends(tui))
    assert [event["model"] for event in tui.events if event["type"] == "start"] == ["claude-fable-5"]
    assert not tui.asked()  # a picker of our own asks nobody


# --- its end


def test_it_leaves_when_it_is_asked_to(stage):
    tui = stage().start()
    tui.engine.close()
    tui.run_until(lambda: tui.ended is not None)
    assert tui.ended == (0, None)


def test_a_program_that_is_killed_fails_what_was_under_way(stage):
    tui = stage({"first": ["resume"]}).start("menu")
    tui.engine.send(1, "never")
    os.killpg(tui.engine.pid, signal.SIGKILL)
    tui.run_until(lambda: tui.ended is not None)
    assert tui.ended == (None, signal.SIGKILL)
    assert tui.settled(1) == "failed"


def test_a_program_that_is_not_there_is_an_error_with_the_reason(stage):
    tui = stage(argv=["/nowhere/at all"])
    with pytest.raises(EngineError, match="/nowhere/at all: No such file"):
        tui.engine.start()


def test_an_interface_in_a_console_that_only_asking_reads(stage, monkeypatch):
    """The road of Windows: wexpect's interface, no descriptor, and a size that nobody changes."""
    monkeypatch.setitem(sys.modules, "wexpect", fake_wexpect.module())
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(pty, "spawn", lambda argv, env, cwd, size, _umask: WindowsProcess(argv, env, cwd, size))
    tui = stage({"first": ["trust"], "turn_s": 0.01}).start("trust")
    tui.engine.answer(1, "Yes, I trust this folder", None)
    assert tui.settled(1) == "done"
    tui.engine.resize(120, 40)
    for number, text in ((2, "hello 漢字"), (3, "two\nlines")):
        tui.run_until(lambda: tui.state == "idle")
        tui.engine.send(number, text)
        assert tui.settled(number) == "turn-started"
    tui.run_until(lambda: len(ends(tui)) == 2)
    assert (tui.log("submitted"), tui.log("typed_into_dialog")) == (["hello 漢字", "two\nlines"], [])
    tui.engine.close()
    tui.run_until(lambda: tui.ended is not None)
    assert tui.ended == (0, None)


def test_an_unknown_version_is_shown_but_never_typed_into(stage):
    tui = stage(version="9.9.9", room_s=0.2)
    tui.engine.start()
    tui.run_until(lambda: "Claude Code" in tui.engine.screen() and tui.state == "unknown")
    tui.engine.send(1, "hello")
    assert tui.settled(1) == "refused"
    tui.engine.set_model(2, "fable")
    tui.engine.interrupt(3)
    assert (tui.settled(2), tui.settled(3)) == ("refused", "refused")


# --- viewers


def watch(tui, rows, columns):
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    tui.engine.attach(theirs, rows, columns)
    return ours


def received(tui, viewer, word, held):
    def look():
        with contextlib.suppress(BlockingIOError):
            held.extend(viewer.recv(65536))
        return word in held

    tui.run_until(look)


def test_several_people_watch_and_type(stage):
    tui = stage().start()
    first, second = watch(tui, 30, 100), watch(tui, 40, 120)
    seen_first, seen_second = bytearray(), bytearray()
    received(tui, first, b"Claude Code", seen_first)
    received(tui, second, b"Claude Code", seen_second)
    second.send(b"typed by hand")
    received(tui, first, b"typed by hand", seen_first)
    received(tui, second, b"typed by hand", seen_second)
    assert b"\x1b[c" not in seen_first + seen_second  # questions are ours to answer
    first.send(b"\x1b_osrc;size;33")
    first.send(b";111\x1b\\")
    tui.run_until(lambda: len(tui.engine._terminal.screen().lines) == 33)
    first.close()
    second.send(b"\x15\x03")
    tui.run_until(lambda: "typed by hand" not in tui.engine.screen())
    second.close()
    tui.engine.send(1, "still at work")
    assert tui.settled(1) == "turn-started"
