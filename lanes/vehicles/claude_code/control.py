"""Claude Code's stream-json control protocol (``claude -p --input-format stream-json``). Seen on 2.1.332.

A message of ours is echoed once it is taken (``--replay-user-messages``), ``system/init`` opens its turn and
``result`` closes it. What needs permission comes as ``control_request`` ``can_use_tool``; only ``allow`` with
the input repeated lets it happen. Words of sub-agents are a sign of life, not the delegate's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import failures
from ...talk import Ask, BaseTalk, Options, request_id
from ...tool_calls import keep_call, target_in
from ...values import (
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    as_asked,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    as_word,
    clip,
)
from .phrases import CONNECTION
from .tools import REFUSALS, TARGETS, TOOLS

SYNTHETIC = "<synthetic>"
LEVELS: Mapping[str, str] = {"minimal": "low"}
"""Effort → its lowest level, where it has no such one."""
MODES: Mapping[str, str] = {"plan": "plan", "ask": "manual", "edits": "acceptEdits", "yolo": "bypassPermissions"}
"""A session's mode → its permission mode. The last one it grants nobody who did not start it so."""
QUESTION = "AskUserQuestion"


class ClaudeTalk(BaseTalk):
    """One session with Claude Code. Option ``model`` is what it was started with."""

    def __init__(self, options: Options) -> None:
        """Nothing was said yet."""
        super().__init__(options)
        self._requests: dict[str, tuple[str, int, str]] = {}
        """Our control requests: id → (subtype, entry, value)."""
        self._calls: dict[str, str] = {}
        self._counter = 0
        self._refused: set[str] = set()
        """Tool calls that we refused, until their result comes."""
        self._at_work = False

    def open(self) -> None:
        """Greet it: it answers once it is up."""
        self._control("initialize", 0)

    def send(self, number: int, text: str) -> None:
        """Send a user message."""
        self.turn = number
        content = [{"type": "text", "text": text}]
        self.out.append({"type": "user", "message": {"role": "user", "content": content}})

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer a permission request, or a question of the model's."""
        found = self.find(number, choice, request)
        if found is None:
            return
        asked, option = found
        given = as_object(asked.kept)
        reply: dict[str, Any]
        if asked.name == QUESTION:
            reply = _answered(given, option["label"] if option else choice)
        elif option is not None and option["kind"].startswith("allow"):
            reply = {"behavior": "allow", "updatedInput": given.get("input")}
            if option["kind"] == "allow_always":
                reply["updatedPermissions"] = given.get("permission_suggestions")
        else:
            why = "The user refused this." if option is not None else choice
            reply = {"behavior": "deny", "message": why}
            self._refused.add(as_word(given.get("tool_use_id")) or "")
        response = {"subtype": "success", "request_id": asked.request, "response": reply}
        self.out.append({"type": "control_response", "response": response})
        self.delivery(number, "done")
        self.settled(asked.request, option["label"] if option else choice)

    def interrupt(self, number: int) -> None:
        """End the turn."""
        self._control("interrupt", number)

    def set_model(self, number: int, model: str) -> None:
        """Switch the model from the next turn on."""
        self._control("set_model", number, model, model=model)

    def set_effort(self, number: int, effort: str) -> None:
        """Switch the effort: a setting of this process alone."""
        level = LEVELS.get(effort, effort)
        if level != effort:
            self.tell("notice", text=f"Claude Code has no effort {effort}: {level} is used")
        self._control("apply_flag_settings", number, level, settings={"effortLevel": level})

    def set_mode(self, number: int, mode: str) -> None:
        """Switch its permission mode."""
        self._control("set_permission_mode", number, mode, mode=MODES[mode])

    def heard(self, message: Mapping[str, Any]) -> None:
        """Take one line."""
        kind = message.get("type")
        match kind:
            case "control_response":
                self._response(as_object(message.get("response")))
            case "control_request":
                self._request(message)
            case "control_cancel_request":
                self.settled(request_id(message.get("request_id")) or "", None)
            case "system":
                self._system(message)
            case "user":
                self._user(message)
            case "assistant":
                self._assistant(message)
            case "rate_limit_event":
                self._limits(as_object(message.get("rate_limit_info")))
            case "result":
                self._result(message)
            case _:
                pass

    def _control(self, subtype: str, number: int, value: str = "", **fields: object) -> None:
        self._counter += 1
        name = f"osrc-{self._counter}"
        self._requests[name] = (subtype, number, value)
        self.out.append({"type": "control_request", "request_id": name, "request": {"subtype": subtype, **fields}})

    def _response(self, response: Mapping[str, Any]) -> None:
        subtype, number, value = self._requests.pop(request_id(response.get("request_id")) or "", ("", 0, ""))
        failed = response.get("subtype") != "success"
        said = as_word(response.get("error"), MESSAGE_CHARS) or "it was refused"
        match subtype:
            case "initialize":
                if failed:
                    self.tell("notice", text=said)
                self.state("idle", "initialize")
            case "interrupt" | "set_model" | "apply_flag_settings" | "set_permission_mode" if failed:
                self.delivery(number, "refused", said)
            case "set_model":
                self.tell("switched", model=value)
                self.delivery(number, "done")
            case "set_permission_mode":
                self.tell("switched", mode=value)
                self.delivery(number, "done")
            case "apply_flag_settings":
                self.tell("switched", effort=value)
                self.delivery(number, "done")
            case "interrupt":
                self.delivery(number, "done")
            case _:
                pass

    def _request(self, message: Mapping[str, Any]) -> None:
        name = request_id(message.get("request_id"))
        request = as_object(message.get("request"))
        if name is None:
            return
        if request.get("subtype") != "can_use_tool":
            error = {"subtype": "error", "request_id": name, "error": "not supported"}
            self.out.append({"type": "control_response", "response": error})
            return
        tool = as_word(request.get("tool_name")) or "tool"
        given = as_object(request.get("input"))
        if tool == QUESTION:
            self.ask(_question(name, request, given))
            return
        options = [{"id": "allow", "kind": "allow_once", "label": "Yes"}]
        if as_list(request.get("permission_suggestions")):
            options.append({"id": "always", "kind": "allow_always", "label": "Yes, and don't ask again"})
        options.append({"id": "deny", "kind": "reject_once", "label": "No"})
        self.ask(
            Ask(
                request=name,
                name=tool,
                tool=TOOLS.get(tool, "other"),
                target=next((text for key in TARGETS if (text := as_asked(given.get(key)))), None),
                title=as_word(request.get("description"), EXCERPT_CHARS),
                options=options,
                free=True,
                kept=dict(request),
            )
        )

    def _system(self, message: Mapping[str, Any]) -> None:
        subtype = message.get("subtype")
        if subtype == "init":
            self.named(conversation=as_word(message.get("session_id")))
            self.tell("announced", model=as_word(message.get("model")))
            self._began("system init")
        elif subtype == "api_retry":
            delay_ms = as_number(message.get("retry_delay_ms"))
            self.tell(
                "retry",
                attempt=as_count(message.get("attempt")),
                status=as_count(message.get("error_status")),
                delay_s=None if delay_ms is None else delay_ms / 1000,
                message=as_word(message.get("error"), EXCERPT_CHARS),
            )

    def _began(self, evidence: str) -> None:
        if self.turn and not self._at_work:
            self._at_work = True
            self.delivery(self.turn, "turn-started")
            self.state("working", evidence)

    def _user(self, message: Mapping[str, Any]) -> None:
        content = as_object(message.get("message")).get("content")
        if message.get("isReplay") is True and self.turn:
            self.delivery(self.turn, "seen")
            return
        for block in map(as_object, as_list(content)):
            if block.get("type") == "tool_result":
                self._tool_result(block)

    def _tool_result(self, block: Mapping[str, Any]) -> None:
        failed = block.get("is_error") is True
        said = _plain(block.get("content"))
        call = as_word(block.get("tool_use_id")) or ""
        denied = call in self._refused or (failed and any(words in (said or "") for words in REFUSALS))
        self._refused.discard(call)
        excerpt = clip(said, EXCERPT_CHARS) if failed and said else None
        name = self._calls.pop(call, None)
        self.tell("tool_end", name=name, ok=not failed, denied=denied, excerpt=excerpt)

    def _assistant(self, message: Mapping[str, Any]) -> None:
        inner = as_object(message.get("message"))
        model = as_word(inner.get("model"))
        if model == SYNTHETIC or message.get("is_api_error_message") is True:
            return
        own = message.get("parent_tool_use_id") is None
        if own:
            self.named(model=model)
        self._began("assistant")
        for block in map(as_object, as_list(inner.get("content"))):
            self._block(block, own=own)

    def _block(self, block: Mapping[str, Any], *, own: bool) -> None:
        kind = block.get("type")
        if kind == "text" and own:
            self.tell("text", text=as_text(block.get("text")))
        elif kind in ("text", "thinking"):
            self.tell("thought", chars=len(as_text(block.get(str(kind))) or ""))
        elif kind in ("tool_use", "server_tool_use"):
            name = as_word(block.get("name")) or "tool"
            keep_call(self._calls, as_word(block.get("id")), name)
            self.tell("tool", tool=TOOLS.get(name, "other"), name=name, target=target_in(block.get("input"), TARGETS))

    def _limits(self, info: Mapping[str, Any]) -> None:
        rows = [(name, as_object(row)) for name, row in as_object(info.get("unifiedWindows")).items()]
        if not rows and (name := as_word(info.get("rateLimitType"))):
            rows = [(name, {"resetsAt": info.get("resetsAt")})]
        windows = [
            {
                "name": as_word(name) or "window",
                "utilization": as_number(row.get("utilization")),
                "resets_at": as_number(row.get("resetsAt")),
            }
            for name, row in rows[:16]
        ]
        self.tell("limits", rejected=info.get("status") == "rejected", windows=windows)

    def _result(self, message: Mapping[str, Any]) -> None:
        self.named(conversation=as_word(message.get("session_id")))
        self.drop_questions()
        usage = as_object(message.get("usage"))
        if usage:
            self.tell(
                "usage",
                input=as_count(usage.get("input_tokens")),
                cached_input=as_count(usage.get("cache_read_input_tokens")),
                cache_write=as_count(usage.get("cache_creation_input_tokens")),
                output=as_count(usage.get("output_tokens")),
            )
        text = as_text(message.get("result"))
        ok = message.get("is_error") is False and message.get("subtype") == "success"
        if ok:
            self.tell("end", ok=True, text=text)
        else:
            said = text or "; ".join(filter(None, (as_word(row) for row in as_list(message.get("errors")))))
            words = clip(said, MESSAGE_CHARS) if said else as_word(message.get("subtype"))
            failure = _failure(message, said)
            self.tell("end", ok=False, failure=failure, message="interrupted" if failure == "interrupted" else words)
        self.turn, self._at_work = 0, False
        self._refused.clear()
        self.state("idle", "result")


