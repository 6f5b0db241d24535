"""The client's side of the Agent Client Protocol for a whole session: turns, questions, modes, models. Pure.

The turn itself is read as for a job (``updates.py``), options of a question are told with their ``kind``, and
no file system is offered (``policy.py`` says why). The protocol has no receipt for a prompt: its first update is
one. Seen with gemini 0.61, qwen 0.24.4, opencode 1.18.33, copilot 1.0.102, cline 3.0.65 and droid 0.215.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ....messages.vocabulary import FailureKind
from ...talk import Ask, BaseTalk, Options, request_id
from ...values import (
    ASKED_CHARS,
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    TARGET_CHARS,
    as_asked,
    as_list,
    as_object,
    as_word,
    clip,
)
from . import policy
from .updates import AUTH_REQUIRED, KINDS, Turn, failure_of
from .waiting import spent, unheard

VERSION = 1
_ANSWERS = re.compile(r'"id"\s{0,8}:\s{0,8}(\d{1,9})\b')
SET_MODEL = "session/set_model"
"""Not in every version of the protocol; gemini 0.61 and droid 0.215 take it."""
OPENING = frozenset({"initialize", "session/new", "session/load", "session/resume"})


class AcpTalk(BaseTalk):
    """One session. Options: ``cwd``, ``model``, ``effort``, ``conversation`` (the session to load), ``name``, ``meta``.

    ``meta`` is an object as JSON, and goes with the request that opens the session.
    """

    def __init__(self, options: Options) -> None:
        """Nothing was said yet."""
        super().__init__(options)
        self.listens = True
        self._requests: dict[int, tuple[str, int, str]] = {}
        """Our requests: id → (method, entry, value)."""
        self._counter = 0
        self._session: str | None = None
        self._opened: Mapping[str, Any] = {}
        """What the agent said of the session: its modes, models, options."""
        self._todo: list[tuple[str, dict[str, Any]]] = []
        """Requests that put a new session in order, one after the other."""
        self._told = Turn()
        self._begun = False
        self._canceled = False
        self._spent: str | None = None
        """What it said on stderr of its plan's limit, while it was silent otherwise."""
        self._logged: str | None = None
        """The last that it said there since the prompt."""
        self._unheard: bool | None = None
        """Whether its silence was told with words of its stderr; None while it was not told."""

    def open(self) -> None:
        """Greet it."""
        can = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        us = {"name": "outsourcerer", "version": "0"}
        self._request("initialize", {"protocolVersion": VERSION, "clientCapabilities": can, "clientInfo": us})

    def send(self, number: int, text: str) -> None:
        """Send a prompt: from then on the turn is the agent's."""
        self.turn, self._told, self._begun, self._canceled, self._spent = number, Turn(), False, False, None
        self._logged = self._unheard = None
        words = {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}
        self._request("session/prompt", words, number)
        self.state("working", "session/prompt")

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer a permission request with one of its options."""
        found = self.find(number, choice, request)
        if found is None:
            return
        asked, option = found
        assert option is not None  # noqa: S101 - it never takes free words
        name, call = asked.kept if isinstance(asked.kept, tuple) else (None, None)
        outcome = {"outcome": "selected", "optionId": option["id"]}
        self.out.append({"jsonrpc": "2.0", "id": name, "result": {"outcome": outcome}})
        if option["kind"].startswith("reject"):
            self._lines(self._told.permission(call, granted=False))
        self.delivery(number, "done")
        self.settled(asked.request, option["label"])

    def interrupt(self, number: int) -> None:
        """Cancel the turn; what it asks is answered as canceled, as the protocol wants."""
        self._canceled = True
        self._notify("session/cancel", {"sessionId": self._session})
        for asked in list(self.asked.values()):
            name = asked.kept[0] if isinstance(asked.kept, tuple) else None
            self.out.append({"jsonrpc": "2.0", "id": name, "result": {"outcome": {"outcome": "cancelled"}}})
        self.drop_questions()
        self.delivery(number, "done", "asked to cancel")

    def set_model(self, number: int, model: str) -> None:
        """Switch to a model that the agent offers."""
        request = self._model_request(model)
        if request is None:
            self.delivery(number, "refused", self._no_model(model))
            return
        self._request(request[0], request[1], number, model)

    def set_effort(self, number: int, effort: str) -> None:
        """Set the agent's own option for it, where it has one."""
        option = _effort_option(self._opened, effort)
        if option is None:
            self.delivery(number, "refused", "this agent lets nobody choose its effort")
            return
        params = {"sessionId": self._session, "configId": option[0], "value": option[1]}
        self._request("session/set_config_option", params, number, effort)

    def set_mode(self, number: int, mode: str) -> None:
        """Switch to the agent's own mode of that meaning."""
        name = policy.mode_of(self._opened, mode)
        if name is None:
            there = ", ".join(policy.modes_there(self._opened)[:20]) or "it has none"
            self.delivery(number, "refused", f"this agent has no mode that means {mode} ({there})")
            return
        self._request("session/set_mode", {"sessionId": self._session, "modeId": name}, number, mode)

    def heard(self, message: Mapping[str, Any]) -> None:
        """Take one message."""
        method, params = message.get("method"), as_object(message.get("params"))
        if not isinstance(method, str):
            self._answered(message)
        elif method == "session/update":
            self._update(as_object(params.get("update")))
        elif method == "session/request_permission":
            self._asked(message.get("id"), params)
        elif "id" in message:
            error = {"code": -32601, "message": "method not found"}
            self.out.append({"jsonrpc": "2.0", "id": message.get("id"), "error": error})

    def logged(self, line: str) -> None:
        """Take a line of its stderr: one that tells of a spent plan ends a turn that has not begun yet."""
        if not self.turn or self._begun or self._spent is not None:
            return
        self._logged = clip(line.strip(), EXCERPT_CHARS) or self._logged
        self._spent = spent(line)
        if self._spent is not None:
            self._canceled = True
            self._notify("session/cancel", {"sessionId": self._session})

    def waited(self, seconds: float) -> None:
        """Tell that nothing comes back: whether it works is not known then."""
        silence = None if self._begun else unheard(seconds, self._logged)
        complained = self._logged is not None
        if silence is not None and complained != self._unheard:  # once each: a journal is no copy of its stderr
            self._unheard = complained
            self.state("unknown", silence)

    def unread(self, head: str, length: int) -> None:
        """Take an answer that is too long for one that failed: nothing else will come of that request."""
        super().unread(head, length)
        found = _ANSWERS.search(head)
        if found is not None and '"method"' not in head:
            words = f"its answer of {length} bytes is too long to be read"
            self._answered({"id": int(found[1]), "error": {"code": -32700, "message": words}})

    # --- what it answers

    def _request(self, method: str, params: Mapping[str, Any], number: int = 0, value: str = "") -> None:
        self._counter += 1
        self._requests[self._counter] = (method, number, value)
        self.out.append({"jsonrpc": "2.0", "id": self._counter, "method": method, "params": params})

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.out.append({"jsonrpc": "2.0", "method": method, "params": params})

    def _answered(self, message: Mapping[str, Any]) -> None:
        name = message.get("id")
        method, number, value = self._requests.pop(name, ("", 0, "")) if isinstance(name, int) else ("", 0, "")
        if message.get("error") is not None:
            self._failed(method, number, as_object(message.get("error")))
            return
        result = as_object(message.get("result"))
        match method:
            case "initialize":
                self._greeted(result)
            case "session/new" | "session/load" | "session/resume":
                self._is_open(method, result)
            case "session/prompt":
                self._began()
                if self._spent is not None:
                    self._end(self._told.failed(FailureKind.PLAN_LIMIT, self._spent))
                else:
                    self._end(self._told.end(result, canceled=self._canceled))
            case "session/set_mode" | "session/set_model" | "session/set_config_option":
                self._was_set(method, number, value, result)
            case _:
                pass

    def _greeted(self, told: Mapping[str, Any]) -> None:
        if told.get("protocolVersion") != VERSION:
            self.fatal = f"it speaks version {told.get('protocolVersion')!r} of the protocol, not {VERSION}"
            return
        where: dict[str, Any] = {"cwd": self.options.get("cwd"), "mcpServers": []}
        if meta := self.options.get("meta"):
            where["_meta"] = json.loads(meta)
        earlier = self.options.get("conversation")
        if not earlier:
            self._request("session/new", where)
            return
        can = as_object(told.get("agentCapabilities"))
        if "resume" in as_object(can.get("sessionCapabilities")):
            self._request("session/resume", {"sessionId": earlier, **where})
        elif can.get("loadSession") is True:
            self._request("session/load", {"sessionId": earlier, **where})
        else:
            self.fatal = "this agent takes up no earlier session"

    def _is_open(self, method: str, result: Mapping[str, Any]) -> None:
        self._session = as_word(result.get("sessionId"), 512) or self.options.get("conversation")
        if self._session is None:
            self.fatal = "the agent opened no session"
            return
        self._opened = result
        self.named(conversation=self._session)
        self.tell("announced", model=policy.current_model(result))
        self._put_in_order(result)
        self._next(method)

    def _put_in_order(self, opened: Mapping[str, Any]) -> None:
        """Choose a mode that asks, the model and the effort that were asked for."""
        mode = policy.asking_mode(opened)
        if mode is not None:
            self._todo.append(("session/set_mode", {"sessionId": self._session, "modeId": mode}))
        for option in map(as_object, as_list(opened.get("configOptions"))):
            if option.get("id") == "auto_approve" and option.get("currentValue") is True:  # cline 3.0.65
                params = {"sessionId": self._session, "configId": "auto_approve", "value": False}
                self._todo.append(("session/set_config_option", params))
        model = self.options.get("model")
        if model:
            request = self._model_request(model)
            if request is None:
                self.fatal = self._no_model(model)
                return
            self._todo.append(request)
        effort = self.options.get("effort")
        chosen = _effort_option(opened, effort) if effort else None
        if effort and chosen is None:
            self.tell("notice", text=f"this agent takes no effort {effort}: it goes on with its own")
        if chosen is not None:
            params = {"sessionId": self._session, "configId": chosen[0], "value": chosen[1]}
            self._todo.append(("session/set_config_option", params))

    def _next(self, evidence: str) -> None:
        if self._todo:
            method, params = self._todo.pop(0)
            self._request(method, params)
        else:
            self.state("idle", evidence)

    def _was_set(self, method: str, number: int, value: str, result: Mapping[str, Any]) -> None:
        if as_list(result.get("configOptions")):
            self._opened = {**self._opened, "configOptions": result["configOptions"]}
        if number == 0:
            self._next(method)
            return
        if method == "session/set_mode":
            self.tell("switched", mode=value)
            self.delivery(number, "done")
            return
        is_effort = method == "session/set_config_option" and _effort_option(self._opened, value) is not None
        self.tell("switched", **{"effort" if is_effort else "model": value})
        self.delivery(number, "done")

    def _model_request(self, model: str) -> tuple[str, dict[str, Any]] | None:
        if model not in policy.models_of(self._opened):
            return None
        option = policy.model_option(self._opened)
        if option is not None:
            return "session/set_config_option", {"sessionId": self._session, "configId": option, "value": model}
        return SET_MODEL, {"sessionId": self._session, "modelId": model}

    def _no_model(self, model: str) -> str:
        there = ", ".join(policy.models_of(self._opened)[:20]) or "it lets nobody choose"
        return f"this agent has no model {model} ({there})"

    def _failed(self, method: str, number: int, error: Mapping[str, Any]) -> None:
        said = as_word(error.get("message"), MESSAGE_CHARS) or "it was refused"
        kind, words = failure_of(error.get("code"), said, error.get("data"))
        if method == "session/prompt":
            self._began()
            if self._spent is not None:
                kind, words = FailureKind.PLAN_LIMIT, self._spent
            self._end(self._told.failed(kind, words))
        elif number:
            self.delivery(number, "refused", words)
        elif method in OPENING and error.get("code") == AUTH_REQUIRED:
            self.tell("notice", text=words)
            self.state("login", words)
        elif method in OPENING:
            self.fatal = words
        elif method:
            self.tell("notice", text=f"{method}: {words}")
            self._next(method)

    # --- what it asks and tells

    def _asked(self, name: object, params: Mapping[str, Any]) -> None:
        request = request_id(name)
        if request is None:
            return
        if self._canceled or not self.turn:
            self.out.append({"jsonrpc": "2.0", "id": name, "result": {"outcome": {"outcome": "cancelled"}}})
            return
        self._began()
        call = as_object(params.get("toolCall"))
        self._lines(self._told.permission(call, granted=True))
        kind = self._told.kind_of(call)
        options = [
            {
                "id": str(row.get("optionId")),
                "kind": as_word(row.get("kind")) or "other",
                "label": as_word(row.get("name"), EXCERPT_CHARS) or str(row.get("optionId")),
            }
            for row in map(as_object, as_list(params.get("options")))
            if isinstance(row.get("optionId"), str)
        ]
        self.ask(
            Ask(
                request=request,
                name=as_word(call.get("name")) or kind or "tool",
                tool=KINDS.get(kind or "", "other"),
                target=as_asked(as_object(call.get("rawInput")).get("command")) or _target(call),
                title=as_word(call.get("title"), ASKED_CHARS),
                options=options,
                kept=(name, dict(call)),
            )
        )

    def _update(self, update: Mapping[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if not self.turn or kind in ("available_commands_update", "current_mode_update", "config_option_update"):
            return  # a loaded session repeats what was said in it
        self._began()
        if kind == "plan":
            rows = map(as_object, as_list(update.get("entries")))
            entries = [
                {"text": as_word(row.get("content"), EXCERPT_CHARS), "status": as_word(row.get("status"))}
                for row in rows
            ]
            self.tell("plan", entries=entries[:100])
        for row in map(as_object, as_list(update.get("content"))):
            if row.get("type") == "diff" and update.get("status") == "completed":
                self.tell("diff", path=as_word(row.get("path"), TARGET_CHARS))
        self._lines(self._told.update(update))

    def _began(self) -> None:
        """Tell once that the prompt has arrived: something came back for it."""
        if self.turn and not self._begun:
            self._begun = True
            if self._unheard is not None:
                self.state("working", "it is heard again")
            self.delivery(self.turn, "turn-started")

    def _lines(self, lines: list[dict[str, Any]]) -> None:
        """Tell what the turn's reader made of it; a message once it is whole."""
        for line in lines:
            if line.get("type") == "text" and line.get("partial") is True:
                continue
            if line.get("type") == "start":
                self.named(model=as_word(line.get("model")))
            else:
                self.events.append({name: value for name, value in line.items() if value is not None})

    def _end(self, lines: list[dict[str, Any]]) -> None:
        self.drop_questions()
        self._lines(lines)
        self.turn = 0
        self.state("idle", "session/prompt answered")


def _effort_option(opened: Mapping[str, Any], effort: str) -> tuple[str, str] | None:
    """Return the configuration option that takes this effort, and its word for it."""
    for option in map(as_object, as_list(opened.get("configOptions"))):
        if option.get("category") not in ("thought_level", "effort", "reasoning_effort"):
            continue
        name = as_word(option.get("id"))
        values = [as_word(as_object(row).get("value")) for row in as_list(option.get("options"))]
        if name is not None and effort in values:
            return name, effort
    return None


def _target(call: Mapping[str, Any]) -> str | None:
    given = as_object(call.get("rawInput"))
    if command := as_word(given.get("command"), TARGET_CHARS):
        return command
    paths = (as_word(as_object(row).get("path"), TARGET_CHARS) for row in as_list(call.get("locations")))
    keys = (as_word(given.get(key), TARGET_CHARS) for key in ("file_path", "path", "filePath", "url"))
    return next((word for word in (*paths, *keys) if word), None)
