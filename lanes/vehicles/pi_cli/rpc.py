"""pi's session protocol: ``pi --mode rpc``, one JSON object a line. Seen on 0.73.1.

pi asks nobody for permission: what it may do is which tools it was started with. An extension may ask
(``extension_ui_request``); such a question is told and answered like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import failures
from ...talk import Ask, BaseTalk, Options, request_id
from ...tool_calls import target_in
from ...values import EXCERPT_CHARS, MESSAGE_CHARS, as_count, as_list, as_object, as_text, as_word
from .phrases import ERRORS
from .tools import TARGETS, TOOLS

LEVELS: Mapping[str, str] = {"max": "xhigh"}
"""Effort → its highest level, where it has no such one."""
_USAGE = {"input": "input", "cached_input": "cacheRead", "cache_write": "cacheWrite", "output": "output"}


class PiTalk(BaseTalk):
    """One session of pi. Option ``provider``: whose models are meant where one is named without."""

    def __init__(self, options: Options) -> None:
        """Nothing was said yet."""
        super().__init__(options)
        self._requests: dict[str, tuple[str, int, str]] = {}
        self._counter = 0
        self._provider = options.get("provider")
        self._text: str | None = None
        self._error: str | None = None
        self._aborted = False
        self._sums = dict.fromkeys(_USAGE, 0)

    def open(self) -> None:
        """Ask how it is: it answers once it is up."""
        self._command("get_state", 0)

    def send(self, number: int, text: str) -> None:
        """Send a prompt."""
        self.turn, self._text, self._error, self._aborted = number, None, None, False
        self._sums = dict.fromkeys(_USAGE, 0)
        self._command("prompt", number, message=text)

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer a question of an extension."""
        found = self.find(number, choice, request)
        if found is None:
            return
        asked, option = found
        reply: dict[str, Any] = {"type": "extension_ui_response", "id": asked.request}
        if asked.kept == "confirm":
            reply["confirmed"] = option is not None and option["kind"].startswith("allow")
        else:
            reply["value"] = option["label"] if option is not None else choice
        self.out.append(reply)
        self.delivery(number, "done")
        self.settled(asked.request, option["label"] if option is not None else choice)

    def interrupt(self, number: int) -> None:
        """End the turn."""
        self._aborted = True
        self._command("abort", number)

    def set_model(self, number: int, model: str) -> None:
        """Switch the model; ``PROVIDER/MODEL``, or a model of the provider that is in use."""
        provider, slash, name = model.partition("/")
        if not slash:
            provider, name = self._provider or "", model
        self._command("set_model", number, model, provider=provider, modelId=name)

    def set_effort(self, number: int, effort: str) -> None:
        """Switch the thinking level."""
        level = LEVELS.get(effort, effort)
        if level != effort:
            self.tell("notice", text=f"pi has no effort {effort}: {level} is used")
        self._command("set_thinking_level", number, level, level=level)

    def heard(self, message: Mapping[str, Any]) -> None:
        """Take one line."""
        match message.get("type"):
            case "response":
                self._response(message)
            case "agent_start":
                if self.turn:
                    self.delivery(self.turn, "turn-started")
                    self.state("working", "agent_start")
            case "message_end":
                self._message(as_object(message.get("message")))
            case "tool_execution_start":
                name = as_word(message.get("toolName")) or "tool"
                target = target_in(message.get("args"), TARGETS)
                self.tell("tool", tool=TOOLS.get(name, "other"), name=name, target=target)
            case "tool_execution_end":
                self._tool_end(message)
            case "agent_end":
                self._end()
            case "auto_retry_start":
                self.tell("retry", attempt=as_count(message.get("attempt")), message=_said(message.get("errorMessage")))
            case "extension_ui_request":
                self._question(message)
            case _:
                pass

    def _command(self, kind: str, number: int, value: str = "", **fields: object) -> None:
        self._counter += 1
        name = f"osrc-{self._counter}"
        self._requests[name] = (kind, number, value)
        self.out.append({"id": name, "type": kind, **fields})

    def _response(self, message: Mapping[str, Any]) -> None:
        kind, number, value = self._requests.pop(request_id(message.get("id")) or "", ("", 0, ""))
        if message.get("success") is not True:
            said = _said(message.get("error")) or "it was refused"
            if kind == "prompt":
                self._error = said
                self.delivery(number, "failed", said)
                self._end()
            elif kind == "get_state":
                self.state("unknown", said)
            elif kind:
                self.delivery(number, "refused", said)
            return
        data = as_object(message.get("data"))
        match kind:
            case "get_state":
                model = as_object(data.get("model"))
                self._provider = as_word(model.get("provider")) or self._provider
                self.named(conversation=as_word(data.get("sessionId")))
                self.tell("announced", model=as_word(model.get("id")))
                self.state("idle", "get_state")
            case "prompt":
                self.delivery(number, "seen")
            case "abort":
                self.delivery(number, "done")
            case "set_model":
                self._provider = as_word(data.get("provider")) or self._provider
                self.tell("switched", model=value)
                self.delivery(number, "done")
            case "set_thinking_level":
                self.tell("switched", effort=value)
                self.delivery(number, "done")
            case _:
                pass

    def _message(self, message: Mapping[str, Any]) -> None:
        if message.get("role") != "assistant":
            return
        self.named(model=as_word(message.get("model")))
        self._error = _said(message.get("errorMessage")) if message.get("stopReason") == "error" else None
        self._aborted = self._aborted or message.get("stopReason") == "aborted"
        for block in map(as_object, as_list(message.get("content"))):
            if block.get("type") == "text" and (text := as_text(block.get("text"))):
                self._text = text
                self.tell("text", text=text)
            elif block.get("type") == "thinking":
                self.tell("thought", chars=len(as_text(block.get("thinking")) or ""))
        usage = as_object(message.get("usage"))
        for ours, theirs in _USAGE.items():
            self._sums[ours] += as_count(usage.get(theirs)) or 0
        if any(self._sums.values()):
            self.tell("usage", of="process", **self._sums)

    def _tool_end(self, message: Mapping[str, Any]) -> None:
        failed = message.get("isError") is True
        rows = as_list(as_object(message.get("result")).get("content"))
        texts = (as_text(as_object(row).get("text"), EXCERPT_CHARS) for row in rows)
        excerpt = next((text for text in texts if text), None) if failed else None
        self.tell("tool_end", name=as_word(message.get("toolName")), ok=not failed, denied=False, excerpt=excerpt)

    def _question(self, message: Mapping[str, Any]) -> None:
        name, method = request_id(message.get("id")), as_word(message.get("method"))
        if name is None or method not in ("confirm", "select", "input", "editor"):
            return  # the rest are news for a screen
        options = [
            {"id": "yes", "kind": "allow_once", "label": "Yes"},
            {"id": "no", "kind": "reject_once", "label": "No"},
        ]
        if method != "confirm":
            labels = (as_word(row, EXCERPT_CHARS) for row in as_list(message.get("options")))
            options = [{"id": label, "kind": "other", "label": label} for label in labels if label]
        title = as_word(message.get("message"), MESSAGE_CHARS) or as_word(message.get("title"), MESSAGE_CHARS)
        self.ask(
            Ask(
                request=name,
                name="extension",
                options=options,
                title=title,
                free=method in ("input", "editor"),
                kept=method,
            )
        )

    def _end(self) -> None:
        if not self.turn:
            return
        self.drop_questions()
        if self._aborted:
            self.tell("end", ok=False, failure="interrupted", message="interrupted")
        elif self._error is not None:
            told = failures.by_provider(self._error, ERRORS) or "task"
            self.tell("end", ok=False, failure=told, message=self._error)
        else:
            self.tell("end", ok=True, text=self._text)
        self.turn = 0
        self.state("idle", "agent_end")


def _said(value: object) -> str | None:
    return as_word(value, MESSAGE_CHARS)
