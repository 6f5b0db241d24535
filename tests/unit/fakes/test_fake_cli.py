"""The fake is what every integration test stands on: it is held to its own description here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.fake_cli import read_marker_id
from fakes.lanes import FAKE_CLI, fake_argv, install_fake_lanes, lane_toml, steps
from fakes.osrc_process import until
from outsourcerer.lanes import markers
from outsourcerer.lanes.contract import Host, Launch, Locality, Task
from outsourcerer.lanes.registry import all_lanes
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import Marked, MarkerKind, TurnEnded
from outsourcerer.messages.refusals import Refused
from outsourcerer.messages.vocabulary import Verb

MARKER = markers.mint(bytes(range(8)))


def fake(
    prompt: str = "", *words: str, format_: str = "osrc-jsonl", timeout_s: float = 60
) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-I", "-S", str(FAKE_CLI), "--format", format_, *words]
    return subprocess.run(argv, input=prompt.encode(), capture_output=True, timeout=timeout_s, check=False)


def lines(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def wait_gone(pid: int) -> None:
    until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.parametrize("name", ["fake", "fake-text", "fake-buffered"])
def test_its_lanes_are_real_lanes(tmp_path: Path, name: str) -> None:
    install_fake_lanes(tmp_path)
    registry = all_lanes({str(path): path.read_bytes() for path in (tmp_path / "lanes.d").iterdir()})
    assert registry.problems == ()
    lane = registry.get(name)
    assert not isinstance(lane, Refused)
    assert (lane.locality, lane.liveness.streamed) == (Locality.LOCAL, name != "fake-buffered")
    task = Task(
        verb=Verb.RUN,
        prompt=steps({"mark": "DONE", "text": "well"}, {"end": "bye"}) + "\n" + markers.disclose(MARKER),
        cwd="/",
    )
    launch = lane.plan(task, Host(environment={}, executables={}))
    assert isinstance(launch, Launch)
    done = subprocess.run(launch.argv, input=launch.stdin, capture_output=True, timeout=60, check=True)
    parser = lane.parser(task)
    events = markers.MarkerScanner(MARKER).scan(parser.feed(done.stdout) + parser.finish(ExitStatus(code=0)))
    assert [(event.marker, event.signed) for event in events if isinstance(event, Marked)] == [(MarkerKind.DONE, True)]
    end = events[-1]
    assert isinstance(end, TurnEnded)
    assert end.ok
    assert (end.text or "").endswith("bye")


def test_it_joins_the_disclosed_halves_even_when_they_were_rewrapped() -> None:
    prose = markers.disclose(MARKER)
    assert read_marker_id(prose) == MARKER
    assert read_marker_id(prose.replace("\n", " ")) == MARKER
    assert read_marker_id("nothing here") is None


def test_without_steps_it_just_answers() -> None:
    assert fake(format_="text").stdout == b"fake answer\n"
    assert [event["type"] for event in lines(fake("any words"))] == ["start", "text", "end"]


def test_steps_come_from_a_script_too(tmp_path: Path) -> None:
    script = tmp_path / "s.json"
    script.write_text(json.dumps([{"say": "{prompt}!"}]))
    assert fake("hey", "--script", str(script), format_="text").stdout == b"hey!\n"


def test_tools_do_what_they_say(tmp_path: Path) -> None:
    target = tmp_path / "f"
    done = fake(steps({"write": str(target), "content": "x"}, {"run": ["cat", str(target)]}))
    kinds = [(event.get("type"), event.get("tool"), event.get("excerpt")) for event in lines(done)[1:]]
    assert kinds == [
        ("tool", "write", None),
        ("tool_end", None, None),
        ("tool", "execute", None),
        ("tool_end", None, "x"),
    ]
    assert target.read_text() == "x"


def test_a_character_is_cut_into_bytes_and_arrives_whole() -> None:
    parser_input = fake(steps({"cut": "a😀b"}))
    assert lines(parser_input)[1]["text"] == "a😀b"


def test_each_start_is_recorded_with_the_prompt(tmp_path: Path) -> None:
    record = tmp_path / "starts"
    for _ in range(2):
        fake(steps({"record": str(record)}))
    rows = [line.split() for line in record.read_text().splitlines()]
    assert len(rows) == 2
    assert rows[0][1] == rows[1][1]
    assert len(rows[0][1]) == 64


def test_exit_codes_and_signals_are_its_own() -> None:
    assert fake(steps({"exit": 7})).returncode == 7
    assert fake(steps({"kill": 9})).returncode == -9
    assert fake(steps({"nonsense": 1})).returncode == 97


def test_a_grandchild_keeps_stdout_open_after_the_end(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    argv = [sys.executable, "-I", "-S", str(FAKE_CLI)]
    prompt = steps({"grandchild": 60, "setsid": True, "pid_file": str(note)}, {"end": "bye"}).encode()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(prompt)
        process.stdin.close()
        assert process.wait(120) == 0
        child = int(note.read_text())
        assert os.getsid(child) != os.getsid(os.getpid())
        os.kill(child, signal.SIGKILL)  # closes the last writer: reading to the end is now possible
        assert process.stdout.read() == b"bye\n"


def test_a_daemon_belongs_to_nobody(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    argv = [sys.executable, "-I", "-S", str(FAKE_CLI)]
    prompt = steps({"daemon": 60, "pid_file": str(note)}).encode()
    subprocess.run(argv, input=prompt, stdout=subprocess.DEVNULL, timeout=60, check=True)
    daemon = int(note.read_text())
    assert Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1] != str(os.getpid())
    os.kill(daemon, signal.SIGKILL)
    wait_gone(daemon)


def test_term_can_be_ignored_but_kill_cannot(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    argv = [
        sys.executable,
        "-I",
        "-S",
        str(FAKE_CLI),
        "--no-stdin",
        steps({"ignore": ["TERM"]}, {"write": str(ready)}, {"sleep": 60}),
    ]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        until(ready.exists)
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.kill()
        assert process.wait(120) == -9


def test_floods_and_long_lines_have_their_size() -> None:
    assert len(fake(steps({"flood": 3_000_001}), format_="text").stdout) == 3_000_001
    long = fake(steps({"long_line": 2_500_000})).stdout.splitlines()[1]
    assert len(json.loads(long)["text"]) == 2_500_000


def test_a_lane_text_names_only_what_the_lane_loader_knows() -> None:
    registry = all_lanes({"x": lane_toml(argv=fake_argv("text"), output="text").encode()})
    assert registry.problems == ()
