"""What the session commands share: waiting until one is up, receipts, states, questions, in words or JSON."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import click

from . import exit_codes
from .errors import CliError
from .options import Globals
from .output import answer, answer_json, answer_untrusted, flush, say
from .reach import Reach
from .render.session import event_line, question_lines
from .session_events import Event, Events, open_question
from .session_giving import NOT_TAKEN, TAKEN, UNSEEN, Receipt, give, see
from .sessions import Session, is_named, live, named

ID_CHARACTERS = 15
"""So much of an id (its date and time) is one where another word may be meant: 2 is an option's number."""
STEERED_S = 90.0
"""How long a steering may take until it is seen. In a terminal a command may take 20 s to be shown, and a dialog
30 s to be seen to close (``actors/transports/conduct.py``)."""
READY_S = 180.0
"""How long a program may take until it is up (opencode 1.18 needs 15 s on a machine that does nothing else)."""


def split(reach: Reach, words: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return NAME and the other word: one word alone is a NAME if a session is called so."""
    if len(words) > 2:
        raise click.UsageError("At most two words: NAME and the other, in quotes.")
    if len(words) == 2:
        return words[0], words[1]
    if not words:
        return None, None
    return (words[0], None) if is_named(reach, words[0], least=ID_CHARACTERS) else (None, words[0])


def continued(reach: Reach, token: str | None) -> str | None:
    """Return the full id of the job or session to go on with."""
    if token is None:
        return None
    if is_named(reach, token):
        return str(named(reach, token)["session_id"])
    from .looking import named as named_jobs  # noqa: PLC0415 - beside its only use

    return str(named_jobs(reach, (token,))[0]["job_id"])


def started(  # noqa: PLR0913 - by name
    options: Globals,
    reach: Reach,
    found: Session,
    *,
    detach: bool,
    task: bool,
    events: Events | None = None,
    seen: Sequence[Event] = (),
) -> int:
    """Wait until it is up (and has its task), say how it is, print its name."""
    code = exit_codes.DONE
    if not detach:
        start = Start(task=task)
        for event in seen:
            start.note(event)
        start.wait(events or Events(str(found["events_path"])), Ended(reach, str(found["session_id"])))
        found = named(reach, str(found["session_id"]))
        if start.trouble is not None:
            hint = f"its stderr is in {os.path.dirname(str(found['events_path']))}/err.log"  # noqa: PTH120 - no pathlib
            message = f"the session {found['name']} did not start: {start.trouble}"
            raise CliError("session_ended", message, hint)
        code = start.exit_code
    if options.json:
        answer_json({"session": found})
        return code
    answer(str(found["name"]))
    if not options.quiet:
        name = found["name"]
        say(f"state: {found['state']}; osrc session read {name} -f shows it, osrc session stop {name} ends it")
    return code


class Start:
    """How a start goes, by the events of it."""

    def __init__(self, *, task: bool) -> None:
        """``task``: whether it is up only once it has its first task."""
        self._task = task
        self._up = False
        self._refused = False
        self.trouble: str | None = None

    @property
    def exit_code(self) -> int:
        """The command's."""
        if self._refused:
            return exit_codes.REFUSED
        return exit_codes.DONE if self._up else exit_codes.UNVERIFIED

    def wait(self, events: Events, ended: Ended) -> None:
        """Wait until it is up, or will not be, or the time is over."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and not self._up and self.trouble is None:
            over = ended()
            for event in events.more():
                self.note(event)
            if over and self.trouble is None:
                self.trouble = "it ended"
            time.sleep(0.03)

    def note(self, event: Event) -> None:
        """Take an event into account."""
        kind, state = event.get("type"), event.get("state")
        if kind == "exited":
            self.trouble = str(event.get("reason") or "its program ended at once")
        elif kind == "delivery" and self._task and event.get("number") == 1:
            self._refused = state in NOT_TAKEN
            self._up = self._up or state in (*TAKEN, *NOT_TAKEN, UNSEEN)
        elif kind == "state" and state not in ("starting", "working"):
            self._up = self._up or not self._task or state != "idle"  # a dialog of its own: to be looked at


def steer(
    options: Globals, reach: Reach, found: Session, action: dict[str, Any], *, environment: str | None = None
) -> int:
    """Ask for one thing and print what became of it. ``environment``: the caller's, where it matters who asks."""
    asked = {"kind": "session.steer", "action": action}
    given, events = give(reach, found, asked if environment is None else asked | {"environment": environment})
    return receipt(options, found, see(given, events, STEERED_S, Ended(reach, str(found["session_id"]))), wait=False)


def receipt(options: Globals, found: Session, seen: Receipt, *, wait: bool) -> int:
    """Print what became of it."""
    if options.json:
        shown = {"session_id": found["session_id"], "name": found["name"], "number": seen.number}
        shown |= {"send_id": seen.send_id, "delivery": seen.delivery, "reason": seen.reason}
        answer_json({**shown, "end": seen.end, "ask": seen.ask})
        return seen.exit_code
    if seen.delivery in NOT_TAKEN:
        say(f"ERROR: {found['name']}: {seen.delivery}: {seen.reason or 'no reason was given'}")
    elif seen.delivery == UNSEEN and seen.end is None:
        answer(f"{found['name']} {seen.number} {seen.delivery}")
        screen = " --screen" if found.get("transport") in ("pty", "tmux") else ""
        say(f"it left us, but {seen.reason or 'no turn was seen'}: osrc session read {found['name']}{screen}")
    elif not wait and seen.exit_code == exit_codes.REFUSED:
        say(f"ERROR: {found['name']}: the session ended; whether it got entry {seen.number} was not seen")
    elif not wait:
        answer(f"{found['name']} {seen.number} {seen.delivery}")
        if seen.exit_code == exit_codes.UNVERIFIED and not options.quiet:
            say("it is recorded, and given once the session can take it: osrc session read shows when")
    elif seen.end is not None:
        last = seen.end.get("text")
        answer_untrusted((str(last) if last else "".join(seen.texts)).encode("utf-8", "replace"))
        if not seen.end.get("ok"):
            say(f"the turn failed: {seen.end.get('failure')}: {seen.end.get('message')}")
    elif seen.ask is not None:
        say("\n".join(question_lines(seen.ask)))
        say(f"answer it with: osrc session answer {found['name']} CHOICE")
    else:
        say("the turn goes on: osrc session read -f")
    return seen.exit_code


def state(options: Globals, found: Session, events: list[Event], *, question: bool = False) -> int:
    """Print the state, and what is asked; for ``question`` it is a failure that nothing is."""
    asked = open_question(events) if live(found) else None
    state = next((row for row in reversed(events) if row.get("type") == "state"), {})
    told = str(state.get("state") or found["state"]) if live(found) else str(found["state"])
    evidence = state.get("evidence") if live(found) else found.get("reason")
    if question and asked is None:
        raise CliError("nothing_asked", f"the session {found['name']} asks nothing: it is {told}", "osrc session read")
    if options.json:
        answer_json({"name": found["name"], "state": told, "evidence": evidence, "ask": asked})
        return exit_codes.DONE
    if not question:
        answer(f"{told}" + (f" ({evidence})" if evidence else ""))
    if asked is not None:
        answer("\n".join(question_lines(asked)))
    return exit_codes.DONE


def screen(options: Globals, found: Session) -> int:
    """Print what the terminal showed last."""
    text = screen_text(found)
    if options.json:
        answer_json({"name": found["name"], "screen": text})
    else:
        answer(text)
    return exit_codes.DONE


def screen_text(found: Session) -> str:
    """Return what the terminal showed last: the holder keeps it in the session's folder. Raises CliError."""
    path = os.path.join(os.path.dirname(str(found["events_path"])), "screen")  # noqa: PTH118, PTH120 - no pathlib here
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
            return file.read(1 << 20)
    except OSError:
        hint = "osrc session read"
        raise CliError(
            "no_result", f"{found['name']} is a {found['transport']} session: it has no screen", hint
        ) from None


def show(options: Globals, events: list[Event]) -> None:
    """Print events, as lines or as objects."""
    for event in events:
        if options.json:
            answer_json(event)
        elif (line := event_line(event)) is not None:
            answer(line)
    flush()


class Ended:
    """Whether a session has ended, asked at most once a second."""

    def __init__(self, reach: Reach, session_id: str) -> None:
        self._reach, self._id = reach, session_id
        self._asked = 0.0
        self._over = False

    def __call__(self) -> bool:
        """Return it."""
        if not self._over and time.monotonic() - self._asked >= 1.0:
            self._over = not live(named(self._reach, self._id))
            self._asked = time.monotonic()
        return self._over
