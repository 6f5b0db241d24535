"""Sessions as real processes: supervisor, holder, and a delegate that speaks Claude Code's control protocol."""

from __future__ import annotations

import json
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakes.sessions import FAKE, Sessions
from fakes.supervised import Supervised, alive, kill, until


@pytest.fixture
def sessions(home: Supervised) -> Sessions:
    return Sessions(home)


def test_a_session_is_started_read_answered_steered_and_stopped(sessions: Sessions) -> None:
    one = sessions.start("--name", "fix", "say hello")
    sessions.until_state(one, "idle")
    seen = json.loads(sessions.ok("read", "--json"))
    assert [event["text"] for event in seen["events"] if event["type"] == "text"] == ["hello"]
    cursor = seen["cursor"]

    # What it asks is shown, and answered only with what is an option or words that were asked for.
    asked = sessions.osrc("send", "fix", "ask rm -rf build", "--wait", "--json")
    assert asked.returncode == 3
    assert json.loads(asked.stdout)["ask"]["target"] == "rm -rf build"
    assert "rm -rf build" in sessions.ok("answer", "fix")
    behind = sessions.osrc("send", "--wait", "say behind")
    assert (behind.returncode, b"rm -rf build" in behind.stderr) == (3, True)
    queued = sessions.osrc("send", "fix", "say later", "--for", "0.3")
    assert (queued.returncode, queued.stdout) == (2, b"fix 4 accepted\n")
    itself = sessions.osrc("answer", "fix", "yes", OUTSOURCERER_DEPTH="1")
    assert (itself.returncode, b"it may not answer" in itself.stderr) == (1, True)
    sessions.ok("answer", "2")  # no beginning of the only id
    until(lambda: sessions.given()[-1] == "say later", "the queued send was given once the turn had ended")
    sessions.until_state(one, "idle")
    news = json.loads(sessions.ok("read", "fix", "--since", str(cursor), "--json"))["events"]
    assert [event["text"] for event in news if event["type"] == "text"] == ["denied", "behind", "later"]
    assert sessions.osrc("answer", "fix", "yes").returncode == 1

    # A model is switched between turns; while it works that is declined, and can be tried again.
    assert sessions.ok("model", "fix", "fable").endswith("done")
    sessions.ok("send", "fix", "work")
    busy = sessions.osrc("model", "fix", "other")
    assert (busy.returncode, b"not while it is working" in busy.stderr) == (1, True)
    assert sessions.ok("interrupt").endswith("done")
    sessions.until_state(one, "idle")
    refused = sessions.osrc("model", "fix", "no-such-model")
    assert (refused.returncode, b"no such model" in refused.stderr) == (1, True)
    assert sessions.record(one)["model"] == "fable"

    # What it may do unasked is the person's to say, and never more by accident.
    assert (sessions.ok("mode", "fix"), sessions.ok("mode", "fix", "plan")[-4:]) == ("ask", "done")
    more = sessions.osrc("mode", "fix", "edits")
    assert (more.returncode, b"--yolo" in more.stderr) == (1, True)
    until(lambda: sessions.record(one)["mode"] == "plan", "the mode is kept")

    # A turn that runs can be ended for what is more urgent.
    sessions.ok("send", "fix", "work")
    assert sessions.ok("send", "fix", "say urgent", "--interrupt", "--wait") == "urgent"

    # The journal keeps what was sent, without secrets.
    secret = "ghp_" + "a1B2" * 9
    sessions.osrc("send", "fix", f"say {secret}", "--wait")
    assert secret not in json.dumps(sessions.home.facts())
    assert "say urgent" in [fact["text"] for fact in sessions.home.facts("session.given")]

    assert sessions.ok("stop") == "fix exited (stopped on request)"
    assert sessions.ok("stop", "fix") == "fix exited (stopped on request)"
    assert sessions.osrc("send", "fix", "say too late").returncode == 1
    sessions.home.nothing_left()
    kinds = {fact["kind"] for fact in sessions.home.facts(job=one)}
    assert kinds >= {"session.accepted", "session.held", "session.given", "session.observed", "session.ended"}


