"""Transcripts as each tool writes them, made from abstract steps; and the recorded ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "golden" / "transcripts"
Step = tuple[str, ...]
"""``user TEXT``, ``more TEXT``, ``say TEXT``, ``call ID NAME``, ``result ID``, ``ask ID``, ``fail WHY``, ``abort``."""
Rows = list[dict[str, object]]
AT = "2026-11-30T08:18:20.483Z"


def recorded(tool: str) -> bytes:
    """The one recorded transcript of a tool whose transcripts grow."""
    (path,) = (RECORDED / tool).glob("*/*.jsonl")
    return path.read_bytes()


def _claude(step: Step) -> Rows | None:
    common = {"sessionId": "s-claude", "cwd": "/w/repo", "gitBranch": "main", "timestamp": AT, "isSidechain": False}

    def assistant(block: dict[str, object], stop: str) -> Rows:
        message = {"role": "assistant", "model": "m-1", "content": [block], "stop_reason": stop}
        return [{"type": "assistant", "message": message, **common}]

    def user(content: object) -> Rows:
        return [{"type": "user", "message": {"role": "user", "content": content}, **common}]

    match step:
        case ("user", text):
            return user(text)
        case ("more", text):
            return assistant({"type": "text", "text": text}, "tool_use")
        case ("say", text):
            return assistant({"type": "text", "text": text}, "end_turn")
        case ("call", call, name):
            return assistant({"type": "tool_use", "id": call, "name": name, "input": {}}, "tool_use")
        case ("ask", call):
            return assistant({"type": "tool_use", "id": call, "name": "AskUserQuestion", "input": {}}, "tool_use")
        case ("result", call):
            return user([{"type": "tool_result", "tool_use_id": call, "content": "ok"}])
        case ("fail", why):
            message = {"model": "<synthetic>", "content": [{"type": "text", "text": why}]}
            return [{"type": "assistant", "isApiErrorMessage": True, "message": message, **common}]
        case _:
            return user([{"type": "text", "text": "[Request interrupted by user]"}])


def _codex(step: Step) -> Rows | None:
    def row(kind: str, **payload: object) -> dict[str, object]:
        return {"timestamp": AT, "type": kind, "payload": payload}

    def message(role: str, text: str) -> dict[str, object]:
        return row("response_item", type="message", role=role, content=[{"type": "x", "text": text}])

    match step:
        case ("user", text):
            meta = row("session_meta", id="s-codex", cwd="/w/repo", git={"branch": "main"})
            return [
                meta,
                row("turn_context", model="m-1"),
                row("event_msg", type="task_started"),
                message("user", text),
            ]
        case ("more", text):
            return [message("assistant", text)]
        case ("say", text):
            return [message("assistant", text), row("event_msg", type="task_complete", last_agent_message=text)]
        case ("call", call, name):
            return [row("response_item", type="function_call", call_id=call, name=name)]
        case ("ask", call):
            return [row("response_item", type="function_call", call_id=call, name="request_user_input")]
        case ("result", call):
            return [row("response_item", type="function_call_output", call_id=call, output="ok")]
        case ("fail", why):
            return [row("event_msg", type="task_complete", error={"message": why})]
        case _:
            return [row("event_msg", type="turn_aborted", reason="interrupted")]


def _gemini(step: Step) -> Rows | None:
    def row(kind: str, **more: object) -> dict[str, object]:
        return {"id": "x", "timestamp": AT, "type": kind, **more}

    match step:
        case ("user", text):
            head = {"sessionId": "s-gemini", "projectHash": "h", "startTime": AT, "kind": "main"}
            return [head, row("user", content=[{"text": text}]), {"$set": {"lastUpdated": AT}}]
        case ("more", text):
            return [row("gemini", content=text, model="m-1", toolCalls=[{"id": "z", "name": "z", "status": "success"}])]
        case ("say", text):
            return [row("gemini", content=text, model="m-1")]
        case ("call", call, name):
            calls = [{"id": call, "name": name, "status": "executing"}]
            return [row("gemini", content="", model="m-1", toolCalls=calls)]
        case ("ask", call):
            calls = [{"id": call, "name": "write_file", "status": "awaiting_approval"}]
            return [row("gemini", content="", model="m-1", toolCalls=calls)]
        case ("result", call):
            return [row("user", content=[{"functionResponse": {"id": call, "response": {}}}])]
        case ("fail", why):
            return [row("error", content=why)]
        case _:
            return [row("info", content="Request cancelled.")]


def _qwen(step: Step) -> Rows | None:
    def row(kind: str, *parts: object, **more: object) -> dict[str, object]:
        common = {"sessionId": "s-qwen", "cwd": "/w/repo", "gitBranch": "main", "timestamp": AT, "type": kind}
        return {**common, "version": "0.24.4", "message": {"parts": list(parts)}, "model": "m-1", **more}

    match step:
        case ("user", text):
            return [row("user", {"text": text})]
        case ("more", text):
            return [row("assistant", {"text": text}, {"functionCall": {"id": "z", "name": "z"}}), *_results("z", row)]
        case ("say", text):
            return [row("assistant", {"text": text})]
        case ("call", call, name):
            return [row("assistant", {"functionCall": {"id": call, "name": name}})]
        case ("ask", call):
            return [row("assistant", {"functionCall": {"id": call, "name": "ask_user_question"}})]
        case ("result", call):
            return _results(call, row)
        case ("fail", why):
            event = {"event.name": "qwen-code.api_error", "error_message": why}
            return [row("system", subtype="ui_telemetry", systemPayload={"uiEvent": event})]
        case _:
            return None  # it writes nothing of it


def _results(call: str, row: Callable[..., dict[str, object]]) -> Rows:
    return [row("tool_result", {"functionResponse": {"id": call, "response": {}}})]


def _copilot(step: Step) -> Rows | None:
    def row(kind: str, **data: object) -> dict[str, object]:
        return {"type": kind, "data": data, "timestamp": AT}

    def said(text: str, *calls: str, name: str = "bash") -> dict[str, object]:
        requests = [{"toolCallId": call, "name": name} for call in calls]
        return row("assistant.message", model="m-1", content=text, toolRequests=requests)

    match step:
        case ("user", text):
            start = row("session.start", sessionId="s-copilot", context={"cwd": "/w/repo", "branch": "main"})
            return [start, row("user.message", content=text)]
        case ("more", text):
            return [said(text, "z"), row("tool.execution_complete", toolCallId="z")]
        case ("say", text):
            return [said(text), row("assistant.turn_end", turnId="0")]
        case ("call", call, name):
            return [said("", call, name=name), row("tool.execution_start", toolCallId=call)]
        case ("ask", call):
            return [said("", call), row("permission.requested", permissionRequest={"intention": "write"})]
        case ("result", call):
            return [row("permission.completed"), row("tool.execution_complete", toolCallId=call)]
        case ("fail", why):
            return [row("session.error", message=why)]
        case _:
            return [row("abort", reason="user")]


def _droid(step: Step) -> Rows | None:
    def row(role: str, *blocks: object) -> dict[str, object]:
        message = {"role": role, "content": list(blocks), "modelId": "m-1"}
        return {"type": "message", "timestamp": AT, "message": message}

    match step:
        case ("user", text):
            start = {"type": "session_start", "id": "s-droid", "cwd": "/w/repo", "title": text}
            return [start, row("user", {"type": "text", "text": text})]
        case ("more", text):
            return [row("assistant", {"type": "text", "text": text}, {"type": "tool_use", "id": "z", "name": "z"}),
                    row("user", {"type": "tool_result", "tool_use_id": "z"})]  # fmt: skip
        case ("say", text):
            return [
                row("assistant", {"type": "text", "text": text}),
                {"type": "agent_turn_outcome", "reason": "completed"},
            ]
        case ("call", call, name):
            return [row("assistant", {"type": "tool_use", "id": call, "name": name})]
        case ("ask", call):
            return [row("assistant", {"type": "tool_use", "id": call, "name": "AskUser"})]
        case ("result", call):
            return [row("user", {"type": "tool_result", "tool_use_id": call})]
        case ("fail", why):
            return [{"type": "agent_turn_outcome", "reason": "error", "error": why}]
        case _:
            return [{"type": "agent_turn_outcome", "reason": "cancelled"}]


def _pi(step: Step) -> Rows | None:
    def row(role: str, content: object = (), **more: object) -> dict[str, object]:
        return {"type": "message", "timestamp": AT, "message": {"role": role, "content": content, **more}}

    def said(*blocks: object, stop: str, **more: object) -> Rows:
        return [row("assistant", list(blocks), model="m-1", stopReason=stop, **more)]

    match step:
        case ("user", text):
            return [{"type": "session", "id": "s-pi", "cwd": "/w/repo"}, row("user", [{"type": "text", "text": text}])]
        case ("more", text):
            return said({"type": "text", "text": text}, stop="toolUse")
        case ("say", text):
            return said({"type": "text", "text": text}, stop="stop")
        case ("call", call, name):
            return said({"type": "toolCall", "id": call, "name": name}, stop="toolUse")
        case ("ask", call):
            return said({"type": "toolCall", "id": call, "name": "ask_user"}, stop="toolUse")
        case ("result", call):
            return [row("toolResult", toolCallId=call)]
        case ("fail", why):
            return said(stop="error", errorMessage=why)
        case _:
            return said(stop="aborted")


WRITERS: dict[str, Callable[[Step], Rows | None]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
    "copilot": _copilot,
    "droid": _droid,
    "pi": _pi,
}


def written(tool: str, *steps: Step) -> bytes | None:
    """The bytes of such a conversation; None where the tool writes nothing of a step."""
    rows: Rows = []
    for step in steps:
        more = WRITERS[tool](step)
        if more is None:
            return None
        rows += more
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
