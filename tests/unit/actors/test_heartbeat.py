"""The heartbeat actor over a real journal: what it follows, what it pushes, what it takes up from the one before."""

import itertools
import json
import threading
from pathlib import Path

import pytest
from fakes.actors import eventually, mailbox
from fakes.clock import FakeClock
from fakes.state import NOW, job_id, record, scratch_home
from outsourcerer.actors import heartbeat
from outsourcerer.actors.base import Directory, Query, ReplyPort, Stop, start
from outsourcerer.actors.feed import Feed
from outsourcerer.actors.heartbeat import Acknowledge, Heartbeat, StartHeartbeat, StopHeartbeat
from outsourcerer.actors.heartbeat_watch import HeartbeatWatch, Launched
from outsourcerer.actors.journal import Append, Journal
from outsourcerer.messages.alarm import SinkTold
from outsourcerer.messages.facts import JobAccepted, JobEnded, JobOutcome, JobStateChanged, LaneDown, LaneUp
from outsourcerer.messages.loop import LoopAccepted, LoopEnded, LoopRecord, LoopStep, LoopStepBegan
from outsourcerer.messages.session import SessionAccepted, SessionObserved, SessionRecord, SessionStateChanged
from outsourcerer.messages.vocabulary import JobState, SessionState
from outsourcerer.state.alarm_machine import decide
from outsourcerer.state.alarms_reader import beat, open_alarms
from outsourcerer.state.heartbeat_file import Arming, armed_by
from outsourcerer.state.heartbeat_view import heartbeat_object
from outsourcerer.state.reader import Reader
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

GOLDEN = Path(__file__).parents[2] / "golden" / "messages" / "facts"
SESSION = "20261118-110639-0000000000ff"
WAKE = Arming(wake="notify")


class Services:
    """The part of the services that Heartbeat uses."""

    def __init__(self, home, clock, directory, settings):
        self.home, self.clock, self.directory = home, clock, directory
        self.feed = Feed()
        self.settings = Settings.load(settings)
        self.heartbeat_watch = HeartbeatWatch(home, directory)
        self.epochs = itertools.count(1)


