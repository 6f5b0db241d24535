"""What delegates do to a supervisor: silence, floods, noise, and refusing to leave. Each gets its true verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.lanes import fake_argv, lane_toml, write_lane
from fakes.osrc_process import shown
from fakes.supervised import Supervised, alive, pid_in, until

MEBIBYTE = 1 << 20
FLOOD = 64_000_000
"""Bytes; whole lines of the fake's hundred."""
LONG_S = 600
DONE: tuple[dict[str, object], ...] = ({"mark": "DONE", "text": "ok"}, {"end": "the answer"})
BLINK = {"OSRC_POLL": "0.1", "OSRC_STALL_WARN": "1", "OSRC_STALL_KILL": "3"}
"""A stall window short enough for a test."""


def resident_kib(pid: int) -> int:
    """Highest resident size of a process so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


# --- stdin


def test_it_never_reads_stdin(shared: Supervised) -> None:
    """A prompt of 2 MiB waits in a file, not in a pipe that somebody would have to drain."""
    script = shared.scratch / "script.json"
    script.write_text(json.dumps([{"say": "I was not told how to sign"}, {"end": "the answer"}]))
    write_lane(shared.root, "deaf", lane_toml(argv=fake_argv("osrc-jsonl", "--no-stdin", "--script", str(script))))
    task = shared.scratch / "task.md"
    task.write_text("do it\n" * (2 * MEBIBYTE // 6))
    done = shared.osrc("run", "--lane", "deaf", "--task-file", str(task))
    assert (done.returncode, done.stdout) == (2, b"the answer\n"), shown(done)


# --- leaving


@pytest.mark.parametrize(
    "left",
    [
        {"grandchild": LONG_S},
        {"grandchild": LONG_S, "setsid": True},
        {"daemon": LONG_S},
    ],
    ids=["grandchild", "setsid", "daemon"],
)
def test_its_final_event_and_somebody_who_holds_stdout(
    shared: Supervised, tmp_path: Path, left: dict[str, object]
) -> None:
    pids = tmp_path / "left"
    record, done = shared.run({**left, "pid_file": str(pids)}, *DONE)
    assert (record["state"], done.returncode, done.stdout) == ("done", 0, b"the answer\n"), shown(done)
    assert not alive(pid_in(pids)), "what it left behind was ended"
    shared.nothing_left()


def test_its_final_event_and_then_it_refuses_to_leave(shared: Supervised) -> None:
    record, done = shared.run(*DONE, {"linger": LONG_S}, OSRC_FINAL_GRACE="0.5")
    assert (record["state"], done.returncode, done.stdout) == ("done", 0, b"the answer\n"), shown(done)
    assert record["ending"] == "idle-after-final"
    shared.nothing_left()


def test_it_goes_on_after_what_looked_final(shared: Supervised) -> None:
    """A second turn after the final event puts the grace off; the last final event counts."""
    record, done = shared.run(
        {"end": "first"},
        {"sleep": 0.1},
        {"event": {"type": "start", "model": "m"}},
        {"say": "more"},
        {"sleep": 4},
        *DONE,
        OSRC_FINAL_GRACE="3",
    )
    assert (record["state"], done.stdout) == ("done", b"the answer\n"), shown(done)
    assert record["ending"] is None


# --- silence


def test_silent_but_writing_files_lives(shared: Supervised) -> None:
    record, done = shared.run(
        {"churn": 5.0, "every_s": 0.1, "path": str(shared.work / "notes.txt")}, *DONE, verb="edit", **BLINK
    )
    assert (record["state"], done.returncode) == ("done", 0), record
    assert record["ending"] is None


def test_silent_and_dead_still_is_wedged(shared: Supervised) -> None:
    record, done = shared.run({"say": "hi"}, {"sleep": LONG_S}, **BLINK)
    assert (record["state"], record["exit"], done.returncode) == ("wedged", 125, 125), record
    assert record["ending"] == "stall-kill"
    shared.nothing_left()


def test_never_a_first_word(shared: Supervised) -> None:
    write_lane(shared.root, "mute", lane_toml(argv=["/bin/sleep", str(LONG_S)]))
    done = shared.osrc("run", "--lane", "mute", "hello?", OSRC_POLL="0.1", OSRC_NOINIT_SECS="0.8")
    record = shared.newest()
    assert (record["state"], record["ending"], done.returncode) == ("wedged", "no-init", 125), record


def test_a_hard_cap_ends_also_a_busy_one(shared: Supervised) -> None:
    record, done = shared.run(
        {"repeat": 1000, "steps": [{"say": "."}, {"sleep": 0.05}]}, words=("--timeout", "1"), OSRC_POLL="0.1"
    )
    assert (record["state"], record["exit"], done.returncode) == ("timeout", 124, 124), record
    shared.nothing_left()


def test_chatty_but_writing_nothing_under_edit_is_shown_and_lives(shared: Supervised) -> None:
    chat = {"repeat": 40, "steps": [{"say": "thinking"}, {"sleep": 0.05}]}
    record, done = shared.run(chat, *DONE, verb="edit", OSRC_POLL="0.1", OSRC_NOPROGRESS_SECS="0.6")
    assert (record["state"], done.returncode) == ("done", 0), record
    states = [fact["state"] for fact in shared.facts("job.state_changed", record["job_id"])]
    assert "no-progress-writes" in states
    assert record["ending"] is None


def test_chatty_but_writing_nothing_is_ended_where_that_is_asked_for(shared: Supervised) -> None:
    chat = {"repeat": 1000, "steps": [{"say": "thinking"}, {"sleep": 0.05}]}
    record, done = shared.run(chat, verb="edit", OSRC_POLL="0.1", OSRC_NOPROGRESS_KILL_SECS="1")
    assert (record["state"], record["ending"], done.returncode) == ("wedged", "no-progress-writes-timeout", 125), record
    shared.nothing_left()


def test_a_late_done_revokes_the_watchdog(shared: Supervised) -> None:
    """It was silent too long and is being ended; what it says while that happens counts."""
    record, done = shared.run(
        {"await": ["TERM"], "after": {"say": "hi"}},
        *DONE,
        OSRC_POLL="0.1",
        OSRC_STALL_WARN="0.3",
        OSRC_STALL_KILL="0.8",
    )
    assert record["ending"] == "stall-kill"
    assert (record["state"], done.returncode, done.stdout) == ("done", 0, b"the answer\n"), record
    assert "watchdog" in record["note"]


# --- what it prints


def test_of_a_process_that_has_ended_it_is_said_how_much_of_its_output_is_still_to_be_read(shared: Supervised) -> None:
    line = json.dumps({"type": "tool", "tool": "read", "name": "Read", "target": "a"}) + "\n"
    job_id = shared.bg({"repeat": 150, "steps": [{"raw": line * 1000}]}, *DONE)

    def seen() -> dict[str, object] | None:
        job = json.loads(shared.ok("status", job_id, "--json"))
        return job if job["note"] or job["ended"] else None

    job = until(seen, "its process ended")
    assert job["state"] == "running"
    assert "MB of its output are still to be read" in str(job["note"])
    assert "process has ended" in shared.ok("cancel", job_id)
    ended = shared.ended(job_id)
    assert (ended["state"], ended["progress"]["reads"]) == ("done", 150_000)


def test_a_flood_of_junk(home: Supervised) -> None:
    record, done = home.run({"flood": FLOOD}, *DONE, timeout=400)
    assert (record["state"], done.stdout) == ("done", b"the answer\n"), shown(done)
    daemon = home.daemon()
    assert resident_kib(daemon) < 250 * 1024
    assert (home.folder(record["job_id"]) / "out.log").stat().st_size > FLOOD


def test_a_line_of_64_mebibytes(home: Supervised) -> None:
    record, done = home.run({"long_line": 64 * MEBIBYTE}, *DONE, timeout=400)
    assert (record["state"], done.stdout) == ("done", b"the answer\n"), shown(done)
    daemon = home.daemon()
    assert resident_kib(daemon) < 250 * 1024


@pytest.mark.parametrize(
    "noise",
    [
        ({"invalid_utf8": True},),
        ({"noise": True},),
        ({"noise": True}, {"cut": "wörds — ✓"}),
        ({"hex": "00ff1b5d303b"}, {"raw": "\n"}),
        ({"raw": '{"type":"text","text":'}, {"raw": "\n"}),
        ({"raw": "[" * 100_000 + "\n"},),
        ({"err": "on stderr\n" * 1000},),
    ],
    ids=["invalid-utf8", "escapes", "cut", "nul", "half-json", "deep-json", "stderr"],
)
def test_noise_before_the_answer(shared: Supervised, noise: tuple[dict[str, object], ...]) -> None:
    record, done = shared.run(*noise, *DONE)
    assert (record["state"], done.returncode, done.stdout) == ("done", 0, b"the answer\n"), shown(done)
    assert b"Traceback" not in shared.log().encode()


def test_a_character_cut_at_every_byte_arrives_whole(shared: Supervised) -> None:
    text = "grüße, 你好, 🎉"
    record, done = shared.run({"cut": text}, {"mark": "DONE"}, {"end": text})
    assert done.stdout.decode() == text + "\n", shown(done)
    events = (shared.folder(record["job_id"]) / "events.jsonl").read_text(encoding="utf-8")
    assert "�" not in events


def test_escapes_in_an_answer_do_not_reach_a_pipe_or_terminal(shared: Supervised) -> None:
    _, done = shared.run({"event": {"type": "end", "ok": True, "text": "a\u001b]0;title\u0007b\u001b[31mc\u009b1m"}})
    assert b"\x1b" not in done.stdout, shown(done)


def test_the_prompt_echoed_back_signs_nothing(shared: Supervised) -> None:
    """Whatever the prompt says about markers, an echo of it is no marker."""
    record, _ = shared.run({"echo": True}, {"end": "{prompt}"})
    assert record["state"] == "done?"
    assert record["progress"]["last_marker"] is None


def test_an_unsigned_marker_signs_nothing(shared: Supervised) -> None:
    record, done = shared.run(
        {"say": "OSRC::DONE all is well"}, {"say": "OSRC::DONE #0123456789abcdef ok"}, {"end": "hm"}
    )
    assert (record["state"], done.returncode) == ("done?", 2)


def test_exit_0_with_nothing_said(shared: Supervised) -> None:
    record, done = shared.run({"exit": 0})
    assert (record["state"], record["outcome"], done.returncode) == ("failed", "empty-output", 1), record


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (({"say": "hm"}, {"exit": 3}), ("failed", 1)),
        (({"say": "hm"}, {"exit": 0}), ("failed", 1)),
        (({"end": "no", "ok": False, "message": "it broke"},), ("failed", 1)),
        (({"mark": "BLOCKED", "text": "no access"}, {"end": "sorry"}), ("blocked", 3)),
        (({"mark": "NEED_INPUT", "text": "which one?"}, {"end": "sorry"}), ("blocked", 3)),
        (({"say": "hm"}, {"kill": 11}), ("interrupted", 130)),
        ((*DONE, {"exit": 9}), ("done", 0)),
    ],
)
def test_verdicts(shared: Supervised, actions: tuple[dict[str, Any], ...], expected: tuple[str, int]) -> None:
    record, done = shared.run(*actions)
    assert (record["state"], record["exit"]) == expected, record
    assert done.returncode == expected[1], shown(done)


def test_cancel_ends_what_ignores_term(shared: Supervised, tmp_path: Path) -> None:
    pids = tmp_path / "child"
    job_id = shared.bg({"ignore": ["TERM", "INT", "HUP"]}, {"daemon": LONG_S, "pid_file": str(pids)}, {"sleep": LONG_S})
    child = pid_in(pids)
    shared.ok("cancel", job_id)
    record = shared.ended(job_id)
    assert (record["state"], record["exit"]) == ("canceled", 130)
    until(lambda: not alive(child), "the daemon is gone too")
    shared.nothing_left()
