"""Speaking a delegate's own protocol: lines in, lines and events out. Pure, and standard library only.

A ``Talk`` holds one conversation with one delegate. What it wants written gathers in ``out`` and what it
has learned in ``events`` (``actors/transports/engine.py`` lists them); its engine takes both away after
each call. Whatever the other side sends, nothing is raised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from .values import as_word

Event = dict[str, Any]
Options = Mapping[str, str | None]

MESSAGE_CAP = 16 * 1024 * 1024
"""Longest line in bytes: an edit may come with both whole texts of a file."""

YES = frozenset({"y", "yes", "allow", "ok", "once", "1"})
ALWAYS = frozenset({"a", "always", "session"})
NO = frozenset({"n", "no", "deny", "reject"})


class Talk(Protocol):
    """One protocol's conversation. ``number`` is the inbox entry whose delivery is told."""

    out: list[Any]
    """Messages to write, each a line of JSON."""
    events: list[Event]
    fatal: str | None
    """Why there can be no session, once that is known: the engine then gives up."""
    listens: bool
    """Whether ``logged`` and ``waited`` are to be called."""
    turn: int
    """The entry whose turn runs; 0 without one."""

    def open(self) -> None:
        """Begin."""
        ...

    def heard(self, message: Mapping[str, Any]) -> None:
        """Take one message."""
        ...

    def logged(self, line: str) -> None:
        """Take a line of what it says on stderr, without control sequences."""
        ...

    def waited(self, seconds: float) -> None:
        """A turn runs, and its words were sent so long ago. Called about once a second."""
        ...

    def unread(self, head: str, length: int) -> None:
        """A message was too long to be read: its beginning, and the bytes of the whole."""
        ...

    def written(self, number: int) -> None:
        """What was sent for this entry has left us."""
        ...

    def send(self, number: int, text: str) -> None:
        """Begin a turn with these words."""
        ...

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer what is asked."""
        ...

    def interrupt(self, number: int) -> None:
        """End the turn."""
        ...

    def set_model(self, number: int, model: str) -> None:
        """Switch the model."""
        ...

    def set_effort(self, number: int, effort: str) -> None:
        """Switch the effort."""
        ...

    def set_mode(self, number: int, mode: str) -> None:
        """Switch what it may do without asking (a ``SessionMode`` word)."""
        ...


class BaseTalk:
    """What every conversation does: gather, tell states and deliveries, keep the open questions."""

    def __init__(self, options: Options) -> None:
        """``options`` are the lane's own (``SessionLaunch.options``)."""
        self.options = options
        self.out: list[Any] = []
        self.events: list[Event] = []
        self.asked: dict[str, Ask] = {}
        """Open questions by request id, oldest first."""
        self.listens = False
        """Whether ``logged`` and ``waited`` are to be called."""
        self.turn = 0
        """The entry whose turn runs; 0 without one."""
        self.fatal: str | None = None
        """Why there can be no session, once that is known."""
        self._model: str | None = None
        self._conversation: str | None = None

    def tell(self, kind: str, **fields: object) -> None:
        """Add an event; fields that are None are left out."""
        self.events.append({"type": kind} | {name: value for name, value in fields.items() if value is not None})

    def state(self, state: str, evidence: str) -> None:
        """Tell the state, and by what it is known."""
        self.tell("state", state=state, evidence=evidence)

    def delivery(self, number: int, state: str, reason: str | None = None) -> None:
        """Tell what became of an entry."""
        self.tell("delivery", number=number, state=state, reason=reason)

    def written(self, number: int) -> None:
        """What was sent has left us."""
        self.delivery(number, "written")

    def logged(self, line: str) -> None:
        """Take a line of what it says on stderr, without control sequences. Most say nothing of use there."""

    def waited(self, seconds: float) -> None:
        """Take note of how long ago a turn's words were sent."""

    def unread(self, head: str, length: int) -> None:  # noqa: ARG002 - for protocols whose answers name a request
        """Tell that a message was too long to be read."""
        self.tell("notice", text=f"a message of {length} bytes was left out")

    def set_mode(self, number: int, mode: str) -> None:
        """Refuse: most have none."""
        self.delivery(number, "refused", f"this program has no mode {mode}: it lets nobody choose what it asks about")

    def named(self, *, model: str | None = None, conversation: str | None = None) -> None:
        """Tell a model or conversation when it is a new one."""
        if model is not None and model != self._model:
            self._model = model
            self.tell("start", model=model)
        if conversation is not None and conversation != self._conversation:
            self._conversation = conversation
            self.tell("start", conversation=conversation)

    def ask(self, asked: Ask) -> None:
        """Tell a question."""
        self.asked[asked.request] = asked
        self.events.append({"type": "ask", **asked.event()})
        self.state("waiting-approval", f"asks about {asked.name}")

    def settled(self, request: str, choice: str | None) -> None:
        """A question is answered, or withdrawn (None): go on with the next, or the work."""
        if self.asked.pop(request, None) is None:
            return
        self.events.append({"type": "answered", "request": request, "choice": choice})
        waiting = next(iter(self.asked.values()), None)
        if waiting is not None:
            self.state("waiting-approval", f"asks about {waiting.name}")
        else:
            self.state("working" if self.turn else "idle", "answered" if choice else "the question was withdrawn")

    def drop_questions(self) -> None:
        """A turn ended: what it asked is not asked any more."""
        for request in list(self.asked):
            del self.asked[request]
            self.events.append({"type": "answered", "request": request, "choice": None})

    def find(self, number: int, choice: str, request: str | None) -> tuple[Ask, Mapping[str, str] | None] | None:
        """Return the question meant and the option chosen (None: free words); else tell why not."""
        asked = self.asked.get(request) if request else next(iter(self.asked.values()), None)
        if asked is None:
            self.delivery(number, "refused", "that is not asked any more" if request else "nothing is asked")
            return None
        option = pick(asked.options, choice)
        # No words are meant by a number where something is to be allowed: it is one that is not offered.
        wrong = is_number(choice.strip()) and any(row["kind"] != "other" for row in asked.options)
        if option is None and (wrong or not asked.free):
            offered = ", ".join(f"{place}: {row['label']}" for place, row in enumerate(asked.options, 1))
            self.delivery(number, "refused", f"{choice[:80]!r} is no option; there are {offered}")
            return None
        return asked, option