def _failure(message: Mapping[str, Any], said: str) -> str:
    if str(message.get("terminal_reason")).startswith("aborted"):
        return "interrupted"
    return (
        failures.by_words(said, CONNECTION) or failures.by_status(as_count(message.get("api_error_status"))) or "task"
    )


def _question(name: str, request: Mapping[str, Any], given: Mapping[str, Any]) -> Ask:
    """Return a question of the model's own: its options are its first question's."""
    first = as_object(next(iter(as_list(given.get("questions"))), None))
    labels = [as_word(as_object(row).get("label"), EXCERPT_CHARS) for row in as_list(first.get("options"))]
    options = [{"id": label, "kind": "other", "label": label} for label in labels if label]
    title = as_word(first.get("question"), MESSAGE_CHARS)
    return Ask(request=name, name=QUESTION, options=options, title=title, free=True, kept=dict(request))


def _answered(request: Mapping[str, Any], words: str) -> dict[str, Any]:
    """Return the reply that answers every question with these words."""
    given = dict(as_object(request.get("input")))
    asked = [as_object(row).get("question") for row in as_list(given.get("questions"))]
    answers = {question: words for question in asked if isinstance(question, str)}
    return {"behavior": "allow", "updatedInput": {**given, "answers": answers}}


def _plain(content: object) -> str | None:
    if isinstance(content, str):
        return as_text(content, 4 * EXCERPT_CHARS)
    texts = (as_text(as_object(row).get("text"), 4 * EXCERPT_CHARS) for row in as_list(content))
    return next((text for text in texts if text is not None), None)
