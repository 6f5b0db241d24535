"""The smallest MCP server over stdio: one tool, which says hello. A file that it is named is made at its start."""

from __future__ import annotations

import json
import sys
from pathlib import Path

TOOL = {"name": "greet", "description": "Says hello.", "inputSchema": {"type": "object", "properties": {}}}

for name in sys.argv[1:]:
    Path(name).touch()
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
