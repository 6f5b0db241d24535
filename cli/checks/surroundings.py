"""What the program stands in: keys, proxies and certificates, tmux, and what makes images."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from ...actors.secrets import named_secrets
from ...messages.loopback import TOKEN_FILE
from ...state.home import Home
from .finding import Finding

KEYS: Mapping[str, str] = {
    "OPENROUTER_API_KEY": "cc, codexor, receipts, benchmarks",
    "ANTHROPIC_API_KEY": "claude",
    "OPENAI_API_KEY": "codex",
    "CODEX_API_KEY": "codex",
    "GEMINI_API_KEY": "gemini, images",
    "GOOGLE_API_KEY": "gemini, images",
    "TOKENROUTER_API_KEY": "tokenrouter",
    "CURSOR_API_KEY": "cursor",
    "FACTORY_API_KEY": "droid",
    "WARP_API_KEY": "warp",
}
"""Variable → what it is for. Only their presence is looked at."""
_PROXIES = ("https_proxy", "http_proxy", "all_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_LOOPBACK = ("127.0.0.1", "localhost")


def keys(_home: Home) -> Iterator[Finding]:
    """Say which keys are set, never what they are."""
    found = named_secrets(KEYS, os.environ)
    for name in sorted(found):
        where = "the environment" if os.environ.get(name, "").strip() else "~/.env"
        yield Finding("keys", "ok", f"{name} is set in {where} ({KEYS[name]})")
    if not found:
        yield Finding("keys", "note", "no API key is set: lanes on a plan or on this machine need none")


def network(_home: Home) -> Iterator[Finding]:
    """Say what stands between this machine and a model, and whether its certificates can be found."""
    set_here = {name: value for name in _PROXIES if (value := _either(name))}
    for name, value in set_here.items():
        yield Finding("network", "note", f"{name.upper()} is {_shown(value)}: delegates go through it")
    if set_here:
        spared = {word.strip().lstrip(".").lower() for word in _either("no_proxy").split(",")}
        if "*" not in spared and not spared.issuperset(_LOOPBACK):
            words = "NO_PROXY does not name 127.0.0.1 and localhost: local models would be asked by way of the proxy"
            yield Finding("network", "warn", words, "export NO_PROXY=127.0.0.1,localhost")
        if not any(os.environ.get(name) for name in _CERTIFICATES):
            words = (
                "if the proxy opens TLS, the CLIs end with certificate errors: name its certificate in"
                " SSL_CERT_FILE, and in NODE_EXTRA_CA_CERTS for those that are made with Node"
            )
            yield Finding("network", "note", words)
    for name in _CERTIFICATES:
        path = os.environ.get(name)
        if path and not os.access(path, os.R_OK):
            yield Finding("network", "warn", f"{name} names {path}, which can't be read", f"unset {name}")
    if not set_here:
        yield Finding("network", "ok", "no proxy is set")


def sockets(home: Home) -> Iterator[Finding]:
    """Say by what commands reach the supervisor, and whether such a thing can be had here."""
    wished = bool(os.environ.get("OSRC_LOOPBACK"))
    family = None if wished else getattr(socket, "AF_UNIX", None)
    try:
        socket.socket(socket.AF_INET if family is None else family, socket.SOCK_STREAM).close()
    except OSError as error:
        words = f"no socket can be made here ({error.strerror}): each command supervises by itself"
        yield Finding("sockets", "warn", words, "OSRC_NO_DAEMON=1 says so without trying")
        return
    if family is None:
        token = home.root / TOKEN_FILE
        level = "warn" if _open_to_others(str(token)) else "ok"
        yield Finding("sockets", level, f"a port of this machine, with a token in {token}")
        return
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and _open_to_others(runtime):
        words = f"XDG_RUNTIME_DIR is {runtime}, which is not yours alone: the temporary folder is used instead"
        yield Finding("sockets", "note", words)
    else:
        yield Finding("sockets", "ok", "local sockets can be made")


def _open_to_others(path: str) -> bool:
    """Whether something is there that is not this user's alone."""
    try:
        seen = os.stat(path)  # noqa: PTH116 - as named in the environment
    except OSError:
        return False
    return hasattr(os, "geteuid") and (seen.st_uid != os.geteuid() or bool(seen.st_mode & 0o077))


def terminal(_home: Home) -> Iterator[Finding]:
    """Say whether there is a tmux: panes can be claimed, and sessions can be shown in it."""
    if sys.platform == "win32":
        yield Finding(
            "tmux",
            "note",
            "there is none on Windows: sessions there speak a protocol or have a console; in WSL there is tmux",
        )
    elif (found := shutil.which("tmux")) is not None:
        yield Finding("tmux", "ok", found)
    else:
        yield Finding("tmux", "note", "no tmux: only claims of panes need it")


def images(_home: Home) -> Iterator[Finding]:
    """Say what could make an image here."""
    found = named_secrets(("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"), os.environ)
    ways = ["Codex"] if shutil.which("codex") and _codex_signed_in() else []
    ways += ["the Gemini API"] if {"GEMINI_API_KEY", "GOOGLE_API_KEY"} & found.keys() else []
    ways += ["OpenRouter"] if "OPENROUTER_API_KEY" in found else []
    if ways:
        yield Finding("images", "ok", f"could be made by {', '.join(ways)} (whether it answers was not asked)")
    else:
        yield Finding("images", "note", "nothing here makes images: Codex with a sign-in, or a key of Gemini's API")


def _codex_signed_in() -> bool:
    folder = os.environ.get("CODEX_HOME") or f"{os.environ.get('HOME', '')}/.codex"
    return Path(folder, "auth.json").is_file()


def _either(name: str) -> str:
    return os.environ.get(name) or os.environ.get(name.upper()) or ""


def _shown(url: str) -> str:
    """Return a proxy's address without what signs in to it."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, port = parts.hostname or "set", parts.port
    except ValueError:
        return "set, and is no address"
    return f"{host}:{port}" if port else host
