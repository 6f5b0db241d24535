"""Asking a service for an image, with a permit of the gate, and fetching what it only links to.

A link is an answer, so it is not trusted: only https; its host's addresses are looked at after they were resolved,
at each redirect anew, and the connection goes to that very address, so that no second look-up can say otherwise.
What isn't on the public internet (loopback, private, link-local and the like) is never asked.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import httpx

from ..lanes.loopback import is_loopback
from ..lanes.pictures import MOST_BYTES, REPLY_LIMIT, Answer, Backend, Call, failed, read_answer
from ..messages.refusals import RefusalCode, Refused
from .gate import Passed

HOPS = 5
"""Redirects of a link that are followed."""
PAUSE_S = 30.0
"""Longest silence of a server that is fetched from."""
_REDIRECTS = (301, 302, 303, 307, 308)

Resolve = Callable[[str, int], Iterable[str]]


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host. Raises OSError."""
    return list(dict.fromkeys(str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


def is_public(address: str) -> bool:
    """Whether an address is on the public internet, and is not another one in disguise."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if inner is None and found in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.ip_address(int(found) & 0xFFFFFFFF)  # type: ignore[assignment]  # 32 bits are an IPv4 address
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


@dataclass(frozen=True, slots=True)
class Net:
    """How servers are reached; a test hands in its own."""

    resolve: Resolve = resolve
    public: Callable[[str], bool] = is_public
    transport: Callable[[], httpx.BaseTransport | None] = lambda: None


NET = Net()


def ask(  # noqa: PLR0913  who, with what leave, as whom, for how long
    permit: Passed, backend: Backend, request: Call, key: str, *, timeout_s: float, net: Net = NET
) -> Answer | Refused:
    """Return the image that a service gives, fetched if it only links to it; or what it cost to be given none."""
    permit.demand(permit.subject, 1)
    deadline = time.monotonic() + timeout_s
    headers = {request.header: f"{request.prefix}{key}", "Content-Type": "application/json"}
    try:
        with (
            _client(timeout_s, net, trust_env=not is_loopback(request.url)) as client,
            client.stream("POST", request.url, headers=headers, content=request.body) as response,
        ):
            body = _read(response, REPLY_LIMIT, deadline)
            if isinstance(body, Refused):
                return body
            if response.status_code != httpx.codes.OK:
                return failed(backend, response.status_code, body)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return _unreachable(urlsplit(request.url).hostname or backend, str(error) or type(error).__name__)
    answer = read_answer(backend, body)
    if answer.link is None:
        return answer
    data = fetch(answer.link, deadline, net)
    return Answer(usd=answer.usd, why=data) if isinstance(data, Refused) else Answer(data=data, usd=answer.usd)


def fetch(link: str, deadline: float, net: Net = NET) -> bytes | Refused:
    """Return what a link of a service leads to. ``deadline``: monotonic seconds."""
    for _ in range(HOPS + 1):
        place = _place(link, net)
        if isinstance(place, Refused):
            return place
        host, address, url = place
        # The certificate is still checked for the host's name.
        named = {"sni_hostname": urlsplit(link).hostname or ""}
        try:
            with (
                _client(PAUSE_S, net, trust_env=False) as client,
                client.stream("GET", url, headers={"Host": host}, extensions=named) as response,
            ):
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    link = urljoin(link, response.headers["location"])
                    continue
                if response.status_code != httpx.codes.OK:
                    return _unreachable(host, f"it answered HTTP {response.status_code}")
                return _read(response, MOST_BYTES, deadline)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return _unreachable(f"{host} ({address})", str(error) or type(error).__name__)
    return _unreachable(urlsplit(link).hostname or "it", f"it redirects more than {HOPS} times")


def _place(link: str, net: Net) -> tuple[str, str, str] | Refused:
    """Return a link's host as a header has it, the address to connect to, and the link with that address in it."""
    try:
        parts = urlsplit(link)
        port, host = parts.port or 443, parts.hostname
    except ValueError:
        return _denied("a link that is none")
    if (
        parts.scheme != "https"
        or not host
        or parts.username is not None
        or not link.isascii()
        or not link.isprintable()
    ):
        return _denied(f"a link that is not plain https ({parts.scheme[:20]!a})")
    try:
        found = list(net.resolve(host, port))
    except (OSError, UnicodeError) as error:
        return _unreachable(host, f"its name can't be resolved: {getattr(error, 'strerror', None) or error}")
    if not found or not all(map(net.public, found)):
        return _denied(f"a link to {host[:100]}, which is not on the public internet")
    address = f"[{found[0]}]" if ":" in found[0] else found[0]
    header = host if parts.port is None else f"{host}:{port}"
    return header, found[0], parts._replace(netloc=f"{address}:{port}", fragment="").geturl()


def _client(timeout_s: float, net: Net, *, trust_env: bool) -> httpx.Client:
    return httpx.Client(timeout=timeout_s, trust_env=trust_env, follow_redirects=False, transport=net.transport())


def _read(response: httpx.Response, most: int, deadline: float) -> bytes | Refused:
    body = bytearray()
    for chunk in response.iter_bytes(64 * 1024):
        body += chunk
        if len(body) > most:
            return _unreachable("its answer", f"it is longer than {most >> 20} MiB")
        if time.monotonic() > deadline:
            return _unreachable("its answer", "it took too long (image_timeout)")
    return bytes(body)


def _unreachable(what: str, why: str) -> Refused:
    return Refused(code=RefusalCode.LANE_NOT_READY, message=f"No image: {what} could not be had: {why[:300]}")


def _denied(what: str) -> Refused:
    return Refused(code=RefusalCode.DENIED, message=f"No image: the service answered with {what}; it was not followed")
