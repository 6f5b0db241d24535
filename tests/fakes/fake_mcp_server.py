"""The smallest MCP server over stdio: one tool, which says hello."""

from __future__ import annotations

import json
import sys

TOOL = {"name": "greet", "description": "Says hello.", "inputSchema": {"type": "object", "properties": {}}}

for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    result: dict[str, object] = {}
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        result = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "f", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "hello from the server"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
