"""Codex's own session protocol: ``codex app-server`` over stdio, JSON-RPC without its version key. Seen on 0.171.0.

A thread is started (or resumed by its id) read-only with ``on-request``: what would change something asks.
A model or an effort given with a turn holds from that turn on. Its plan's limits come as
``account/rateLimits/updated``. It names the model it is set to, not the one that answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import failures
from ...talk import Ask, BaseTalk, Options, request_id
from ...values import (
    EXCERPT_CHARS,
    MESSAGE_CHARS,
    TARGET_CHARS,
    as_asked,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    as_word,
    clip,
)
from .retries import NEEDLE, Asleep, asleep

DECISIONS = (
    {"id": "accept", "kind": "allow_once", "label": "Yes"},
    {"id": "acceptForSession", "kind": "allow_always", "label": "Yes, for this session"},
    {"id": "decline", "kind": "reject_once", "label": "No, and go on"},
    {"id": "cancel", "kind": "other", "label": "No, and end the turn"},
)
APPROVALS: Mapping[str, str] = {
    "item/commandExecution/requestApproval": "execute",
    "item/fileChange/requestApproval": "write",
}
TOOLS: Mapping[str, str] = {
    "commandExecution": "execute",
    "fileChange": "write",
    "mcpToolCall": "other",
    "webSearch": "read",
}
MODES: Mapping[str, tuple[str, str]] = {
    "plan": ("never", "readOnly"),
    "ask": ("on-request", "readOnly"),
    "edits": ("on-request", "workspaceWrite"),
    "yolo": ("never", "dangerFullAccess"),
}
"""A session's mode → approvals and sandbox. ``never`` in the read-only sandbox: what would change something fails."""
_ENDED_WELL = "completed"


