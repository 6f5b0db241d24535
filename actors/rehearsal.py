"""One real turn of an installed CLI, outside of any job.

``rehearse``: against a scripted model on loopback, in a home of its own that is removed afterwards. Does it
still speak as its lane reads it? No account is used, and nothing is asked of a real model.

``ping``: as the person, against the real model. Does the lane answer? It costs what a short answer costs.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..lanes.contract import Host, Lane, Launch, Stream, Task
from ..lanes.disclosure import addresses_of
from ..lanes.scenes import Scene, scene
from ..messages.job import ExitStatus
from ..messages.lane_events import LaneEvent, TurnEnded, Unrecognised
from ..messages.refusals import Refused
from ..messages.vocabulary import Verb
from ..state.home import Home
from ..state.settings import Settings
from .gate import Dispatch, Passed, Scope, pass_gate, pass_rehearsal
from .host import host_for
from .scripted_model import ScriptedModel

TURN_S = 90.0
"""Longest wait for one turn (copilot and cline need some ten seconds to start on a busy machine)."""
OUTPUT_LIMIT = 16 * 1024 * 1024
SENTENCE = "The canary sings."
PING = "Reply with the single word OK. Do nothing else."


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a turn went. ``ok`` None: none was played."""

    ok: bool | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Turn:
    """What came of a turn."""

    events: tuple[LaneEvent, ...]
    ended: ExitStatus

    @property
    def last(self) -> TurnEnded | None:
        return next((event for event in reversed(self.events) if isinstance(event, TurnEnded)), None)


def rehearse(lane: Lane, environment: Mapping[str, str], *, turn_s: float = TURN_S) -> Rehearsal:
    """Play one ``run`` turn of ``lane``, whose program is looked for on the PATH of ``environment``."""
    with ScriptedModel(SENTENCE) as model, _scratch() as root:
        played = scene(lane.name, model.url)
        if played is None:
            return Rehearsal(ok=None)
        prompt = f"Say hello to {secrets.token_hex(8)} now."
        made = _set_up(root, environment, played)
        host = host_for(lane, made, Settings.load(made, None))
        permit = pass_rehearsal(f"rehearsal of {lane.name}", made, str(root))
        if isinstance(permit, Refused):
            return Rehearsal(ok=None, notes=(permit.message,))
        turn = _play(lane, _task(root, prompt, played.model), host, root, permit, within_s=turn_s)
        if isinstance(turn, Refused):
            return Rehearsal(ok=False, notes=(f"its lane refuses: {turn.message}",))
        notes = _faults(turn)
        if not any(prompt.encode() in one for one in model.heard):
            notes.append("the prompt never reached the model")
        elif turn.last is not None and turn.last.ok and SENTENCE not in (turn.last.text or ""):
            notes.append("its answer is not what the model said")
        return Rehearsal(ok=not notes, notes=tuple(notes))


def ping(  # noqa: PLR0913  whom, as whom, and what was agreed to
    lane: Lane,
    environment: Mapping[str, str],
    settings: Settings,
    home: Home,
    *,
    cloud_ack: bool = False,
    tell: Callable[[Sequence[str]], None] = lambda _: None,
    turn_s: float = TURN_S,
) -> Rehearsal:
    """Ask the lane's default model for one word, in an empty folder, as the person whose environment this is.

    It passes the gate as any job does; ``tell`` gets what a person is told before anything leaves.
    """
    with _scratch() as root:
        host = host_for(lane, environment, settings)
        task = _task(root, PING, None)
        launch = lane.plan(task, host)
        if isinstance(launch, Refused):
            return Rehearsal(ok=None, notes=(launch.message,))
        permit = pass_gate(
            Dispatch(
                subject=f"ping of {lane.name}",
                attempt=1,
                lane=lane,
                verb=task.verb,
                model=None,
                server=host.server,
                addresses=addresses_of(lane, launch, PING),
                scope=Scope(folders=(task.cwd,), texts=(PING,)),
                cwd=task.cwd,
                home=home,
                environment=environment,
                settings=settings,
                cloud_ack=cloud_ack,
            )
        )
        if isinstance(permit, Refused):
            return Rehearsal(ok=None, notes=(permit.message, *((f"try: {permit.hint}",) if permit.hint else ())))
        tell(permit.disclosure)
        turn = _play(lane, task, host, root, permit, within_s=turn_s)
        if isinstance(turn, Refused):
            return Rehearsal(ok=None, notes=(turn.message,))
        notes = _faults(turn)
        if not notes and not (turn.last is not None and (turn.last.text or "").strip()):
            notes.append("it answered nothing")
        return Rehearsal(ok=not notes, notes=tuple(notes))


