"""Sessions that are not ours: a claimed pane gets a reply, once, into its composer, with a true receipt.

Runs in the command itself: nothing of it needs a supervisor. Every refusal comes before the first key.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import psutil

from ..lanes.registry import builtin
from ..lanes.screens.classify import classify
from ..lanes.screens.delivery import Action, Delivery, Look, Policy, Send, advance, typed
from ..lanes.screens.model import Composer, ScreenState, State
from ..lanes.screens.rules import RULES, rules_for, version_of
from ..messages.refusals import RefusalCode, Refused
from ..state import claims
from ..state.errors import StateError
from ..state.home import Home
from ..state.identity import identify, look
from .caller import settings_of
from .gate import Dispatch, Passed, Scope, pass_gate
from .recheck import SESSION_VERB
from .tmux import Pane, Tmux, TmuxError
from .transports.pty_process import unread

TOKEN, CONTROLLER, OPT_IN = "OSRC_SESSION_CLAIM_TOKEN", "OSRC_CONTROLLER_ID", "OSRC_EXTERNAL_SEND"
POLICY = Policy(settle_s=0.4, sight_s=4.0, again_s=3.0, turn_s=30.0, room_s=5.0)
LOOK_S = 0.1
_VERSION_S = 60.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a reply."""

    delivery: str
    """``turn-started``, ``unverified`` (typed, but no turn was seen), or ``refused`` (nothing was typed)."""
    reason: str
    disclosure: tuple[str, ...] = ()
    """What a person is told of what has left, a line each."""


def claim(
    home: Home, name: str, target: str, server: str | None, environ: Mapping[str, str]
) -> tuple[claims.Claim, str]:
    """Claim a pane. Returns the claim and its secret, which is kept nowhere. Raises StateError."""
    tmux = Tmux.of(server, environ)
    pane = _pane(tmux, target)
    known = identify(pane.pid)
    if known is None:
        raise StateError("session_ended", f"the pane's process {pane.pid} is gone", None)
    cli, version = _program(pane.pid, environ)
    token = os.urandom(24).hex()
    made = claims.Claim(
        session_id=name,
        endpoint=pane.pane_id,
        server=tmux.socket,
        pid=pane.pid,
        pid_start=known["started"],
        boot_id=known["boot_id"],
        controller_id=controller(environ) or f"token:{claims.digest(token)[:16]}",
        cli=cli,
        version=version,
        generation=0,
        token_sha256=claims.digest(token),
    )
    return claims.take(home, made, _dead), token