def test_a_killed_supervisor_is_not_noticed_by_the_session(sessions: Sessions) -> None:
    one = sessions.start("work")
    sessions.until_state(one, "working")
    cursor = json.loads(sessions.ok("read", "--json"))["cursor"]
    sessions.home.kill_supervisor()
    # Looking needs no supervisor; what is asked for starts one, which takes the session up.
    assert json.loads(sessions.ok("read", "--state", "--json"))["state"] == "working"
    assert sessions.home.daemons() == []
    queued = sessions.osrc("send", "say after", "--for", "0.2")
    assert queued.returncode == 2
    sessions.home.kill_supervisor()
    sessions.ok("interrupt")
    until(lambda: "say after" in sessions.given(), "what was sent before the second kill was given")
    sessions.until_state(one, "idle")
    news = json.loads(sessions.ok("read", "--since", str(cursor), "--json"))["events"]
    assert [event["seq"] for event in news] == list(range(cursor + 1, cursor + 1 + len(news)))
    assert [event["text"] for event in news if event["type"] == "text"] == ["after"]
    assert sessions.given() == ["work", "say after"]
    assert sessions.record(one)["turns"] == 2
    sessions.ok("stop")
    sessions.home.nothing_left()


def test_a_session_whose_holder_is_killed_is_lost_and_says_how_to_go_on(sessions: Sessions) -> None:
    one = sessions.start("id")
    sessions.until_state(one, "idle")
    record = sessions.record(one)
    # Whoever waits for a turn, or for the one behind it, is told; and so is who follows.
    sessions.ok("send", "work")
    queued = sessions.osrc("send", "say never", "--for", "0.3")
    assert (queued.returncode, queued.stdout) == (2, b"claude 3 accepted\n")
    with ThreadPoolExecutor(2) as pool:
        waits = pool.submit(sessions.osrc, "send", "say never", "--wait")
        follows = pool.submit(sessions.osrc, "read", "-f")
        until(lambda: '"number": 4' in json.dumps(sessions.events(one)), "the second one is queued, too")
        kill(record["holder"]["pid"])
        waited, followed = waits.result(), follows.result()
    assert (waited.returncode, b"failed: its holder died" in waited.stderr) == (1, True)
    assert b"state: lost" in followed.stderr
    lost = sessions.until_state(one, "lost")
    assert lost["reason"] == "its holder died"
    sessions.home.nothing_left()
    told = sessions.osrc("send", one, "say x")
    assert (told.returncode, f"osrc session relaunch {one}".encode() in told.stderr) == (1, True)
    # Its conversation goes on, and nothing that was given before is given again.
    sessions.ok("relaunch")
    assert sessions.ok("send", "id", "--wait").split() == [lost["conversation"]] * 2
    assert sessions.given() == ["id", "work", "id"]
    sessions.ok("stop")


def test_a_holder_that_died_while_nobody_looked_is_told_as_lost(sessions: Sessions) -> None:
    one = sessions.start("say hi")
    sessions.until_state(one, "idle")
    sessions.home.kill_supervisor()
    kill(sessions.record(one)["holder"]["pid"])
    until(lambda: json.loads(sessions.ok("read", "--state", "--json"))["state"] == "lost", "it is told as lost")
    assert sessions.home.daemons() == []
    sessions.home.ok("bg", "run", "--lane", "fake", "--", '[{"end": "x"}]')  # any supervisor puts it in order
    sessions.until_state(one, "lost")
    sessions.home.nothing_left()


def test_two_captains_and_a_lost_start_race(sessions: Sessions) -> None:
    def begin(number: int) -> int:
        words = ("start", "--lane", "claude", "--name", "one", f"say {number}")
        return sessions.osrc(*words, OSRC_CONTROLLER_ID=f"captain-{number}").returncode

    with ThreadPoolExecutor(max_workers=4) as pool:
        codes = list(pool.map(begin, range(4)))
    assert sorted(codes) == [0, 4, 4, 4]
    winner = codes.index(0)
    assert sessions.given() == [f"say {winner}"]
    # Without its name a session is found by the captain who started it, and by nobody else.
    mine, other = f"captain-{winner}", "captain-9"
    assert sessions.ok("send", "say mine", "--wait", OSRC_CONTROLLER_ID=mine) == "mine"
    refused = sessions.osrc("send", "say other", OSRC_CONTROLLER_ID=other)
    assert (refused.returncode, b"there are others: one" in refused.stderr) == (1, True)
    assert sessions.osrc("stop", OSRC_CONTROLLER_ID=other).returncode == 1
    second = sessions.start("say second", OSRC_CONTROLLER_ID=other)
    assert sessions.record(second)["name"] == "claude"
    assert sessions.ok("stop", OSRC_CONTROLLER_ID=other) == "claude exited (stopped on request)"
    assert sessions.given() == [f"say {winner}", "say mine", "say second"]
    sessions.ok("stop", "one")


