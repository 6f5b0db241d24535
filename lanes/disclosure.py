"""Where a lane's work goes, and what goes there: what a person is told before it leaves. Pure.

``leaving`` decides whether anything leaves at all. A lane that calls itself local is believed only as
far as its own command agrees: a server elsewhere, or a model that Ollama runs in its cloud, is cloud.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from .catalog.providers import SYNONYMS
from .contract import Lane, Launch, Locality
from .loopback import is_loopback

CLAUDE_RULES = ("~/.claude/CLAUDE.md", "~/.claude/rules")
CODEX_RULES = ("~/.codex/AGENTS.md", "~/.codex/AGENTS.override.md")
"""The person's own rule files that Claude Code, and Codex, send along, whoever drives them."""
OWN_PROVIDER = "the provider that you have set up in it"
OPENROUTER = "OpenRouter (openrouter.ai), and the host of the model there"

_VEHICLE_WORDS: Mapping[str, tuple[str, ...]] = {
    "gemini": ("gmnative",),
    "claude": ("ccnative",),
    "codex": ("cxnative",),
}
_SCHEME = r"(?:https?|wss?|grpcs?|tcp|ftps?|sftp|ssh|socks[45]?[ah]?)://"
_SERVER = re.compile(_SCHEME, re.IGNORECASE)
_ADDRESS = re.compile(rf"{_SCHEME}[^\s\"'{{}},;]{{1,2048}}", re.IGNORECASE)
_WORD_LIMIT = 16 * 1024
_CLOUD_MODELS = (":cloud", "-cloud")
"""How Ollama names the models that its server hands on to its own cloud."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Work that leaves this machine."""

    to: str
    """Whom it goes to, in words."""
    why: str | None = None
    """Why, where the lane calls itself local."""


def leaving(
    lane: Lane,
    *,
    model: str | None,
    server: str | None,
    addresses: Iterable[str],
    environment: Mapping[str, str],
) -> Leaving | None:
    """Return where work goes, or None where it stays on this machine.

    ``server`` is what was found for a lane that needs one; ``addresses`` are words of its command and of what its
    environment is changed to. Only those that are URLs count.
    """
    if lane.locality is Locality.CLOUD:
        other = next((environment[name] for name in lane.redirects if environment.get(name)), None)
        if other is None:
            own = lane.own_config is not None and environment.get(lane.own_config) == "1"
            return Leaving(to=f"{lane.goes_to}, or {OWN_PROVIDER}" if own else lane.goes_to)
        return Leaving(to=f"{host_of(other)} (as your environment says)")
    for address in (*((server,) if server else ()), *addresses):
        if _SERVER.match(address) and not is_loopback(address):
            return Leaving(to=host_of(address), why=f"its server {host_of(address)} is not on this machine")
    if model is not None and "server" in lane.needs and model.lower().endswith(_CLOUD_MODELS):
        return Leaving(to="Ollama's cloud", why=f"{model} is a model that its server runs in the cloud")
    return None


def addresses_of(lane: Lane, launch: Launch, prompt: str) -> tuple[str, ...]:
    """Return the URLs in a local lane's command and in what its environment is changed to (``addresses_in``)."""
    return addresses_in(lane, launch.argv, launch.env_set.values(), prompt)


def addresses_in(lane: Lane, argv: Iterable[str], values: Iterable[str], prompt: str) -> tuple[str, ...]:
    """Return the URLs among the words of a local lane's command and the values of its environment.

    Not those of the prompt, which may talk of any. A cloud lane's are nobody's question.
    """
    if lane.locality is Locality.CLOUD:
        return ()
    words = [word for word in argv if len(word) <= _WORD_LIMIT and not (prompt and prompt in word)]
    return tuple(found for word in (*words, *values) for found in _ADDRESS.findall(word))


def words_of(lane: Lane) -> frozenset[str]:
    """Return every word that means this lane, the predecessor's among them, by which it may be trusted."""
    known = {word for word, name in SYNONYMS.items() if name == lane.name}
    return frozenset({lane.name, *known, *_VEHICLE_WORDS.get(lane.name, ())})


def training(model: str | None) -> str:
    """Return what is known of whether the work may be trained on."""
    if model is not None and ":free" in model:
        return "MAY be used for training (a :free model)"
    return "as the terms of your account there say"


def host_of(address: str) -> str:
    """Return the host and port of a URL, never a name or password in it."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return "a server elsewhere"
    if not host or not host.isprintable():
        return "a server elsewhere"
    return host[:200] + (f":{port}" if port else "")