def reply(  # noqa: PLR0913 - by name
    home: Home,
    name: str,
    text: str,
    environ: Mapping[str, str],
    *,
    cloud_ack: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Receipt | Refused:
    """Type a text into a claimed pane's composer, or say what the gate has against it.

    Raises StateError where it is refused for another reason; in both cases no key was pressed.
    """
    found = _opened(home, name, environ)
    if not settings_of(environ).flag("external_send"):
        message = "typing into a session that is not ours is off"
        raise StateError("denied", message, f"{OPT_IN}=1 allows it")
    tmux = Tmux(found.server, environ)
    pane = _same_pane(tmux, found)
    permit = _pass(home, found, text, environ, cloud_ack=cloud_ack)
    if isinstance(permit, Refused):
        return permit
    watch = _Watch(tmux, found)
    for _ in range(2):  # a composer that is empty once may be a picture half drawn
        state = watch.look(pane).state
        if state.state is not State.IDLE or state.composer is not Composer.EMPTY:
            raise StateError("not_finished", f"{name} takes nothing now: {state.state.value}, {state.evidence}", None)
        sleep(POLICY.settle_s)
    claims.count(home, found, found.generation + 1)
    return replace(_deliver(watch, text, sleep), disclosure=permit.disclosure)


def release(home: Home, name: str, environ: Mapping[str, str]) -> None:
    """Give a claim up: its owner may, and anybody once the pane's process is proven dead. Raises StateError."""
    found = claims.find(home, name)
    if not _dead(found.pid, found.pid_start, found.boot_id):
        _opened(home, name, environ)
    claims.release(home, name)


def controller(environ: Mapping[str, str]) -> str | None:
    """Who steers here: the name that was given, else the tmux session we are in."""
    if environ.get(CONTROLLER):
        return environ[CONTROLLER][:200]
    if environ.get("TMUX") and environ.get("TMUX_PANE"):
        tmux = Tmux.of(None, environ)
        try:
            return f"tmux:{tmux.socket}:{tmux.session_of(environ['TMUX_PANE'])}"[:200]
        except TmuxError:
            return None
    return None


def _pass(
    home: Home, found: claims.Claim, text: str, environ: Mapping[str, str], *, cloud_ack: bool
) -> Passed | Refused:
    """Let a text pass the gate, as a session's does: its words, and the folder that the pane's program works in."""
    lane, folder = builtin(found.cli), _folder(found)
    if folder is None:
        message = f"where the program in pane {found.endpoint} works can't be seen, so neither what it may read"
        return Refused(code=RefusalCode.WOULD_LEAK, message=message)
    # Which server the program talks to, our environment does not say: it counts as its vendor's.
    own = {
        name: word
        for name, word in environ.items()
        if name in {"HOME", "USERPROFILE", "XDG_CONFIG_HOME"} or name[:5] == "OSRC_"
    }
    return pass_gate(
        Dispatch(
            subject=found.session_id,
            lane=lane,
            verb=SESSION_VERB,
            model=None,
            scope=Scope(folders=(folder,), texts=(text,)),
            cwd=folder,
            home=home,
            environment=own,
            settings=settings_of(environ),
            cloud_ack=cloud_ack,
        )
    )


def _folder(found: claims.Claim) -> str | None:
    """Where the pane's program works; None where that can't be seen."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(found.pid)
        for one in (*process.children(recursive=True), process):
            with contextlib.suppress(psutil.Error):
                if one is process or any(_named(word) == found.cli for word in one.cmdline()[:2]):
                    return one.cwd()
    return None


def _named(word: str) -> str:
    return os.path.basename(word).removesuffix(".js")  # noqa: PTH119 - a word, not a place


def _opened(home: Home, name: str, environ: Mapping[str, str]) -> claims.Claim:
    found = claims.find(home, name)
    token = environ.get(TOKEN)
    if not token or not found.opened_by(token):
        raise StateError("denied", f"the claim of {name} is opened by its own secret only", f"{TOKEN}=... (as printed)")
    who = controller(environ)
    if not found.controller_id.startswith("token:") and who != found.controller_id:
        message = f"{name} was claimed by {found.controller_id}, not by {who or 'nobody that is known'}"
        raise StateError("denied", message, f"{CONTROLLER}=...")
    return found


def _pane(tmux: Tmux, target: str) -> Pane:
    try:
        pane = tmux.pane(target)
    except TmuxError as error:
        hint = f"tmux -S {tmux.socket} list-panes -a"
        raise StateError("no_such_session", f"pane {target}: {error}", hint) from error
    if pane.dead:
        raise StateError("session_ended", f"the program in pane {target} has ended", None)
    return pane


def _same_pane(tmux: Tmux, found: claims.Claim) -> Pane:
    pane = _pane(tmux, found.endpoint)
    if pane.pid != found.pid or _dead(found.pid, found.pid_start, found.boot_id):
        message = f"pane {found.endpoint} holds another program than the one that was claimed"
        raise StateError("session_ended", message, f"osrc session release {found.session_id}")
    if pane.in_mode:
        raise StateError("not_finished", f"somebody scrolls in pane {found.endpoint}", None)
    return pane


def _dead(pid: int, started: float, boot: str) -> bool:
    return look(pid, started, boot) in {"gone", "zombie"}


def _program(pid: int, environ: Mapping[str, str]) -> tuple[str, str]:
    """Which CLI runs in a pane, and what it says of its version."""
    for words in _command_lines(pid):
        for place, word in enumerate(words[:2]):
            name = _named(word)
            if name in RULES:
                return name, _version(words[: place + 1], environ)
    known = ", ".join(sorted(RULES))
    raise StateError("no_sessions", "no program whose screens are known runs in that pane", f"known are: {known}")


def _command_lines(pid: int) -> list[list[str]]:
    """The command lines of a pane's process and of all it started."""
    found: list[list[str]] = []
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                found.append(one.cmdline())
    return found


def _version(words: list[str], environ: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [*words, "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    said = done.stdout if done.stdout.strip() else done.stderr  # pi says it there
    return said[:4096].decode("utf-8", "replace")


class _Watch:
    """Looks at one pane, and knows since when it has been at rest."""

    def __init__(self, tmux: Tmux, found: claims.Claim) -> None:
        self._tmux, self._found = tmux, found
        self._rules = rules_for(found.cli, version_of(found.version))
        self._last: tuple[str, ...] = ()
        self._since = time.monotonic()

    def look(self, pane: Pane | None = None) -> Look:
        """One look. A pane that is gone is a program that has exited."""
        now = time.monotonic()
        try:
            pane = self._tmux.pane(self._found.endpoint) if pane is None else pane
            screen = self._tmux.screen(pane)
        except TmuxError as error:
            return Look(
                now=now, state=ScreenState(state=State.UNKNOWN, evidence=str(error)), quiet_s=0.0, drained=False
            )
        if pane.dead or pane.pid != self._found.pid:
            return Look(
                now=now, state=ScreenState(state=State.EXITED, evidence="the pane's program ended"), quiet_s=0.0
            )
        if screen.lines != self._last:
            self._last, self._since = screen.lines, now
        held = unread(pane.tty)
        drained = None if held is None else held == 0
        if pane.in_mode:
            drained = False
        return Look(now=now, state=classify(screen, self._rules), quiet_s=now - self._since, drained=drained)

    def type(self, keys: str) -> None:
        """Hand keys over. Raises TmuxError."""
        self._tmux.type(self._tmux.pane(self._found.endpoint), keys)


def _deliver(watch: _Watch, text: str, sleep: Callable[[float], None]) -> Receipt:
    send = Send(text=text)
    while not send.ended:
        send, actions = advance(send, watch.look(), POLICY)
        for action in actions:
            try:
                watch.type(typed(text, bracketed=True) if action is Action.PASTE else "\r")
            except TmuxError as error:
                return Receipt("unverified", f"tmux: {error}")
        sleep(LOOK_S)
    if send.reached is Delivery.TURN_STARTED:
        return Receipt("turn-started", send.evidence)
    return Receipt("refused" if send.reached is Delivery.ACCEPTED else "unverified", send.evidence)
