"""One attempt on a lane without a supervisor: plan, start, read, judge. What is under test is the lane."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from outsourcerer.lanes import evidence as evidences
from outsourcerer.lanes import markers
from outsourcerer.lanes.contract import Ending, Host, Lane, Launch, Stream, Task
from outsourcerer.lanes.evidence import Evidence
from outsourcerer.lanes.outcome import Verdict, judge
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind
from outsourcerer.messages.vocabulary import Verb

MARKER = markers.mint(b"a marker")


class Attempt(NamedTuple):
    """What was seen, why it failed if it did, and the verdict."""

    seen: Evidence
    failure: FailureKind
    verdict: Verdict


def host_of(lane: Lane, environ: Mapping[str, str]) -> Host:
    """The facts that a real host would give."""
    wanted = (lane.binary, *lane.executables) if lane.binary else lane.executables
    found = {name: shutil.which(name, path=environ["PATH"]) for name in wanted}
    return Host(environment=environ, executables=found, python=sys.executable, home=environ["HOME"], is_root=True)


def child_environment(launch: Launch, environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment as the launch changes it."""
    prefixes = tuple(name[:-1] for name in launch.env_strip if name.endswith("*"))
    kept = {
        name: value
        for name, value in environ.items()
        if name not in launch.env_strip and not (prefixes and name.startswith(prefixes))
    }
    return kept | dict(launch.env_set)


def attempt(lane: Lane, verb: Verb, model: str, cwd: Path, environ: Mapping[str, str]) -> Attempt:
    """Run one attempt to its end, ended early where the lane's evidence says that waiting is pointless."""
    prompt = f"Do what the script says.\n\n{markers.disclose(MARKER)}"
    task = Task(verb=verb, prompt=prompt, cwd=str(cwd), model=model)
    launch = lane.plan(task, host_of(lane, environ))
    assert isinstance(launch, Launch), launch
    assert launch.files == ()
    parser, scanner, seen = lane.parser(task), markers.MarkerScanner(MARKER), Evidence()
    tail, hopeless = b"", None
    with subprocess.Popen(
        launch.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=child_environment(launch, environ),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(launch.stdin or b"")
        process.stdin.close()
        for stream, data in chunks(process):
            tail = (tail + data)[-4096:] if stream is Stream.ERR else tail
            for event in scanner.scan(parser.feed(data, stream)):
                seen = evidences.fold(seen, event)
            if hopeless is None and (hopeless := evidences.hopeless(seen)) is not None:
                process.terminate()
    code = process.returncode
    ended = ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)
    for event in scanner.scan(parser.finish(ended)):
        seen = evidences.fold(seen, event)
    failure = hopeless or lane.classify(
        Ending(exit=ended, turn=seen.turn, retries=seen.retry_statuses, tail=tail.decode("utf-8", "replace"))
    )
    return Attempt(seen, failure, judge(seen, ended, failure=failure, verb=verb))


def chunks(process: subprocess.Popen[bytes]) -> Iterator[tuple[Stream, bytes]]:
    """What the process writes, in the order it came; ends when both streams have."""
    queue: SimpleQueue[tuple[Stream, bytes]] = SimpleQueue()

    def pump(stream: Stream, pipe: BufferedReader) -> None:
        while data := pipe.read1(65536):
            queue.put((stream, data))
        queue.put((stream, b""))

    for stream, pipe in ((Stream.OUT, process.stdout), (Stream.ERR, process.stderr)):
        threading.Thread(target=pump, args=(stream, pipe), daemon=True).start()
    open_streams = 2
    while open_streams:
        stream, data = queue.get(timeout=120)
        open_streams -= not data
        yield stream, data