class CodexTalk(BaseTalk):
    """One thread. Options: ``model``, ``effort``, ``conversation`` (the thread to resume), ``cwd``."""

    def __init__(self, options: Options) -> None:
        """Nothing was said yet."""
        super().__init__(options)
        self.listens = True
        self._requests: dict[int, tuple[str, int]] = {}
        """Our requests: id → (method, entry)."""
        self._counter = 0
        self._thread: str | None = None
        self._turn_id: str | None = None
        self._next: dict[str, Any] = {}
        """What the next turn is to set: model, effort, mode."""
        self._text: str | None = None
        self._stop_at_once = 0
        self._asleep: Asleep | None = None
        """Why its turn is being ended by us: it would sleep."""
        self._changes: dict[str, str] = {}
        """Item id → the file that it changes, for its question."""
        if options.get("effort"):
            self._next["effort"] = str(options["effort"])

    def open(self) -> None:
        """Greet it."""
        info = {"name": "outsourcerer", "title": "Outsourcerer", "version": "0"}
        self._request("initialize", {"clientInfo": info})

    def send(self, number: int, text: str) -> None:
        """Start a turn."""
        self.turn, self._turn_id, self._text = number, None, None
        params: dict[str, Any] = {"threadId": self._thread, "input": [{"type": "text", "text": text}]}
        params |= {"clientUserMessageId": f"osrc-{number}", **self._next}
        self._next = {}
        self._request("turn/start", params, number)

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer an approval request."""
        found = self.find(number, choice, request)
        if found is None:
            return
        asked, option = found
        decision = option["id"] if option is not None else "decline"
        self.out.append({"id": asked.kept, "result": {"decision": decision}})
        self.delivery(number, "done")
        self.settled(asked.request, option["label"] if option is not None else choice)

    def interrupt(self, number: int) -> None:
        """End the turn; one that is only being started is ended once it has its id."""
        if self._turn_id is None:
            self._stop_at_once = number or -1
            return
        self._request("turn/interrupt", {"threadId": self._thread, "turnId": self._turn_id}, number)

    def set_model(self, number: int, model: str) -> None:
        """Switch the model from the next turn on."""
        self._next["model"] = model
        self.tell("switched", model=model)
        self.delivery(number, "done", "from the next turn on")

    def set_effort(self, number: int, effort: str) -> None:
        """Switch the effort from the next turn on."""
        self._next["effort"] = effort
        self.tell("switched", effort=effort)
        self.delivery(number, "done", "from the next turn on")

    def set_mode(self, number: int, mode: str) -> None:
        """Switch sandbox and approvals from the next turn on."""
        approval, sandbox = MODES[mode]
        self._next |= {"approvalPolicy": approval, "sandboxPolicy": {"type": sandbox}}
        self.tell("switched", mode=mode)
        self.delivery(number, "done", "from the next turn on")

    def heard(self, message: Mapping[str, Any]) -> None:
        """Take one message."""
        method = message.get("method")
        if not isinstance(method, str):
            self._answered(message)
        elif "id" in message:
            self._asked(method, message.get("id"), as_object(message.get("params")))
        else:
            self._told(method, as_object(message.get("params")))

    def logged(self, line: str) -> None:
        """Take a line of its log: where it would sleep until a limit ends, the turn is ended."""
        if not self.turn or self._asleep is not None or NEEDLE.decode() not in line:
            return
        self._asleep = asleep(line)
        if self._asleep is not None:
            self.interrupt(0)

    # --- what it answers

    def _request(self, method: str, params: Mapping[str, Any], number: int = 0) -> None:
        self._counter += 1
        self._requests[self._counter] = (method, number)
        self.out.append({"id": self._counter, "method": method, "params": params})

    def _answered(self, message: Mapping[str, Any]) -> None:
        name = message.get("id")
        method, number = self._requests.pop(name, ("", 0)) if isinstance(name, int) else ("", 0)
        error = as_object(message.get("error"))
        if error:
            self._failed(method, number, as_word(error.get("message"), MESSAGE_CHARS) or "it was refused")
            return
        result = as_object(message.get("result"))
        match method:
            case "initialize":
                self.out.append({"method": "initialized"})
                self._open_thread()
            case "thread/start" | "thread/resume":
                thread = as_object(result.get("thread"))
                self._thread = as_word(thread.get("id"))
                self.named(conversation=self._thread)
                self.tell("announced", model=as_word(result.get("model")) or as_word(thread.get("model")))
                self.state("idle", method)
            case "turn/start":
                self._turn_id = as_word(as_object(result.get("turn")).get("id"))
                self.delivery(number, "seen")
                if self._stop_at_once and self._turn_id is not None:
                    stopping, self._stop_at_once = max(0, self._stop_at_once), 0
                    self.interrupt(stopping)
            case "turn/interrupt" if number:
                self.delivery(number, "done")
            case _:
                pass

    def _open_thread(self) -> None:
        terms: dict[str, Any] = {"cwd": self.options.get("cwd"), "approvalPolicy": "on-request", "sandbox": "read-only"}
        if self.options.get("model"):
            terms["model"] = self.options["model"]
        earlier = self.options.get("conversation")
        if earlier:
            self._request("thread/resume", {"threadId": earlier, **terms})
        else:
            self._request("thread/start", terms)

    def _failed(self, method: str, number: int, said: str) -> None:
        if method == "turn/start":
            self._end({"status": "failed", "error": {"message": said}})
            self.delivery(number, "failed", said)
        elif number:
            self.delivery(number, "refused", said)
        elif method:
            self.tell("notice", text=f"{method}: {said}")
            if method in ("initialize", "thread/start", "thread/resume"):
                self.state("login" if "auth" in said.lower() else "unknown", said)

    # --- what it asks

    def _asked(self, method: str, name: object, params: Mapping[str, Any]) -> None:
        request = request_id(name)
        if request is None:
            return
        if method not in APPROVALS:
            self.out.append({"id": name, "error": {"code": -32601, "message": "not supported"}})
            return
        command = as_asked(params.get("command"))
        self.ask(
            Ask(
                request=request,
                name="command" if APPROVALS[method] == "execute" else "file change",
                tool=APPROVALS[method],
                target=command or self._changes.get(as_word(params.get("itemId")) or ""),
                title=as_word(params.get("reason"), EXCERPT_CHARS),
                options=[dict(row) for row in DECISIONS],
                kept=name,
            )
        )

    # --- what it tells

    def _told(self, method: str, params: Mapping[str, Any]) -> None:  # noqa: C901 - one flat match
        match method:
            case "turn/started":
                self._turn_id = as_word(as_object(params.get("turn")).get("id")) or self._turn_id
                if self.turn:
                    self.delivery(self.turn, "turn-started")
                    self.state("working", method)
            case "turn/completed":
                self._end(as_object(params.get("turn")))
            case "item/started":
                self._item(as_object(params.get("item")), ended=False)
            case "item/completed":
                self._item(as_object(params.get("item")), ended=True)
            case "serverRequest/resolved":
                self.settled(request_id(params.get("requestId")) or "", None)
            case "account/rateLimits/updated":
                self._limits(as_object(params.get("rateLimits")))
            case "thread/tokenUsage/updated":
                self._usage(as_object(as_object(params.get("tokenUsage")).get("total")))
            case "turn/diff/updated":
                self.tell("diff", chars=len(as_text(params.get("diff")) or ""))
            case "turn/plan/updated":
                rows = map(as_object, as_list(params.get("plan")))
                entries = [
                    {"text": as_word(row.get("step"), EXCERPT_CHARS), "status": as_word(row.get("status"))}
                    for row in rows
                ]
                self.tell("plan", entries=entries)
            case "error":
                said = as_word(as_object(params.get("error")).get("message"), EXCERPT_CHARS)
                self.tell("retry" if params.get("willRetry") is True else "notice", message=said, text=said)
            case _:
                pass

    def _item(self, item: Mapping[str, Any], *, ended: bool) -> None:
        kind = as_word(item.get("type")) or ""
        if kind == "agentMessage" and ended:
            self._text = as_text(item.get("text")) or self._text
            self.tell("text", text=as_text(item.get("text")))
        elif kind == "reasoning" and ended:
            self.tell("thought", chars=sum(len(as_text(part) or "") for part in as_list(item.get("summary"))))
        elif kind in TOOLS:
            name, target = _name(kind, item), _item_target(item)
            if not ended:
                if kind == "fileChange" and target:
                    paths = (as_word(as_object(row).get("path"), MESSAGE_CHARS) for row in as_list(item.get("changes")))
                    every = as_asked("\n".join(path for path in paths if path))
                    self._changes[as_word(item.get("id")) or ""] = every or target
                self.tell("tool", tool=TOOLS[kind], name=name, target=target)
                return
            status = item.get("status")
            excerpt = as_text(item.get("aggregatedOutput"), EXCERPT_CHARS) if status == "failed" else None
            self.tell("tool_end", name=name, ok=status == "completed", denied=status == "declined", excerpt=excerpt)

    def _limits(self, limits: Mapping[str, Any]) -> None:
        windows = []
        for name in ("primary", "secondary"):
            row = as_object(limits.get(name))
            used = as_number(row.get("usedPercent"))
            if row:
                share = None if used is None else used / 100
                windows.append(
                    {"name": _window(row) or name, "utilization": share, "resets_at": as_number(row.get("resetsAt"))}
                )
        self.tell("limits", rejected=limits.get("rateLimitReachedType") is not None, windows=windows)

    def _usage(self, total: Mapping[str, Any]) -> None:
        given, cached = as_count(total.get("inputTokens")), as_count(total.get("cachedInputTokens"))
        uncached = given if given is None or cached is None else max(0, given - cached)
        output = as_count(total.get("outputTokens"))
        self.tell("usage", of="conversation", input=uncached, cached_input=cached, output=output)

    def _end(self, turn: Mapping[str, Any]) -> None:
        self.drop_questions()
        status = turn.get("status")
        error = as_object(turn.get("error"))
        said = as_word(error.get("message"), MESSAGE_CHARS) or ""
        pause, self._asleep = self._asleep, None
        if pause is not None and status != _ENDED_WELL:
            words = clip(pause.message, MESSAGE_CHARS)
            self.tell("end", ok=False, failure=pause.failure.value, message=words, until=pause.until)
        elif status == _ENDED_WELL:
            self.tell("end", ok=True, text=self._text)
        elif status == "interrupted":
            self.tell("end", ok=False, failure="interrupted", message="interrupted")
        else:
            told = failures.by_words(said) or failures.by_status(_status_in(error.get("codexErrorInfo")))
            self.tell("end", ok=False, failure=told or "task", message=clip(said, MESSAGE_CHARS))
        self.turn, self._turn_id, self._stop_at_once = 0, None, 0
        self._changes.clear()
        self.state("idle", "turn/completed")


def _window(row: Mapping[str, Any]) -> str | None:
    """Return what a window of this length is called everywhere; None for another."""
    return {300: "five_hour", 10080: "seven_day"}.get(as_count(row.get("windowDurationMins")) or 0)


def _name(kind: str, item: Mapping[str, Any]) -> str:
    names = {"commandExecution": "command", "fileChange": "file change", "webSearch": "web search"}
    return names.get(kind) or as_word(item.get("tool")) or kind


def _item_target(item: Mapping[str, Any]) -> str | None:
    if command := as_word(item.get("command"), TARGET_CHARS):
        return command
    paths = (as_word(as_object(row).get("path"), TARGET_CHARS) for row in as_list(item.get("changes")))
    return next((path for path in paths if path), as_word(item.get("query"), TARGET_CHARS))


def _status_in(info: object) -> int | None:
    """Return the HTTP status in ``codexErrorInfo``, one level down."""
    for row in as_object(info).values():
        if (status := as_count(as_object(row).get("httpStatusCode"))) is not None:
            return status
    return None
