"""Addresses of model servers: normal form, and whether one is on this machine. Pure: no name is looked up."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit, urlunsplit


def normal_base(address: str, *, default_port: int | None = None) -> str | None:
    """Return ``address`` as a base URL ending in ``/v1``, or None when it is not one.

    ``127.0.0.1:11434`` → ``http://127.0.0.1:11434/v1``. A bind-all address (``0.0.0.0``, ``[::]``), which
    ``OLLAMA_HOST`` often holds, is read as loopback. A URL with a user name or password is not accepted:
    it would stand in a process list.
    """
    text = address.strip()
    parts = _split(text if "://" in text else f"http://{text}")
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        return None
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname, parts.hostname)  # noqa: S104 - read, never bound
    port = parts.port or (default_port if "://" not in text else None)
    netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    return urlunsplit((parts.scheme, netloc, parts.path.rstrip("/") or "/v1", "", ""))


def is_loopback(base_url: str) -> bool:
    """Whether the URL's host can only be this machine."""
    parts = _split(base_url)
    host = parts.hostname if parts else None
    if not host:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult | None:
    """``urlsplit``, without its exceptions."""
    if any(ord(char) <= 32 or ord(char) == 127 for char in url):
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
