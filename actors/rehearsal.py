"""Real turns of an installed CLI, outside of any job.

``rehearse``: against a scripted model on loopback, in a home of its own that is removed afterwards. Does it
still speak as its lane reads it, also where its model fails? No account is used, and nothing is asked of a real
model.

``ping``: as the person, against the real model. Does the lane answer? It costs what a short answer costs.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..lanes.contract import Lane, Task
from ..lanes.disclosure import addresses_of
from ..lanes.scenes import Scene, scene
from ..messages.lane_events import FailureKind, Unrecognised
from ..messages.paths import home_of
from ..messages.refusals import Refused
from ..messages.vocabulary import Verb
from ..state.home import Home
from ..state.settings import Settings
from .gate import Dispatch, Scope, pass_gate, pass_rehearsal
from .host import host_for
from .own_servers import with_own_servers
from .rehearsal_turn import Turn, play
from .scripted_mishaps import Mishap
from .scripted_model import ScriptedModel
from .withholding import withhold

TURN_S = 90.0
"""Longest wait for one turn (copilot and cline need some ten seconds to start on a busy machine)."""
MISHAP_S = 60.0
"""Longest wait for one that is to fail: whoever still tries then would keep its job waiting."""
EXPECTED = {Mishap.REFUSED_KEY: FailureKind.AUTH, Mishap.SPENT_PLAN: FailureKind.PLAN_LIMIT}
SENTENCE = "The canary sings."
PING = "Reply with the single word OK. Do nothing else."


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a turn went. ``ok`` None: none was played."""

    ok: bool | None
    notes: tuple[str, ...] = ()


def rehearse(
    lane: Lane, environment: Mapping[str, str], mishap: Mishap | None = None, *, turn_s: float | None = None
) -> Rehearsal:
    """Play one ``run`` turn of ``lane``, whose program is looked for on the PATH of ``environment``.

    With a ``mishap`` it goes well where the lane tells it from other failures; None where its time was over first.
    """
    played = scene(lane.name, "", spent=False)
    if played is None:
        return Rehearsal(ok=None)
    with ScriptedModel(SENTENCE, mishap, spent_status=played.spent_status) as model, _scratch() as root:
        played = scene(lane.name, model.url, spent=mishap is Mishap.SPENT_PLAN) or played
        prompt = f"Say hello to {secrets.token_hex(8)} now."
        made = _set_up(root, environment, played)
        host = host_for(lane, made, Settings.load(made, None))
        within_s = turn_s or (TURN_S if mishap is None else MISHAP_S)
        permit = pass_rehearsal(f"rehearsal of {lane.name}", made, str(root))
        if isinstance(permit, Refused):
            return Rehearsal(ok=None, notes=(permit.message,))
        task = _task(root, prompt, played.model)
        turn = play(lane, task, host, root, within_s=within_s, permit=permit, failing=mishap is not None)
        if isinstance(turn, Refused):
            return Rehearsal(ok=False, notes=(f"its lane refuses: {turn.message}",))
        if mishap is not None:
            if not turn.in_time and turn.failure is not EXPECTED.get(mishap, FailureKind.TRANSPORT):
                return Rehearsal(ok=None, notes=(f"{mishap}: it was still trying when its time was over",))
            notes = _told_wrong(turn, mishap)
            return Rehearsal(ok=not notes, notes=tuple(notes))
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
        task = _task(root, PING, None)
        given, _ = withhold(environment, lane, None, settings)
        host = with_own_servers(host_for(lane, given, settings, keys_from=environment), lane, task.cwd)
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
        turn = play(lane, task, host, root, within_s=turn_s, permit=permit)
        if isinstance(turn, Refused):
            return Rehearsal(ok=None, notes=(turn.message,))
        notes = _faults(turn)
        if not notes and not (turn.last is not None and (turn.last.text or "").strip()):
            notes.append("it answered nothing")
        return Rehearsal(ok=not notes, notes=tuple(notes))


def _told_wrong(turn: Turn, mishap: Mishap) -> list[str]:
    """Return how a turn that met with a mishap was misread."""
    said = " ".join((turn.last.message or "").split())[:200] if turn.last is not None else ""
    words = f": {said}" if said else ""
    expected = EXPECTED.get(mishap, FailureKind.TRANSPORT)
    if mishap is Mishap.CUT and turn.last is not None and turn.last.ok and SENTENCE in (turn.last.text or ""):
        return []
    if turn.failure is expected:
        return []
    read = "a good answer" if turn.failure is FailureKind.NONE else str(turn.failure)
    return [f"{mishap}: read as {read}, not as {expected}{words}"]


def _faults(turn: Turn) -> list[str]:
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
        **{name: environment[name] for name in ("PYTHONPATH",) if name in environment},  # for programs of ours
        **played.environment,
    }
    if played.keeps_cache:
        own = environment.get("XDG_CACHE_HOME") or str(Path(home_of(environment)) / ".cache")
        made["XDG_CACHE_HOME"] = own
    return made


def _task(root: Path, prompt: str, model: str | None) -> Task:
    return Task(verb=Verb.RUN, prompt=prompt, cwd=str(root / "work"), model=model)
