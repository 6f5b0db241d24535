"""Fetching OpenRouter's catalogue and benchmark scores: only when a person asks for it (``--refresh``)."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from ..lanes.catalog.benchmarks import QUERY, is_benchmarks
from ..lanes.catalog.listing import is_catalogue
from ..lanes.loopback import is_loopback
from ..lanes.openrouter import KEY
from ..messages.refusals import RefusalCode, Refused
from ..state.files import write_private
from .model_book import LISTING_LIMIT, ModelBook

FETCH_S = 30.0


def refresh(
    book: ModelBook,
    base_url: str,
    key: str | None,
    *,
    timeout_s: float = FETCH_S,
    clock: Callable[[], float] = time.monotonic,
) -> Refused | None:
    """Fetch the catalogue and keep it, or say why not: what was kept then stays. Raises StateError."""
    content = _fetch(f"{base_url}/v1/models", key, clock() + timeout_s, timeout_s, clock)
    if isinstance(content, Refused):
        return content
    if not is_catalogue(content):
        return _unreachable(base_url, "its answer is no catalogue of models with prices")
    write_private(book.listing_path, content)
    return None


def refresh_benchmarks(
    book: ModelBook,
    base_url: str,
    key: str | None,
    *,
    timeout_s: float = FETCH_S,
    clock: Callable[[], float] = time.monotonic,
) -> Refused | None:
    """Fetch the benchmark scores and keep them, or say why not: what was kept then stays. Raises StateError."""
    if key is None:
        return Refused(
            code=RefusalCode.LANE_NOT_READY,
            message=f"Benchmark scores are fetched with a key of OpenRouter's, and there is no {KEY}.",
            hint=f"put {KEY}=... into ~/.env, or set it in the environment; any key will do",
        )
    url = f"{base_url}/v1/benchmarks"
    content = _fetch(f"{url}?{QUERY}", key, clock() + timeout_s, timeout_s, clock)
    if isinstance(content, Refused):
        return content
    if not is_benchmarks(content):
        return _unreachable(url, "its answer holds no scores")
    write_private(book.benchmarks_path, content)
    return None


def _fetch(url: str, key: str | None, deadline: float, timeout_s: float, clock: Callable[[], float]) -> bytes | Refused:
    headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
    body = bytearray()
    try:
        with (
            httpx.Client(timeout=timeout_s, trust_env=not is_loopback(url), follow_redirects=False) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.status_code != 200:
                return _unreachable(url, f"it answered HTTP {response.status_code}")
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > LISTING_LIMIT:
                    return _unreachable(url, "its answer is longer than 32 MiB")
                if clock() > deadline:
                    return _unreachable(url, f"it took longer than {timeout_s:g} s")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return _unreachable(url, str(error) or type(error).__name__)
    return bytes(body)


def _unreachable(url: str, why: str) -> Refused:
    return Refused(
        code=RefusalCode.LANE_NOT_READY,
        message=f"What is at {url} could not be fetched: {why}.",
        hint="what was fetched before is kept; try again with a connection",
    )
