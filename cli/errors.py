"""What a command can fail with, and how it is said: one sentence, and what helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import exit_codes


class CliError(Exception):
    """Expected trouble: a code for programs, a sentence, a hint, and the exit code that goes with them."""

    def __init__(self, code: str, message: str, hint: str | None = None, exit_code: int | None = None) -> None:
        """Keep the parts; ``exit_code`` follows from ``code`` unless given."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_code = exit_codes.of_refusal(code) if exit_code is None else exit_code


class SupervisorLostError(CliError):
    """The connection ended in the middle of an exchange. What was asked may or may not have been taken."""

    def __init__(self, message: str) -> None:
        """Keep the sentence."""
        super().__init__("supervisor_unavailable", message, "osrc supervisor status")


class NotSentError(SupervisorLostError):
    """The connection ended before the request was sent: nothing was taken."""


class UnconfirmedError(SupervisorLostError):
    """The connection ended after a job was asked for. ``pid`` is who was asked; 0 is unknown."""

    def __init__(self, message: str, job_id: str, pid: int) -> None:
        """Keep the parts."""
        super().__init__(f"{message} before it confirmed job {job_id}: it may or may not have been taken")
        self.hint = f"osrc status {job_id}"
        self.pid = pid


class TimeLimitError(Exception):
    """A bound that the caller set has passed."""


def from_refusal(body: Mapping[str, Any]) -> CliError:
    """Return the error of a ``refused`` reply."""
    hint = body.get("hint")
    return CliError(
        str(body.get("code", "internal")),
        str(body.get("message", "refused without a reason")),
        None if hint is None else str(hint),
    )


def from_exception(error: BaseException) -> CliError | None:
    """Return the refusal that ``error`` is (``state.errors.StateError``: code, message, hint), or None.

    Told by its attributes, so that no module has to be imported to ask.
    """
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    hint = getattr(error, "hint", None)
    return CliError(str(code), message, None if hint is None else str(hint))
