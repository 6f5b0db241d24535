"""Who asks: the environment that came with a request, and the settings that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..messages.refusals import RefusalCode, Refused
from ..state.errors import StateError
from ..state.settings import Settings, config_file, read_config
from .host import decode_environment


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks for something."""

    environment: dict[str, str]
    settings: Settings


def caller_of(block: str) -> Caller | Refused:
    """Return who asks, from the environment's wire form; refused where that, or a setting, makes no sense."""
    try:
        environment = decode_environment(block)
        return Caller(environment, settings_of(environment))
    except ValueError as error:
        return Refused(code=RefusalCode.BAD_REQUEST, message=str(error))
    except StateError as error:
        return error.refusal


def settings_of(environment: Mapping[str, str]) -> Settings:
    """Return the caller's settings. Raises StateError for one that makes no sense."""
    path = config_file(environment)
    return Settings.load(environment, read_config(path), source=path)
