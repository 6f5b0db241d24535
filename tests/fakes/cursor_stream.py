"""What ``cursor-agent`` would print of a whole turn, from its public reference: nobody had the program."""

from __future__ import annotations

import json

SESSION = {"session_id": "c6b62c6f"}
CURSOR = [
    {"type": "system", "subtype": "init", "model": "Auto", "permissionMode": "default"},
    {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}},
    {"type": "thinking", "subtype": "delta", "text": "hmm"},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I will."}]}},
    {"type": "tool_call", "subtype": "started", "tool_call": {"readToolCall": {"args": {"path": "a.py"}}}},
    {
        "type": "tool_call",
        "subtype": "completed",
        "tool_call": {"readToolCall": {"args": {"path": "a.py"}, "result": {"success": {"content": "x"}}}},
    },
    {"type": "tool_call", "subtype": "started", "tool_call": {"shellToolCall": {"args": {"command": "false"}}}},
    {
        "type": "tool_call",
        "subtype": "completed",
        "tool_call": {"shellToolCall": {"result": {"success": {"exitCode": 1, "stderr": "no"}}}},
    },
    {"type": "tool_call", "subtype": "started", "tool_call": {"writeToolCall": {"args": {"path": "b.py"}}}},
    {
        "type": "tool_call",
        "subtype": "completed",
        "tool_call": {"writeToolCall": {"result": {"rejected": {"reason": "not allowed"}}}},
    },
    {"type": "tool_call", "subtype": "started", "tool_call": {"function": {"name": "mcp_x", "arguments": "{}"}}},
    {"type": "tool_call", "subtype": "completed", "tool_call": {"function": {"name": "mcp_x"}}},
    {"type": "result", "subtype": "success", "is_error": False, "result": "I will.Done.", "duration_ms": 3},
]
CURSOR_OUT = b"".join(json.dumps(line | SESSION, separators=(",", ":")).encode() + b"\n" for line in CURSOR)