def test_a_spent_plan_a_quota_and_a_conversation_that_goes_on(sessions: Sessions) -> None:
    one = sessions.start("--name", "fix", "say hello")
    home = sessions.home
    sessions.until_state(one, "idle")
    told = home.osrc("continue", "fix", "and now?")
    assert (told.returncode, b"osrc session send fix" in told.stderr) == (1, True), told.stderr
    # Its plan's limit marks the lane for who comes next; the session itself is left alone.
    assert sessions.osrc("send", "fix", "spent", "--wait").returncode == 1
    until(lambda: home.facts("limits.lane_down"), "the limit was marked")
    refused = sessions.osrc("start", "--lane", "claude", "say x")
    assert (refused.returncode, b"the lane claude is down until" in refused.stderr) == (1, True), refused.stderr
    assert b"--wait-limit" not in refused.stderr
    home.ok("limits", "clear", "claude")
    # Every prompt counts as a run: two were given, and a third is let in, once.
    home.ok("limits", "set", "claude", "default", "3/day")
    assert sessions.ok("send", "fix", "--wait", "say third") == "third"
    refused = sessions.osrc("send", "fix", "say fourth")
    assert (refused.returncode, b"its daily quota is" in refused.stderr) == (1, True), refused.stderr
    assert sessions.osrc("start", "--lane", "claude").returncode == 1
    home.ok("limits", "clear", "claude", "default")
    assert sessions.given() == ["say hello", "spent", "say third"]
    # Once it has ended, a job goes on with what was said in it, and only reads.
    ended = json.loads(sessions.ok("stop", "fix", "--json"))["session"]
    shown = home.osrc("continue", one, "and now?", "--dry-run", "--json")
    assert shown.returncode == 0, shown.stderr
    plan = json.loads(shown.stdout)["plan"]
    assert (plan["verb"], plan["cwd"], ended["conversation"] in plan["argv"]) == ("run", ended["cwd"], True)
    assert f"osrc session relaunch {one}".encode() in shown.stderr


def test_nothing_outlives_a_session_however_it_clings(sessions: Sessions) -> None:
    sessions.start("--name", "one", "stay")
    stray = int(sessions.ok("send", "one", "stray", "--wait"))
    assert alive(stray)
    # An agent behind the Agent Client Protocol that heeds neither its closed stdin nor TERM, and its child likewise.
    agent = "acp:" + shlex.join([sys.executable, str(FAKE.with_name("fake_acp_agent.py")), "stay"])
    sessions.ok("start", "--lane", agent, "--name", "two", "say something")
    assert sessions.ok("send", "two", "--wait", "more") == "two words"
    with ThreadPoolExecutor(max_workers=2) as pool:
        told = list(pool.map(lambda name: sessions.ok("stop", name), ("one", "two")))
    assert told == [f"{name} exited (stopped on request)" for name in ("one", "two")]
    until(lambda: not alive(stray), "what it had started is gone")
    # One that dies in the middle of its turn takes its child along, and says how it ended.
    two = sessions.start()
    stray = int(sessions.ok("send", "stray", "--wait"))
    assert sessions.osrc("send", "die", "--wait").returncode == 1
    ended = sessions.until_state(two, "exited")
    assert ended["exit_code"] == 3
    until(lambda: not alive(stray), "what it had started is gone")
    sessions.home.nothing_left()


def test_an_idle_session_is_ended_and_none_needs_a_supervisor(sessions: Sessions) -> None:
    sessions.start("--no-daemon", "--name", "one", "say alone")
    assert sessions.home.daemons() == []
    assert sessions.ok("send", "one", "--no-daemon", "--wait", "say again") == "again"
    assert sessions.home.daemons() == []
    sessions.ok("stop", "one", "--no-daemon")
    sessions.start("--no-daemon", "--name", "two", "say little", OSRC_SESSION_IDLE="1")
    until(lambda: json.loads(sessions.ok("read", "two", "--json"))["events"][-1]["type"] == "exited", "it was ended")
    sessions.home.nothing_left()
    assert sessions.ok("stop", "two", "--no-daemon") == "two exited (idle for 1 s)"
    assert sessions.given() == ["say alone", "say again", "say little"]


def test_a_program_that_is_not_there_is_refused_and_one_that_leaves_at_once_is_told(sessions: Sessions) -> None:
    (sessions.home.scratch / "bin" / "claude").write_text("#!/bin/sh\necho no login >&2\nexit 7\n")
    done = sessions.osrc("start", "--lane", "claude", "say x")
    assert (done.returncode, b"did not start" in done.stderr) == (1, True)
    (sessions.home.scratch / "bin" / "claude").unlink()
    done = sessions.osrc("start", "--lane", "claude", "say x")
    assert (done.returncode, b"claude was not found" in done.stderr) == (1, True)
    nothing = sessions.osrc("start", "--lane", "embedded", "say x")
    assert (nothing.returncode, b"has no sessions" in nothing.stderr) == (1, True)
    assert sessions.given() == []
