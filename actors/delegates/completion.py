"""One chat completion, folded from what a server streams. Pure; believes nothing about its shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

TEXT_CAP = 4 * 1024 * 1024
"""Most characters of an answer. A server that sends more is not answering, it is flooding."""

THINKING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put reasoning: llama.cpp, vLLM and LM Studio the first, Ollama the second."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a turn failed: a ``FailureKind`` word, a sentence, and when a limit ends (epoch seconds)."""

    failure: str
    message: str
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """What one event added."""

    text: str = ""
    thought_chars: int = 0


def as_object(payload: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object in ``payload``, or None whatever else it is."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def failure_of_status(status: int) -> str:
    """What an HTTP status means for the job; in doubt, the task."""
    if status in (401, 403):
        return "auth"
    if status == 429:
        return "rate-limit"
    if status == 402:  # out of credits
        return "plan-limit"
    if status == 404:
        return "model-gone"
    if status in (408, 425) or status >= 500 or 300 <= status < 400:
        return "transport"
    return "task"


def error_message(body: Any) -> str | None:  # noqa: ANN401 - any JSON value may stand there
    """Return the sentence in an error body, in any of the shapes servers use."""
    error = body.get("error", body.get("detail", body.get("message"))) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message")
    return error.strip() or None if isinstance(error, str) else None


class Completion:
    """The state of one answer. ``take`` each event's data, then ask ``trouble``."""

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self.pieces: list[str] = []
        self.model: str | None = None
        self.finish_reason: str | None = None
        self.finished = False
        self.error: Trouble | None = None
        self.usage: dict[str, int] = {}
        self.unreadable = 0
        self._chars = 0

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self.pieces)

    @property
    def stop(self) -> bool:
        """Whether there is no use in reading on."""
        return self.finished or self.error is not None

    @property
    def complete(self) -> bool:
        """Whether the server said how the answer ended, so that losing it now loses nothing."""
        return self.stop or self.finish_reason is not None

    def take(self, payload: str) -> Delta:
        """Fold in one event's data."""
        if payload.strip() == "[DONE]":
            self.finished = True
            return Delta()
        body = as_object(payload)
        if body is None:
            self.unreadable += 1
            return Delta()
        if body.get("error"):
            self._take_error(body)
            return Delta()
        self._take_facts(body)
        return self._take_choice(body)

    def trouble(self) -> Trouble | None:
        """Say what is wrong with the answer as a whole; None when it is complete."""
        if self.error is not None:
            return self.error
        if self.finish_reason == "length":
            return Trouble("output-limit", "the model stopped at its output limit; the answer is cut short")
        if not self.complete:
            return Trouble("transport", "the stream ended before the answer was complete")
        if self.finish_reason == "content_filter":
            return Trouble("task", "the server's content filter stopped the answer")
        if not self.text.strip():
            return Trouble("task", "the server ended the turn without an answer")
        return None

    def _take_error(self, body: dict[str, Any]) -> None:
        error = body["error"]
        code = error.get("code") if isinstance(error, dict) else None
        failure = failure_of_status(code) if isinstance(code, int) else "task"
        self.error = Trouble(failure, error_message(body) or "the server reported an error without words")

    def _take_facts(self, body: dict[str, Any]) -> None:
        if isinstance(body.get("model"), str) and body["model"]:
            self.model = body["model"][:512]
        usage = body.get("usage")
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
        prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        if prompt is not None:
            # Our "input" is what was not cached; the server's count holds both.
            self.usage["input"] = max(0, prompt - (cached or 0))
        if cached is not None:
            self.usage["cached_input"] = cached
        if output is not None:
            self.usage["output"] = output

    def _take_choice(self, body: dict[str, Any]) -> Delta:
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return Delta()
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
        # "message" is what a server sends that does not stream.
        delta = choice.get("delta", choice.get("message"))
        if not isinstance(delta, dict):
            return Delta()
        thinking = next((delta[name] for name in THINKING_FIELDS if isinstance(delta.get(name), str)), "")
        text = delta.get("content")
        text = text if isinstance(text, str) else ""
        if text:
            self.pieces.append(text)
            self._chars += len(text)
            if self._chars > TEXT_CAP:
                self.error = Trouble("output-limit", f"the server sent more than {TEXT_CAP} characters")
        return Delta(text, len(thinking))


def _count(value: Any) -> int | None:  # noqa: ANN401 - any JSON value may stand there
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None
