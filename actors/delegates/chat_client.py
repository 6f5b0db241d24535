"""One question to an OpenAI-compatible server, streamed as OSRC JSON lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from ...lanes.loopback import is_loopback
from .completion import Completion, Trouble, as_object, error_message, failure_of_status
from .emit import Emitter
from .sse import SseReader

BODY_CAP = 8 * 1024 * 1024
"""Most bytes kept of an answer that is not a stream."""

ERROR_CAP = 64 * 1024
"""Most bytes read of an error body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask, of whom, and for how long."""

    base_url: str
    """``http://127.0.0.1:11434/v1``"""
    model: str
    prompt: str
    key: str | None = field(default=None, repr=False)
    connect_s: float = 10.0
    answer_s: float = 900.0
    """Limit of any silence, and of the whole answer."""
    allow_remote: bool = False
    max_tokens: int | None = None


def ask(question: Question, emitter: Emitter) -> int:
    """Ask, print what comes as it comes, and return the exit code: 0 for an answer, 1 for none."""
    completion = Completion()
    trouble = _refusal(question) or _stream(question, completion, emitter)
    if completion.usage:
        emitter.usage(completion.usage)
    if trouble is not None:
        message = trouble.message.replace(question.key, "***") if question.key else trouble.message
        emitter.end_badly(trouble.failure, message, until=trouble.until)
        return 1
    emitter.end_well(completion.text)
    return 0


def _refusal(question: Question) -> Trouble | None:
    if is_loopback(question.base_url) or question.allow_remote:
        return None
    return Trouble("launch", f"{question.base_url} is not on this machine; OSRC_LOCAL_ALLOW_REMOTE=1 allows it")


def _stream(question: Question, completion: Completion, emitter: Emitter) -> Trouble | None:
    """Read the whole answer; return what went wrong, if anything did."""
    timeout = httpx.Timeout(question.answer_s, connect=question.connect_s)
    # A proxy from the environment must never see what is meant for this machine.
    trust_env = not is_loopback(question.base_url)
    url = f"{question.base_url}/chat/completions"
    deadline = time.monotonic() + question.answer_s
    try:
        with (
            httpx.Client(timeout=timeout, trust_env=trust_env, follow_redirects=False) as client,
            client.stream("POST", url, json=_body(question), headers=headers_for(question.key)) as response,
        ):
            if response.status_code != 200:
                return trouble_of(response)
            return _read(response, completion, emitter, deadline) or completion.trouble()
    except (httpx.ConnectError, httpx.ConnectTimeout):
        return Trouble("transport", f"no server answers at {question.base_url}")
    except httpx.TimeoutException:
        return Trouble("transport", f"the server said nothing for {question.answer_s:g} s")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        if completion.complete:
            return completion.trouble()
        return Trouble("transport", f"the connection broke: {str(error) or type(error).__name__}")


def _body(question: Question) -> dict[str, object]:
    body: dict[str, object] = {
        "model": question.model,
        "messages": [{"role": "user", "content": question.prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return body if question.max_tokens is None else body | {"max_tokens": question.max_tokens}


def headers_for(key: str | None) -> dict[str, str]:
    """Return the headers of a request for a stream."""
    # No compression: a few hostile bytes could unpack to gigabytes.
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
    return headers | ({"Authorization": f"Bearer {key}"} if key else {})


def _read(response: httpx.Response, completion: Completion, emitter: Emitter, deadline: float) -> Trouble | None:
    named = False
    for batch in payloads(response):
        text, thought_chars = [], 0
        for payload in batch:
            delta = completion.take(payload)
            text.append(delta.text)
            thought_chars += delta.thought_chars
        if completion.model and not named:
            named = True
            emitter.start(completion.model)
        if thought_chars:
            emitter.thought(thought_chars)
        emitter.text("".join(text))
        if completion.stop:
            return None
        if time.monotonic() > deadline:
            return Trouble("transport", "the answer took longer than its limit")
    return None


def payloads(response: httpx.Response) -> Iterator[list[str]]:
    """Return the data of an answer's events, streamed or not; those that came together as one batch."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return _whole(response) if kind == "application/json" else _events(response)


def _events(response: httpx.Response) -> Iterator[list[str]]:
    """The events of a stream, those that arrived together as one batch."""
    reader = SseReader()
    for chunk in response.iter_raw():
        yield reader.feed(chunk)
    yield reader.finish()


def _whole(response: httpx.Response) -> Iterator[list[str]]:
    """The same for a server that answers in one piece."""
    yield [_bounded(response, BODY_CAP).decode("utf-8", "replace"), "[DONE]"]


def _bounded(response: httpx.Response, limit: int) -> bytes:
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) >= limit:
            break
    return bytes(body[:limit])


def trouble_of(response: httpx.Response) -> Trouble:
    """Return what an answer that is an error means."""
    status = response.status_code
    words = error_message(as_object(_bounded(response, ERROR_CAP)))
    until = None
    if status == 429:
        wait = response.headers.get("retry-after", "")
        # At most nine digits: anything longer is no wait but nonsense.
        until = time.time() + int(wait) if wait.isascii() and wait.isdigit() and len(wait) < 10 else None
    return Trouble(failure_of_status(status), words or f"the server answered HTTP {status}", until)