def _faults(turn: _Turn) -> list[str]:
    """Return what is wrong with a turn, whatever was asked."""
    notes = []
    if turn.ended.code != 0:
        notes.append("it was ended: it took too long" if turn.ended.code is None else f"exit {turn.ended.code}")
    if turn.last is None or not turn.last.ok:
        said = turn.last.message if turn.last is not None else None
        notes.append("its turn did not end well" + (f": {' '.join(said.split())[:200]}" if said else ""))
    strange = sum(event.count for event in turn.events if isinstance(event, Unrecognised))
    if strange:
        notes.append(f"{strange} of its lines are not known to its lane")
    return notes


@contextmanager
def _scratch() -> Iterator[Path]:
    """Yield a folder of folders; what a program still writes there afterwards is no fault."""
    with tempfile.TemporaryDirectory(prefix="osrc-canary-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        for folder in ("home", "work", "job", "tmp"):
            (root / folder).mkdir(mode=0o700)
        yield root


def _set_up(root: Path, environment: Mapping[str, str], played: Scene) -> dict[str, str]:
    """Put a scene's files into the home; return the environment, with nothing of the person's but the PATH."""
    for name, content in played.files.items():
        path = root / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    made = {
        "PATH": environment.get("PATH", os.defpath),
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "LANG": "C.UTF-8",
        **played.environment,
    }
    if played.keeps_cache:
        own = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "/")) / ".cache")
        made["XDG_CACHE_HOME"] = own
    return made


def _task(root: Path, prompt: str, model: str | None) -> Task:
    return Task(verb=Verb.RUN, prompt=prompt, cwd=str(root / "work"), model=model)


def _play(  # noqa: PLR0913  who plays what, where, and by whose leave
    lane: Lane, task: Task, host: Host, root: Path, permit: Passed, *, within_s: float
) -> _Turn | Refused:
    """Run one turn to its end, in the host's environment, and read it as the lane reads it."""
    launch = lane.plan(task, host)
    if isinstance(launch, Refused):
        return launch
    out, err, ended = _run(launch, root, host.environment, within_s, permit)
    parser = lane.parser(task)
    events = [*parser.feed(out), *parser.feed(err, Stream.ERR)]
    if lane.report is not None:
        events += parser.feed(_content(root / "job" / lane.report), Stream.REPORT)
    return _Turn((*events, *parser.finish(ended)), ended)


def _run(
    launch: Launch, root: Path, environment: Mapping[str, str], within_s: float, permit: Passed
) -> tuple[bytes, bytes, ExitStatus]:
    """Run a launch to its end, or end it; return what it printed."""
    permit.demand(permit.subject, 1)
    job = root / "job"

    def placed(text: str) -> str:
        return text.replace("{job}", str(job)) if launch.files else text

    for file in launch.files:
        path = job / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o700 if file.executable else 0o600)
    (job / "stdin").write_bytes(launch.stdin or b"")
    kept = {name: value for name, value in environment.items() if not _stripped(name, launch)}
    with (job / "stdin").open("rb") as source:
        process = subprocess.Popen(
            [placed(item) for item in launch.argv],
            cwd=root / "work",
            env=kept | {name: placed(value) for name, value in launch.env_set.items()},
            stdin=source if launch.stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    try:
        out, err = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        # Its first process was not waited for yet, so the group's number is still its own.
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    code = process.returncode
    ended = ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)
    return out[:OUTPUT_LIMIT], err[:OUTPUT_LIMIT], ended


def _stripped(name: str, launch: Launch) -> bool:
    return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in launch.env_strip)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()[:OUTPUT_LIMIT]
    except OSError:
        return b""
