"""Images as they are asked for and answered: services, their requests and replies, and what a file's bytes are. Pure.

Public facts (2026-11): Gemini's ``generateContent`` answers with ``inlineData``; OpenRouter's chat completions
with ``message.images``, each a ``data:`` URL or a link. Codex makes images with a tool of its own, in a job.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..messages.refusals import RefusalCode, Refused
from . import openrouter
from .catalog.pools import GEMINI_KEY, OPENROUTER
from .contract import Billing
from .loopback import is_loopback
from .values import as_number, as_object

Backend = Literal["codex", "gemini", "openrouter"]

ORDER: tuple[Backend, ...] = ("codex", "gemini", "openrouter")
"""Without a word of the person's the first that is ready: a plan before a key, a key of one maker before credits."""
BILLING: Mapping[Backend, Billing] = {"gemini": GEMINI_KEY, "openrouter": OPENROUTER}
"""Who pays a service; Codex makes images in a job, which its lane pays."""
LANES: Mapping[Backend, str] = {"codex": "codex", "gemini": "gemini", "openrouter": "codexor"}
"""Whose road a backend's work takes: where it goes, who is billed."""
KEYS: Mapping[Backend, tuple[str, ...]] = {
    "codex": (),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter": (openrouter.KEY,),
}
MODELS: Mapping[Backend, str] = {
    "codex": "gpt-image-2",
    "gemini": "gemini-2.5-flash-image",
    "openrouter": "x-ai/grok-imagine-image-quality",
}
"""What is asked where nobody named a model. Codex takes none: its tool has its own."""
GEMINI_URL = "https://generativelanguage.googleapis.com"
GEMINI_REDIRECT = "GOOGLE_GEMINI_BASE_URL"

MOST_BYTES = 64 * 1024 * 1024
"""Largest image."""
REPLY_LIMIT = 96 * 1024 * 1024
"""Longest reply of a service: an image in base64, and what is around it."""
WORD_LIMIT = 200
"""Longest name of a model."""
SAVED_AS = "image"
"""What Codex is told to call its file; the extension is its own."""

_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a service. The key is put in where it is sent."""

    url: str
    header: str
    """Which header bears the key."""
    prefix: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service gave: the image itself, a link to it, or why it gave none."""

    data: bytes | None = None
    link: str | None = None
    usd: float | None = None
    """What it cost in cash, as the service says, also where there is no image; None where it does not."""
    why: Refused | None = None
    """Why there is no image, where there is none."""


def kind_of(data: bytes) -> str | None:
    """Return the extension of what a file's bytes are: png, jpg, gif or webp; None for all else.

    >>> kind_of(b"GIF89a..."), kind_of(b"<svg>")
    ('gif', None)
    """
    if data.startswith(_PNG) and data[12:16] == b"IHDR":
        return "png"
    if data.startswith(_JPEG):
        return "jpg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return None


def codex_task(prompt: str) -> str:
    """Return what a Codex job is told, to have an image made and left in its folder."""
    return (
        "Make one image with your built-in image generation tool, from the description between the lines. Then copy "
        f"the file that it made into the current folder as {SAVED_AS} with the right extension ({SAVED_AS}.png for a "
        "PNG). Don't draw it by code, don't install anything, change no other file. If you have no such tool, say so.\n"
        f"-----\n{prompt}\n-----"
    )


def base_of(backend: Backend, openrouter_url: str | None, environment: Mapping[str, str]) -> str | Refused:
    """Return where a service is. A key is only sent encrypted, or to this machine."""
    if backend == "openrouter":
        return openrouter.base_url(openrouter_url)
    base = environment.get(GEMINI_REDIRECT, "").strip().rstrip("/") or GEMINI_URL
    if not (base.startswith("https://") or (base.startswith("http://") and is_loopback(base))):
        return Refused(
            code=RefusalCode.BAD_CONFIG,
            message=f"{GEMINI_REDIRECT} is no address that a key may be sent to: https, or http on this machine.",
            hint=f"unset {GEMINI_REDIRECT}",
        )
    return base


