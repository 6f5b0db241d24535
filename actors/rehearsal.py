"""One real turn of an installed CLI against a scripted model on loopback: does it still speak as its lane reads it?

In a home of its own that is removed afterwards. No account is used, and nothing is asked of a real model.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..lanes.contract import Lane, Launch, Stream, Task
from ..lanes.scenes import Scene, scene
from ..messages.job import ExitStatus
from ..messages.lane_events import LaneEvent, TurnEnded, Unrecognised
from ..messages.refusals import Refused
from ..messages.vocabulary import Verb
from ..state.settings import Settings
from .host import host_for
from .scripted_model import ScriptedModel

TURN_S = 90.0
"""Longest wait for one turn (copilot and cline need some ten seconds to start on a busy machine)."""
OUTPUT_LIMIT = 16 * 1024 * 1024
SENTENCE = "The canary sings."


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a turn went. ``ok`` None: this CLI can't be led to a server of ours."""

    ok: bool | None
    notes: tuple[str, ...] = ()


def rehearse(lane: Lane, environment: Mapping[str, str], *, turn_s: float = TURN_S) -> Rehearsal:
    """Play one ``run`` turn of ``lane``, whose program is looked for on the PATH of ``environment``."""
    with (
        ScriptedModel(SENTENCE) as model,
        tempfile.TemporaryDirectory(prefix="osrc-canary-", ignore_cleanup_errors=True) as root,
    ):
        played = scene(lane.name, model.url)
        if played is None:
            return Rehearsal(ok=None)
        stage = _Stage(Path(root), environment, played)
        prompt = f"Say hello to {secrets.token_hex(8)} now."
        launch = stage.plan(lane, prompt, played)
        if isinstance(launch, Refused):
            return Rehearsal(ok=False, notes=(f"its lane refuses: {launch.message}",))
        out, err, ended = stage.run(launch, turn_s)
        parser = lane.parser(Task(verb=Verb.RUN, prompt=prompt, cwd=str(stage.work), model=played.model))
        events = [*parser.feed(out), *parser.feed(err, Stream.ERR)]
        if lane.report is not None:
            events += parser.feed(stage.report(lane.report), Stream.REPORT)
        return _judge([*events, *parser.finish(ended)], ended, heard=any(prompt.encode() in one for one in model.heard))


def _judge(events: list[LaneEvent], ended: ExitStatus, *, heard: bool) -> Rehearsal:
    ends = [event for event in events if isinstance(event, TurnEnded)]
    last = ends[-1] if ends else None
    notes = []
    if ended.code != 0:
        notes.append("it was ended: it took too long" if ended.code is None else f"exit {ended.code}")
    if not heard:
        notes.append("the prompt never reached the model")
    if last is None or not last.ok:
        said = last.message if last is not None else None
        notes.append("its turn did not end well" + (f": {' '.join(said.split())[:200]}" if said else ""))
    elif SENTENCE not in (last.text or ""):
        notes.append("its answer is not what the model said")
    strange = sum(event.count for event in events if isinstance(event, Unrecognised))
    if strange:
        notes.append(f"{strange} of its lines are not known to its lane")
    return Rehearsal(ok=not notes, notes=tuple(notes))


class _Stage:
    """A home, a work folder and a job folder, with what the scene puts there."""

    def __init__(self, root: Path, environment: Mapping[str, str], played: Scene) -> None:
        self.home, self.work, self.job = root / "home", root / "work", root / "job"
        for folder in (self.home, self.work, self.job, root / "tmp"):
            folder.mkdir(mode=0o700)
        for name, content in played.files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        self.environment = {
            "PATH": environment.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(root / "tmp"),
            "LANG": "C.UTF-8",
            **played.environment,
        }
        if played.keeps_cache:
            person = Path(environment.get("HOME", "/"))
            self.environment["XDG_CACHE_HOME"] = environment.get("XDG_CACHE_HOME") or str(person / ".cache")

    def plan(self, lane: Lane, prompt: str, played: Scene) -> Launch | Refused:
        """Return the launch of a ``run``, with the scene's environment alone."""
        host = host_for(lane, self.environment, Settings.load(self.environment, None))
        return lane.plan(Task(verb=Verb.RUN, prompt=prompt, cwd=str(self.work), model=played.model), host)

    def run(self, launch: Launch, within_s: float) -> tuple[bytes, bytes, ExitStatus]:
        """Run it to its end, or end it; return what it printed."""
        for file in launch.files:
            path = self.job / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(0o700 if file.executable else 0o600)
        stdin = self.job / "stdin"
        stdin.write_bytes(launch.stdin or b"")
        with stdin.open("rb") as source:
            process = subprocess.Popen(
                [self._placed(item, launch) for item in launch.argv],
                cwd=self.work,
                env={name: value for name, value in self.environment.items() if not _stripped(name, launch)}
                | {name: self._placed(value, launch) for name, value in launch.env_set.items()},
                stdin=source if launch.stdin is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        try:
            out, err = process.communicate(timeout=within_s)
            ended = ExitStatus(code=process.returncode) if process.returncode >= 0 else _signalled(process.returncode)
        except subprocess.TimeoutExpired:
            _end(process)
            out, err = process.communicate()
            ended = ExitStatus(signal=int(signal.SIGKILL))
        return out[:OUTPUT_LIMIT], err[:OUTPUT_LIMIT], ended

    def report(self, name: str) -> bytes:
        """Return what the CLI wrote to its report."""
        try:
            return (self.job / name).read_bytes()[:OUTPUT_LIMIT]
        except OSError:
            return b""

    def _placed(self, text: str, launch: Launch) -> str:
        return text.replace("{job}", str(self.job)) if launch.files else text


def _signalled(code: int) -> ExitStatus:
    return ExitStatus(signal=-code)


def _stripped(name: str, launch: Launch) -> bool:
    return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in launch.env_strip)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group that was started here; its first process was not waited for yet, so the id is its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        return