class Ask:
    """An open question."""

    __slots__ = ("free", "kept", "name", "options", "request", "target", "title", "tool")

    def __init__(  # noqa: PLR0913 - the fields of the event, by name
        self,
        *,
        request: str,
        name: str,
        options: list[dict[str, str]],
        tool: str = "other",
        target: str | None = None,
        title: str | None = None,
        free: bool = False,
        kept: object = None,
    ) -> None:
        """``kept`` is what the protocol needs for its answer."""
        self.request, self.name, self.options, self.tool = request, name, options, tool
        self.target, self.title, self.free, self.kept = target, title, free, kept

    def event(self) -> Event:
        """Return what is told of it."""
        return {
            "request": self.request,
            "tool": self.tool,
            "name": self.name,
            "target": self.target,
            "title": self.title,
            "options": self.options,
            "free": self.free,
        }


def pick(options: list[dict[str, str]], choice: str) -> Mapping[str, str] | None:
    """Return the option that a person's word means: its number, its label, its id, or a kind.

    The number as it is shown comes first: some agents count their ids otherwise. A label or an id that says the
    opposite of its kind is not believed.

    >>> rows = [{"id": "x", "kind": "allow_once", "label": "Yes"}, {"id": "y", "kind": "reject_once", "label": "No"}]
    >>> [pick(rows, word)["id"] for word in ("y", "yes", "2", "no")]
    ['y', 'x', 'y', 'y']
    """
    word = choice.strip()
    low = word.lower()
    if is_number(word) and len(word) < 4 and 0 < int(word) <= len(options):
        return options[int(word) - 1]
    kinds = (
        ("allow_once", "allow_always") if low in YES
        else ("allow_always",) if low in ALWAYS
        else ("reject_once", "reject_always") if low in NO
        else ()
    )  # fmt: skip
    for row in options:
        meant = low == row["label"].lower() or word == row["id"]
        if meant and (not kinds or row["kind"] in (*kinds, "other")):
            return row
    return next((row for kind in kinds or (low,) for row in options if row["kind"] == kind), None)


def is_number(word: str) -> bool:
    """Whether a word is a number as options bear them."""
    return word.isascii() and word.isdigit()


def read_message(line: bytes) -> Mapping[str, Any] | None:
    """Return a line as a JSON object, or None."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def request_id(value: object) -> str | None:
    """Return the id of a request as a word: some protocols number them."""
    if isinstance(value, bool):
        return None
    return str(value) if isinstance(value, int) else as_word(value, 512)