class Bench:
    def __init__(self, folder, **settings):
        self.home = scratch_home(folder)
        self.clock = FakeClock(wall=NOW + 100)
        self.settings = {"HOME": str(folder), **settings}
        self.pushes = []
        self.result = "given"
        self.hold = threading.Event()
        self.hold.set()
        self.up()

    def up(self):
        """Start a journal and a heartbeat over the home, as a supervisor would."""
        self.directory = Directory()
        self.parent, _ = mailbox(self.directory, "parent")
        self.services = Services(self.home, self.clock, self.directory, self.settings)
        common = {"directory": self.directory, "parent": self.parent}
        store = Store.open(self.home.database, now=self.now)
        feed = self.services.feed
        start(Journal, "journal", store=store, clock=self.clock, feed=feed, **common)
        self.begin()

    def begin(self, incarnation=1):
        """Start a heartbeat, in place of an earlier one."""
        self.beat = start(
            Heartbeat,
            "heartbeat",
            services=self.services,
            environ={},
            sinks={name: self.sink(name) for name in ("command", "file", "desktop")},
            directory=self.directory,
            parent=self.parent,
            incarnation=incarnation,
        )

    def sink(self, name):
        mine = self.directory

        def take(push):
            assert self.hold.wait(120)
            assert mine is self.directory, "killed before it was told"
            self.pushes.append((name, push.record.state, push.record.pushes))
            return SinkTold(sink=name, result=self.result, why="no room" if self.result == "failed" else None)

        return take

    def down(self):
        for name in ("heartbeat", "journal", "parent"):
            handle = self.directory.find(name)
            handle.tell(Stop("shutdown"))
            assert handle.wait_down(30)

    @property
    def now(self):
        return self.clock.now().wall

    def say(self, *facts):
        self.directory.tell("journal", Append(writer="test", epoch=next(self.services.epochs), facts=facts))

    def ask(self, message):
        port = ReplyPort()
        self.beat.tell(Query(message, port))
        return port.wait(120)

    def armed(self, arming=WAKE):
        self.beat.tell(Launched(arming))
        self.ask(Acknowledge(()))  # answered behind it
        eventually(lambda: self.read(beat) is not None)

    def read(self, what):
        with Reader(self.home.database) as reader:
            return what(reader)

    def pushed(self, count, state=None):
        """Wait for so many pushes to the command, then return their numbers."""
        return eventually(
            lambda: len(found := self.of(state)) >= count and found, f"{count} pushes of {state}: {self.pushes}"
        )

    def of(self, state=None):
        return [number for name, told, number in self.pushes if name == "command" and state in (None, told)]

    def settled(self):
        """Wait until every push that was decided is told, and nothing more comes by itself."""
        eventually(lambda: all(one["told"] == one["pushes"] for one in self.read(open_alarms)))

    def pass_time(self, seconds):
        """Let time pass in steps, so that what is told in between is heard in between."""
        for _ in range(max(1, int(seconds // 30))):
            self.clock.advance(min(30.0, seconds))
            self.ask(Acknowledge(()))  # answered behind whatever the clock told

    def until(self, state, number=1):
        """Wait until the store has a job in this state."""
        eventually(lambda: (self.read(lambda reader: reader.record(job_id(number))) or {}).get("state") == state)

    def running(self, number=1, **changes):
        accepted = record(number, state=JobState.RUNNING, accepted_at=self.now, **changes)
        self.say(JobAccepted(job_id=job_id(number), record=accepted))

    def turned(self, state, number=1, reason=None):
        self.say(JobStateChanged(job_id=job_id(number), state=state, reason=reason))

    def ended(self, state, number=1, code=1):
        self.say(JobEnded(job_id=job_id(number), state=state, exit=code, reason="why", ended_at=self.now))


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.hold.set()
    made.down()


def test_a_question_is_pushed_once_again_on_the_ladder_and_ends_with_its_answer(bench):
    bench.armed()
    bench.running()
    bench.turned(JobState.NEEDS_ANSWER, reason="which port?")
    bench.until("needs-answer")
    bench.pass_time(30)
    assert bench.pushed(1, "needs-answer") == [1]
    bench.settled()
    bench.pass_time(330)
    assert bench.pushed(2, "needs-answer") == [1, 2]
    bench.turned(JobState.RUNNING)
    eventually(lambda: bench.read(open_alarms) == [])
    bench.pass_time(2000)
    assert bench.of("needs-answer") == [1, 2]


def test_a_death_is_pushed_once_and_never_again_also_by_the_next_supervisor(bench):
    bench.armed()
    bench.running()
    bench.ended(JobState.FAILED)
    assert bench.pushed(1, "dead") == [1]
    eventually(lambda: bench.read(lambda reader: reader.entries(0, 99, type="alarm.told")))
    bench.down()
    bench.up()
    bench.pass_time(4000)
    assert bench.of("dead") == [1]


def test_what_ended_before_it_was_armed_is_not_told(tmp_path):
    bench = Bench(tmp_path, OSRC_FLEET_SUPERVISION="0")
    bench.running()
    bench.ended(JobState.FAILED)
    eventually(lambda: bench.read(lambda reader: reader.entries(0, 99, type="job.ended")))
    bench.armed()
    bench.running(2)
    bench.ended(JobState.TIMEOUT, 2)
    bench.pushed(1, "dead")
    bench.pass_time(60)
    assert len(bench.of("dead")) == 1
    bench.down()


def test_a_push_that_was_owed_is_made_by_the_next_supervisor_and_one_that_is_over_is_not(bench):
    bench.armed()
    bench.hold.clear()
    bench.running()
    bench.running(2)
    bench.turned(JobState.NEEDS_ANSWER)
    bench.turned(JobState.NEEDS_ANSWER, 2)
    bench.until("needs-answer", 2)
    bench.pass_time(30)
    eventually(lambda: [one["pushes"] for one in bench.read(open_alarms)] == [1, 1])
    bench.turned(JobState.RUNNING, 2)
    eventually(lambda: len(bench.read(open_alarms)) == 1)
    bench.down()  # neither was told
    bench.pushes = bench.pushes[:0]
    bench.hold.set()
    bench.up()
    bench.settled()
    bench.pass_time(30)
    assert len(bench.of("needs-answer")) == 1


def test_acknowledged_is_told_no_more(bench):
    bench.armed()
    bench.running()
    bench.ended(JobState.BLOCKED)
    bench.pass_time(30)
    bench.pushed(1, "blocked")
    bench.settled()
    eventually(lambda: bench.services.heartbeat_watch.waiting, "the supervisor stays for the next rung")
    [alarm] = bench.read(open_alarms)
    assert bench.ask(Acknowledge((alarm["alarm_id"], "no-such"))) is True
    bench.pass_time(4000)
    assert bench.of("blocked") == [1]
    assert bench.read(open_alarms)[0]["acknowledged_at"] is not None
    eventually(lambda: not bench.services.heartbeat_watch.waiting)


class Caught:
    """Where a heartbeat stays, the first time it comes there, until it may go on."""

    def __init__(self):
        self.threads, self._entered, self._leave = [], threading.Event(), threading.Event()

    def stay(self):
        """Stay, and return whether it was the first that came."""
        if self.threads:
            return False
        self.threads.append(threading.current_thread())
        self._entered.set()
        assert self._leave.wait(120)
        return True

    def wait(self):
        assert self._entered.wait(120)

    def let_go(self):
        self._leave.set()
        self.threads[0].join(120)
        assert not self.threads[0].is_alive()


def caught_answering(bench, _):
    """Stop the heartbeat in the middle of a question."""
    caught = Caught()

    class Slow(Acknowledge):
        @property
        def alarm_ids(self):
            caught.stay()
            return ()

    bench.beat.tell(Slow.__new__(Slow))
    caught.wait()
    return caught


def caught_looking(bench, monkeypatch):
    """Stop the heartbeat in the middle of a look, which will have found nothing."""
    caught = Caught()
    monkeypatch.setattr(heartbeat, "decide", lambda *given: () if caught.stay() else decide(*given))
    bench.say(JobOutcome(job_id=job_id(9), outcome="failed", lane="claude", model="m"))
    caught.wait()
    return caught


@pytest.mark.parametrize("catch", [caught_answering, caught_looking])
def test_one_that_was_set_aside_leaves_alone_what_its_successor_said(bench, monkeypatch, catch):
    bench.armed()
    caught = catch(bench, monkeypatch)
    bench.beat.set_aside()
    bench.services.heartbeat_watch.waiting = True
    bench.begin(2)
    bench.ask(Acknowledge(()))
    assert not bench.services.heartbeat_watch.waiting, "nothing stands yet, whatever the one before said"
    bench.running()
    bench.ended(JobState.BLOCKED)
    bench.pass_time(30)
    bench.pushed(1, "blocked")
    bench.settled()
    eventually(lambda: bench.services.heartbeat_watch.waiting, "the supervisor stays for the next rung")
    caught.let_go()
    assert bench.services.heartbeat_watch.waiting
    bench.beat.tell(Stop("restart"))
    assert bench.beat.wait_down(30)
    assert not bench.services.heartbeat_watch.waiting


def test_a_word_on_its_outcome_ends_the_alarm_of_a_blocked_job(bench):
    bench.armed()
    bench.running()
    bench.ended(JobState.BLOCKED)
    bench.pass_time(30)
    bench.pushed(1, "blocked")
    bench.say(JobOutcome(job_id=job_id(1), outcome="failed", lane="claude", model="m"))
    eventually(lambda: bench.read(open_alarms) == [])


def test_a_session_s_question_and_drift_and_a_lane_s_limit_are_told(bench):
    bench.armed()
    made = {"session_id": SESSION, "name": "ada", "lane": "codex", "vehicle": "codex", "transport": "native"}
    made |= {"cwd": "/w", "accepted_at": bench.now, "model": "opus", "state": "working"}
    bench.say(SessionAccepted(session_id=SESSION, record=SessionRecord.model_validate(made)))
    bench.say(SessionObserved(session_id=SESSION, model_observed="haiku", model_pin="drifted"))
    waiting = SessionState.WAITING_APPROVAL
    bench.say(SessionStateChanged(session_id=SESSION, state=waiting, evidence="asks to run ls"))
    down = {"key": "pool:claude", "lane": "claude", "until": bench.now + 600, "reason": "used up"}
    bench.say(LaneDown(**down, evidence="confirmed"))
    eventually(lambda: bench.read(lambda reader: reader.entries(0, 99, type="limits.lane_down")))
    bench.pass_time(30)
    for state in ("needs-answer", "drift", "limit"):
        assert bench.pushed(1, state) == [1]
    bench.settled()
    bench.say(LaneUp(key="pool:claude", why="cleared"))
    eventually(lambda: {one["state"] for one in bench.read(open_alarms)} == {"needs-answer", "drift"})


def test_a_notifier_that_hangs_keeps_nobody_waiting(bench):
    bench.armed(Arming(wake="notify", desktop=True))
    bench.hold.clear()
    bench.running()
    bench.ended(JobState.FAILED)
    eventually(lambda: bench.read(lambda reader: reader.entries(0, 99, type="alarm.raised")))
    assert bench.ask(Acknowledge(())) is True, "it answers while its notifier hangs"
    bench.running(2)
    bench.ended(JobState.WEDGED, 2)
    eventually(lambda: len(bench.read(lambda reader: reader.entries(0, 99, type="alarm.raised"))) == 2)
    bench.hold.set()
    assert bench.pushed(2, "dead") == [1, 1]
    eventually(lambda: len([one for one in bench.pushes if one[0] == "desktop"]) == 2)


def test_a_sink_that_fails_is_told_to_the_others_once(bench):
    bench.armed(Arming(wake="notify", desktop=True))
    bench.result = "failed"
    for number in (1, 2):
        bench.running(number)
        bench.ended(JobState.FAILED, number)
        bench.pushed(number, "dead")
    facts = eventually(lambda: len(found := bench.read(lambda r: r.entries(0, 99, type="alarm.told"))) >= 4 and found)
    assert sum('"failed"' in body for *_, body in facts) >= 2
    labels = [name for name, state, _ in bench.pushes if state == "sink"]
    assert sorted(labels) == ["command", "desktop"], "each heard of the other"


def test_a_launch_that_says_nothing_new_wakes_no_heartbeat(bench, monkeypatch):
    watch, told, tell = bench.services.heartbeat_watch, [], bench.directory.tell
    monkeypatch.setattr(watch._directory, "tell", lambda name, message: told.append(message) or tell(name, message))
    settings = Settings.load({"OSRC_HEARTBEAT_WAKE": "notify"})
    other = Settings.load({"OSRC_HEARTBEAT_WAKE": "another"})

    def launched(by):
        watch.launched(by, {})
        bench.ask(Acknowledge(()))  # which may change whom it wakes, as far as anybody knows
        return len([one for one in told if isinstance(one, Launched)])

    assert [launched(settings), launched(other)] == [1, 2]
    bench.beat.tell(Launched(armed_by(settings, {})))
    eventually(lambda: watch.heard == armed_by(settings, {}))
    watch.launched(settings, {})
    assert len([one for one in told if isinstance(one, Launched)]) == 2
    assert [launched(other), launched(settings)] == [3, 4]


def test_stopped_it_wakes_nobody_and_started_not_of_what_was_in_between(bench):
    bench.armed()
    assert bench.ask(StopHeartbeat()) is True
    bench.running()
    bench.ended(JobState.FAILED)
    bench.until("failed")
    bench.armed()  # a launch does not undo what somebody said
    bench.pass_time(60)
    assert bench.pushes == []
    assert bench.ask(StartHeartbeat(Arming())) is True
    bench.running(2)
    bench.ended(JobState.FAILED, 2)
    bench.pushed(1, "dead")
    assert [
        json.loads(body)["record"]["job_id"] for *_, body in bench.read(lambda r: r.entries(0, 99, type="alarm.raised"))
    ] == [job_id(2)]


def test_a_digest_tells_when_all_has_come_to_rest_and_once_for_each_picture(bench):
    bench.armed()
    bench.running()
    eventually(lambda: bench.read(lambda reader: reader.record(job_id(1))))
    bench.pass_time(60)
    assert bench.of("digest") == []
    bench.ended(JobState.DONE, code=0)
    bench.until("done")
    eventually(lambda: bench.pass_time(3) or bench.of("digest"))  # the journal is heard of when it is
    assert len(bench.pushed(1, "digest")) == 1
    bench.pass_time(4000)
    assert len(bench.of("digest")) == 1
    picture = json.loads((bench.home.root / "bearings.json").read_text())
    assert [item["id"] for item in picture["recently_landed"]] == [job_id(1)]


def test_the_digest_can_be_left_out(bench):
    bench.armed(Arming(wake="notify", digest=False))
    bench.running()
    bench.ended(JobState.DONE, code=0)
    bench.until("done")
    bench.pass_time(1000)
    assert bench.pushes == []


def test_whoever_was_named_is_woken_by_the_next_supervisor(bench):
    bench.armed()
    bench.down()
    bench.up()
    bench.running()
    bench.ended(JobState.FAILED)
    bench.pushed(1, "dead")


def test_what_became_of_a_push_is_said_of_whom_it_was_for(bench):
    def last():
        shown = bench.read(lambda reader: heartbeat_object(reader, bench.home, bench.now, running=True))
        return [(sink["target"], sink["result"]) for sink in shown["sinks"]]

    bench.armed()
    bench.running()
    bench.ended(JobState.FAILED)
    bench.pushed(1, "dead")
    bench.settled()
    eventually(lambda: last() == [("notify", "given")])
    bench.ask(StartHeartbeat(Arming(wake="other")))
    assert last() == [("other", None)]


def test_a_loop_tells_its_end_and_its_laps_tell_nothing(bench):
    bench.armed()
    loop_id = f"loop-{job_id(50)}"
    example = json.loads((GOLDEN / "loop.accepted.json").read_text())["record"]
    accepted = LoopRecord.model_validate({**example, "loop_id": loop_id, "label": "tidy", "steps": (), "end": None})
    bench.say(LoopAccepted(loop_id=loop_id, record=accepted))
    bench.say(
        LoopStepBegan(loop_id=loop_id, step=LoopStep(number=1, role="build", lap=1, job_id=job_id(1), began=bench.now))
    )
    bench.running()
    bench.ended(JobState.FAILED)
    bench.until("failed")
    bench.say(LoopEnded(loop_id=loop_id, end="max_turns", reason="6 laps"))
    bench.pushed(1, "dead")
    bench.pass_time(60)
    told = bench.read(lambda reader: reader.entries(0, 99, type="alarm.raised"))
    assert [json.loads(body)["record"]["summary"] for *_, body in told] == ["loop tidy ended, max_turns: 6 laps"]


def test_jobs_that_run_are_listed_until_somebody_looks(bench):
    seen = bench.services.heartbeat_watch.seen
    listed = bench.home.root / "unwatched.json"
    bench.running()
    kept = eventually(lambda: listed.exists() and listed.stat().st_size and json.loads(listed.read_bytes()))
    assert [job["job_id"] for job in kept["jobs"]] == [job_id(1)]
    seen.looked([job_id(1), "unknown"], bench.now + 500)
    assert json.loads(listed.read_bytes())["jobs"][0]["since"] == bench.now + 500
    bench.ended(JobState.DONE, code=0)
    eventually(lambda: listed.stat().st_size == 0)
