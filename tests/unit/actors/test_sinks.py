"""The ways to wake somebody, for real: a command, a file and a FIFO, a webhook; none twice, none without bound."""

import base64
import hashlib
import hmac
import http.server
import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.actors import eventually
from outsourcerer.actors import sinks
from outsourcerer.actors.notifier import Notifier
from outsourcerer.actors.sinks import Push, notice_argv
from outsourcerer.messages.alarm import SinkTold
from outsourcerer.state.alarm_machine import Condition, Moment, fresh
from outsourcerer.state.heartbeat_file import Arming
from outsourcerer.state.wake_event import line

SUMMARY = "job $(touch /x) `id` 'q' \"d\" ; is blocked"


def push(tmp_path, **arming):
    wakes = tmp_path / "wakes"
    wakes.mkdir(exist_ok=True)
    condition = Condition(entity="job:J", state="blocked", since=5.0, job_id="J", summary=SUMMARY)
    record = fresh(condition, Moment(now=6.0, generation="g-1"))
    return Push(record=record, arming=Arming(**arming), wakes=wakes, home=tmp_path)


def test_a_command_is_given_the_summary_and_the_event_as_data(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    out = tmp_path / "out"
    script = (
        f'printf "%s\\n" "$1" "$OSRC_WAKE_EVENT" "$OSRC_HOME" "$0" "${{CLAUDECODE-none}}" > {out}; cat >> {out}; exit 7'
    )
    told = push(tmp_path, wake=script)
    assert sinks.command(told) == SinkTold(sink="command", result="given"), "its exit code says nothing"
    lines = out.read_text().splitlines()
    assert lines == [SUMMARY, line(told.record), str(tmp_path), "osrc-wake", "none", line(told.record)]
    assert json.loads(lines[1])["push_id"] == told.record.push_id


def test_a_push_is_given_to_a_command_once_whoever_asks_again(tmp_path):
    out = tmp_path / "out"
    told = push(tmp_path, wake=f"echo x >> {out}")
    assert [sinks.command(told).result for _ in range(3)] == ["given"] * 3
    assert out.read_text() == "x\n"


def test_two_supervisors_at_once_wake_once(tmp_path):
    out = tmp_path / "out"
    told = push(tmp_path, wake=f"echo x >> {out}")
    results = []
    threads = [threading.Thread(target=lambda: results.append(sinks.command(told).result)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == ["given"] * 3
    assert out.read_text() == "x\n"


def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path):
    pids = tmp_path / "pids"
    told = push(tmp_path, wake=f"trap '' TERM; sleep 600 & echo $$ $! > {pids}; wait; sleep 600", wake_timeout_s=3.0)
    assert sinks.command(told).result == "late"
    eventually(lambda: not any(running(pid) for pid in pids.read_text().split()))


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_a_claim_that_was_taken_and_never_used_is_taken_again(tmp_path):
    out = tmp_path / "out"
    told = push(tmp_path, wake=f"echo x >> {out}")
    claim = told.wakes / f"{told.record.push_id}.claim"
    claim.write_text("taken 999999999\n")
    assert sinks.command(told).result == "given"
    assert out.read_text() == "x\n"
    claim.write_text("taken 999999999\nstarted\n")
    assert sinks.command(told) == SinkTold(sink="command", result="unknown"), "it began: not again"
    assert out.read_text() == "x\n"
    claim.write_bytes(b"\xff\x00" * 100)
    assert sinks.command(told).result == "given"


def test_what_a_command_started_in_order_goes_on(tmp_path):
    out = tmp_path / "out"
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    told = push(tmp_path, wake=f"(read x < {gate}; echo on > {out}) & exit 0")
    assert sinks.command(told).result == "given"
    gate.write_text("go\n")
    eventually(out.exists)


def test_a_file_gets_a_line_once_and_what_is_none_is_said(tmp_path):
    path = tmp_path / "events"
    told = push(tmp_path, sink=str(path))
    assert sinks.file(told).result == "failed", "it is not made for them"
    path.write_text("")
    assert [sinks.file(told).result for _ in range(2)] == ["given", "given"]
    assert path.read_text() == line(told.record) + "\n"
    assert sinks.file(replace(told, arming=Arming(sink=str(tmp_path)))).why


def test_a_fifo_without_a_reader_keeps_nobody_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "FILE_TRIES", (0.0,))
    path = tmp_path / "fifo"
    os.mkfifo(path)
    told = push(tmp_path, sink=str(path))
    assert sinks.file(told) == SinkTold(sink="file", result="failed", why="nobody reads it")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert sinks.file(told).result == "given"
        assert os.read(reader, 65536).decode() == line(told.record) + "\n"
        writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        while True:  # full: a reader that sleeps
            try:
                os.write(writer, b"x" * 4096)
            except BlockingIOError:
                break
        os.close(writer)
        record = told.record.model_copy(update={"pushes": 2})
        assert sinks.file(replace(told, record=record)).result == "failed"
    finally:
        os.close(reader)


class Server:
    """Answers every post with the next status, the last one for ever."""

    def __init__(self, *statuses):
        self.statuses, self.posts = list(statuses), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.posts.append((dict(self.headers), body))
                self.send_response(outer.statuses.pop(0) if len(outer.statuses) > 1 else outer.statuses[0])
                self.send_header("location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize(
    ("statuses", "result", "posts"),
    [
        ((204,), "given", 1),
        ((503, 500, 200), "given", 3),
        ((503,), "failed", 3),
        ((404,), "failed", 1),
        ((302,), "failed", 1),
    ],
)
def test_a_webhook_is_tried_again_where_that_may_help(tmp_path, monkeypatch, statuses, result, posts):
    monkeypatch.setattr(sinks, "WEBHOOK_TRIES", (0.0, 0.0))
    with Server(*statuses) as server:
        assert sinks.webhook(push(tmp_path, webhook=server.url)).result == result
        assert len(server.posts) == posts
        assert len({headers["webhook-id"] for headers, _ in server.posts}) == 1


def test_a_webhook_is_signed_as_the_standard_says(tmp_path):
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
    with Server(200) as server:
        told = push(tmp_path, webhook=server.url, webhook_secret=secret, webhook_signed=True)
        assert sinks.webhook(told).result == "given"
        [(headers, body)] = server.posts
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(b"0123456789abcdef01234567", signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 600
    assert body.decode() == line(told.record)


def test_nothing_is_posted_unsigned_that_was_to_be_signed(tmp_path):
    with Server(200) as server:
        told = sinks.webhook(push(tmp_path, webhook=server.url, webhook_signed=True))
        assert told.result == "failed"
        assert "heartbeat start" in told.why
        assert server.posts == []


def test_nobody_there_is_a_failure_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "WEBHOOK_TRIES", ())
    assert sinks.webhook(push(tmp_path, webhook="http://127.0.0.1:9/")).result == "failed"
    assert sinks.webhook(push(tmp_path, webhook="https://\x00/")).result == "failed"


def test_a_notice_s_words_are_arguments():
    for platform, program in (("darwin", "osascript"), ("linux", "notify-send")):
        argv = notice_argv(SUMMARY, platform, lambda name, program=program: f"/bin/{name}" if name == program else None)
        assert argv[0] == f"/bin/{program}"
        assert argv.count(SUMMARY) == 1
        assert not any(SUMMARY in word for word in argv if word != SUMMARY)
    assert notice_argv(SUMMARY, "linux", lambda _: None) is None


def test_a_notice_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "DESKTOP_S", 0.2)
    for script, result in (("exec sleep 600", "late"), ("exit 0", "given"), ("exit 3", "failed")):
        program = tmp_path / "notify"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(sinks, "notice_argv", lambda *_, program=program: [str(program)])
        monkeypatch.setattr(sinks, "DESKTOP_S", 0.2 if result == "late" else 30.0)
        assert sinks.desktop(push(tmp_path)).result == result


def test_one_sink_does_not_wait_for_another_and_a_fault_is_a_failure(tmp_path):
    gate, told = threading.Event(), []

    def stuck(given):
        gate.wait(120)
        return SinkTold(sink="command", result="given")

    def broken(given):
        raise ZeroDivisionError

    notifier = Notifier(lambda _, one: told.append((one.sink, one.result)), {"command": stuck, "file": broken})
    notifier.push(push(tmp_path), ("command", "file"))
    eventually(lambda: told == [("file", "failed")])
    gate.set()
    eventually(lambda: ("command", "given") in told)
    notifier.close()