def call(backend: Backend, base: str, model: str, prompt: str) -> Call:
    """Return the request that asks a service for one image. ``model`` is one word of it: see ``is_model``."""
    if backend == "gemini":
        body: dict[str, Any] = {
            "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            "generationConfig": {"responseModalities": ["TEXT", "IMAGE"]},
        }
        url = f"{base}/v1beta/models/{model}:generateContent"
        return Call(url, "x-goog-api-key", "", json.dumps(body).encode())
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "modalities": ["image", "text"],
        "usage": {"include": True},
    }
    return Call(f"{base}/v1/chat/completions", "Authorization", "Bearer ", json.dumps(body).encode())


def is_model(backend: Backend, word: str) -> bool:
    """Whether a word can be a model's id there at all: it becomes a part of the address."""
    allowed = "-._:/" if backend == "openrouter" else "-._"
    plain = all(c.isascii() and (c.isalnum() or c in allowed) for c in word)
    return plain and 0 < len(word) <= WORD_LIMIT and ".." not in word


def read_answer(backend: Backend, body: bytes) -> Answer:
    """Return what a service answered, or why there is no image in it. Its words are its own: untrusted."""
    try:
        reply = as_object(json.loads(body))
    except (ValueError, RecursionError):
        return _none("its answer is no JSON")
    return _read_gemini(reply) if backend == "gemini" else _read_openrouter(reply)


def _read_gemini(reply: Mapping[str, Any]) -> Answer:
    said: list[str] = []
    for candidate in _list(reply.get("candidates")):
        for part in _list(as_object(as_object(candidate).get("content")).get("parts")):
            inline = as_object(as_object(part).get("inlineData")) or as_object(as_object(part).get("inline_data"))
            data = _decoded(inline.get("data"))
            if data is not None:
                return Answer(data=data)
            said.append(_words(as_object(part).get("text")))
        said.append(_words(as_object(candidate).get("finishReason")))
    said.append(_words(as_object(reply.get("promptFeedback")).get("blockReason")))
    return _none("; ".join(word for word in said if word) or "it gave none, and no reason")


def _read_openrouter(reply: Mapping[str, Any]) -> Answer:
    usd = as_number(as_object(reply.get("usage")).get("cost"))
    said: list[str] = []
    for choice in _list(reply.get("choices")):
        message = as_object(as_object(choice).get("message"))
        for image in _list(message.get("images")):
            url = as_object(as_object(image).get("image_url")).get("url")
            if not isinstance(url, str):
                continue
            if not url.startswith("data:"):
                return Answer(link=url, usd=usd)
            data = _decoded(url.partition(";base64,")[2])
            if data is not None:
                return Answer(data=data, usd=usd)
        said.extend((_words(message.get("refusal")), _words(message.get("content"))))
    said.append(_words(as_object(reply.get("error")).get("message")))
    return _none("; ".join(word for word in said if word) or "it gave none, and no reason", usd)


def failed(backend: Backend, status: int, body: bytes) -> Refused:
    """Return what an HTTP status other than 200 means."""
    try:
        said = _words(as_object(as_object(json.loads(body)).get("error")).get("message"))
    except (ValueError, RecursionError):
        said = ""
    words = {
        400: "it refused the request",
        401: "it refused the key",
        402: "the credits are used up",
        403: "it refused the key",
        404: "it has no such model",
        429: "its limit is reached for now",
    }
    why = words.get(status, "it failed" if status >= 500 else "it refused")
    hint = "osrc image --backend ... takes another one" if status in (402, 404, 429) else None
    return Refused(
        code=RefusalCode.LANE_NOT_READY,
        message=f"{backend} made no image: {why} (HTTP {status})" + (f": {said}" if said else ""),
        hint=hint,
    )


def _none(why: str, usd: float | None = None) -> Answer:
    message = f"there is no image in the answer: {why}"
    return Answer(usd=usd, why=Refused(code=RefusalCode.NO_RESULT, message=message, hint="say it otherwise"))


def _list(value: object) -> list[Any]:
    return value[:64] if isinstance(value, list) else []


def _words(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return "".join(c if c.isprintable() else " " for c in " ".join(text[:2000].split()))[:300]


def _decoded(value: object) -> bytes | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        return base64.b64decode(value.encode("ascii", "replace"), validate=True)
    except (binascii.Error, ValueError):
        return None
