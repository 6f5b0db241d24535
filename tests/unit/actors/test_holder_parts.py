"""What a holder is made of: its loop, its log, its door, and how light it is."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import outsourcerer
from outsourcerer.actors.holder import Holder
from outsourcerer.actors.holder_door import Door
from outsourcerer.actors.holder_log import EventLog
from outsourcerer.actors.holder_loop import SelectLoop
from outsourcerer.actors.session_reading import Tail, read_news
from outsourcerer.messages.session import LimitsObserved, SessionObserved, SessionRecord
from outsourcerer.messages.vocabulary import SessionState

ROOT = Path(outsourcerer.__path__[0])


def test_a_loop_writes_what_nobody_reads_yet_without_blocking() -> None:
    loop = SelectLoop()
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(read, False)
    order: list[str] = []
    got = bytearray()
    data = b"x" * 300_000  # more than a pipe holds

    def take() -> None:
        got.extend(os.read(read, 65536))
        loop.stopped = len(got) == len(data) + 1

    loop.write(write, data, lambda: order.append("first"))
    loop.write(write, b"y", lambda: order.append("second"))
    assert order == []
    loop.watch(read, take)
    loop.run()
    assert (order, bytes(got)) == (["first", "second"], data + b"y")
    loop.stopped = False
    forgotten = loop.later(0.0, lambda: order.append("never"))
    loop.forget(forgotten)
    loop.later(0.01, lambda: setattr(loop, "stopped", True))
    loop.run()
    assert order == ["first", "second"]
    os.close(read)
    loop.write(write, b"z", lambda: order.append("never"))  # its end is gone: dropped
    loop.unwatch(write)
    os.close(write)
    assert order == ["first", "second"]


def test_a_log_goes_on_after_a_kill_and_cuts_what_is_long(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path))
    log.append({"type": "text", "text": "é" * 40_000})
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"seq": 99, "half')
    again = EventLog(str(tmp_path))
    again.append({"type": "end", "ok": True, "text": "\ud800"})
    lines = (tmp_path / "events.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["seq"] for line in lines if line and not line.endswith(b"half")] == [1, 2, 3, 4]
    assert "".join(json.loads(line)["text"] for line in lines[:3]) == "é" * 40_000
    tail = Tail(tmp_path / "events.jsonl")
    events, more = tail.more()
    assert ([event["seq"] for event in events], more) == ([1, 2, 3, 4], False)
    assert tail.more() == ([], False)


def test_a_log_on_a_full_disk_keeps_what_it_could_not_write(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path / "gone"))
    log.append({"type": "state", "state": "idle"})
    assert not log.flush()
    (tmp_path / "gone").mkdir()
    assert log.flush()
    assert json.loads((tmp_path / "gone" / "events.jsonl").read_text())["seq"] == 1


def test_a_door_opens_to_the_token_only(tmp_path: Path) -> None:
    loop = SelectLoop()
    heard: list[tuple[str, dict[str, Any]]] = []

    def answer(op: str, request: dict[str, Any]) -> dict[str, Any]:
        heard.append((op, request))
        return {"ok": True, "op": op}

    place = tmp_path / "s"
    door = Door(loop, str(place), "right", answer)
    place.write_text("stale")
    door.open()
    assert place.stat().st_mode & 0o777 == 0o600

    def ask(*lines: bytes) -> list[bytes]:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(place))
            client.sendall(b"".join(lines))
            client.settimeout(20)
            loop.stopped = False
            loop.later(0.1, lambda: setattr(loop, "stopped", True))
            loop.run()
            return client.recv(65536).splitlines()

    told = ask(b'{"token": "right", "op": "state"}\n{"token": "right", "op": "look"}\n')
    assert [json.loads(line)["op"] for line in told] == ["state", "look"]
    for bad in (b'{"token": "wrong", "op": "close"}\n', b"garbage\n", b"[" * 5000 + b"\n", b'{"op": "close"}\n'):
        assert json.loads(ask(bad)[0])["ok"] is False
    assert [op for op, _ in heard] == ["state", "look"]
    door.close()
    assert not place.exists()


def test_what_the_events_mean_for_the_record() -> None:
    record = SessionRecord.model_validate(
        {"session_id": "20261130-124501-000000000001", "name": "x", "lane": "codex", "vehicle": "codex",
         "transport": "native", "cwd": "/", "accepted_at": 1.0, "conversation": "c"}
    )  # fmt: skip
    events = [
        {"type": "start", "conversation": "c"},
        {"type": "start", "model": "m"},
        {"type": "state", "state": "working", "evidence": "e"},
        {"type": "limits", "rejected": True, "windows": [{"name": "primary", "utilization": 1.0}, 7]},
        {"type": "switched", "model": "n", "effort": "high"},
        {"type": "end", "ok": True},
        {"type": "state", "state": "from the future"},
        {"type": "state", "state": "idle"},
        {"type": 7},
    ]
    news = read_news(record, events, 2)
    assert [seen.state for seen in news.seen] == [SessionState.WORKING, SessionState.IDLE]
    limits, observed = news.facts
    assert isinstance(limits, LimitsObserved)
    assert (limits.rejected, limits.windows[0].utilization) == (True, 1.0)
    assert isinstance(observed, SessionObserved)
    assert (observed.model_observed, observed.model, observed.turns, observed.conversation) == ("m", "n", 3, None)
    assert read_news(record.model_copy(update={"turns": 3}), [], 3).facts == []


def test_a_holder_loads_nothing_that_is_not_the_standard_library() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'actors')!r}); import holder_main; "
        f"holder_main.know_package({str(ROOT)!r}); import outsourcerer.actors.holder as h; "
        "import outsourcerer.actors.transports.piped; "
        "import outsourcerer.lanes.vehicles.acp.client, outsourcerer.lanes.vehicles.claude_code.control; "
        "import outsourcerer.lanes.vehicles.codex_cli.app_server, outsourcerer.lanes.vehicles.pi_cli.rpc; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['__main__', 'holder_main', 'outsourcerer']"


def test_an_entry_that_was_taken_back_holds_up_none_behind_it(tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    given: list[tuple[int, str]] = []
    holder = Holder(str(tmp_path), {"attempt": 1, "socket": str(tmp_path / "s"), "token": "t"}, {})
    holder._engine = SimpleNamespace(interrupt=lambda number: given.append((number, "interrupt")))  # type: ignore[assignment]
    holder.state = "working"
    for number in (1, 4, 5):
        entry = {"number": number, "id": f"c:{number}", "op": "interrupt"}
        (tmp_path / "inbox" / f"{number:08}.json").write_text(json.dumps(entry))
        holder._look()
    (tmp_path / "inbox" / "00000006.json").symlink_to("nowhere")  # it is there and can't be read: nothing overtakes it
    (tmp_path / "inbox" / "00000007.json").write_text(json.dumps({"number": 7, "id": "c:7", "op": "interrupt"}))
    holder._look()
    assert [number for number, _ in given] == [1, 4, 5]
