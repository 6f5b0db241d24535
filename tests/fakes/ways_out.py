"""Every place in the program that can start a process or reach a server, found in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

STARTERS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {"fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp", "startfile"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "pty": {"fork", "spawn"},
    "multiprocessing": {"Process", "Pool", "get_context"},
    "pexpect": {"spawn", "run", "popen_spawn"},
    "httpx": {"Client", "AsyncClient", "get", "post", "request", "stream", "put", "patch", "delete"},
    "urllib.request": {"urlopen"},
    "http.client": {"HTTPConnection", "HTTPSConnection"},
    "socket": {"create_connection"},
    "spawner": {"spawn"},
}
"""Module (or, for ours, the name of what is called) → what of it starts something or reaches out."""


def ways_out(source: str) -> set[str]:
    """What in a module's source starts a process or reaches a server, as ``subprocess.Popen``."""
    nodes = list(ast.walk(ast.parse(source)))
    names = _imports(nodes)
    return {found for node in nodes if isinstance(node, ast.Call) for found in _named(node.func, names)}


def _named(func: ast.expr, names: Mapping[str, str]) -> Iterator[str]:
    dotted = _dotted(func)
    if dotted is None:
        return
    *head, last = dotted.split(".")
    module = names.get(head[0], head[0]) if head else names.get(last, "").rpartition(".")[0]
    module = ".".join((module, *head[1:]))
    if not head:
        last = names.get(last, last).rpartition(".")[2]
    for known, starters in STARTERS.items():
        same = module == known or (known == "spawner" and module.endswith("spawner"))
        if same and (last in starters or (known == "os" and last.startswith(("exec", "spawn")))):
            yield f"{known}.{last}"


def _imports(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Local name → what it stands for; imports inside functions too."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {
                alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0]
                for alias in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return f"{head}.{node.attr}" if head else None
    return None
