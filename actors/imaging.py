"""An image on this machine: which backend makes it, what it needs, and asking a service for it. Blocks."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..lanes import openrouter
from ..lanes.catalog.aliases import ALIASES
from ..lanes.contract import Lane
from ..lanes.pictures import KEYS, LANES, MODELS, MOST_BYTES, ORDER, Answer, Backend, base_of, call, is_model, kind_of
from ..lanes.registry import Registry
from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Verb
from ..state.home import Home
from ..state.settings import Settings
from .advising import Place, not_ready
from .denylist import check_denied
from .gate import Dispatch, Passed, Scope, pass_gate
from .image_service import NET, Net, ask
from .model_book import ModelBook, known_models
from .redaction import remember
from .secrets import named_secrets

TIMEOUT_S = 180.0
_GEMINIS = "nano-banana"
"""What Gemini's image models are called, whatever their ids are."""
_BY_LANE: Mapping[str, Backend] = {"codex": "codex", "gemini": "gemini"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How an image is to be had."""

    backend: Backend
    model: str
    base: str | None = None
    """Where the service is; None for Codex, which is a job."""
    key: str | None = field(default=None, repr=False)
    lane: Lane
    skipped: tuple[str, ...] = ()
    """Backends before it, and what they lack."""


class Studio:
    """Everything that an image depends on here."""

    def __init__(self, home: Home, registry: Registry, environment: Mapping[str, str], settings: Settings) -> None:
        self._home = home
        self._registry = registry
        self._environment = environment
        self._settings = settings
        self._models = ModelBook(home)

    def choose(self, model: str | None, backend: Backend | None) -> Plan | Refused:
        """Return the backend that is named, or the first that is ready; or what they lack."""
        named = self._named(model)
        if isinstance(named, Refused):
            return named
        wanted, word = named
        if wanted is not None and backend is not None and wanted != backend:
            message = f"{model} is no model of {backend}: it is {wanted}'s"
            return Refused(code=RefusalCode.LANE_CONFLICT, message=message)
        only = backend or wanted
        lacking: list[str] = []
        for name in ORDER if only is None else (only,):
            plan = self._plan(name, word)
            if isinstance(plan, Plan):
                return replace(plan, skipped=tuple(lacking))
            if only is not None:
                return plan
            lacking.append(f"{name}: {plan.message}")
        return Refused(
            code=RefusalCode.LANE_NOT_READY,
            message=f"nothing here can make an image. {'; '.join(lacking)}",
            hint=f"sign in to Codex (codex login), or put GEMINI_API_KEY=... or {openrouter.KEY}=... into ~/.env",
        )

    def pass_gate(self, plan: Plan, prompt: str, subject: str, cwd: str, *, cloud_ack: bool) -> Passed | Refused:
        """Let a prompt pass to a service, or refuse it: secrets in it, and consent, as with every job."""
        return pass_gate(
            Dispatch(
                subject=subject,
                attempt=1,
                lane=replace(plan.lane, vehicle=f"{plan.backend}'s image service"),
                verb=Verb.RUN,
                model=plan.model,
                scope=Scope(texts=(prompt,)),
                cwd=cwd,
                home=self._home,
                environment=self._environment,
                settings=self._settings,
                cloud_ack=cloud_ack,
            )
        )

    def ask(
        self, permit: Passed, plan: Plan, prompt: str, timeout_s: float | None = None, net: Net = NET
    ) -> Answer | Refused:
        """Return what the service gives."""
        if plan.base is None or plan.key is None:
            raise ValueError("Codex makes images in a job")
        request = call(plan.backend, plan.base, plan.model, prompt)
        return ask(permit, plan.backend, request, plan.key, timeout_s=timeout_s or self.timeout_s, net=net)

    @property
    def timeout_s(self) -> float:
        """How long an image may take."""
        return self._settings.number("image_timeout") or TIMEOUT_S

    def _named(self, model: str | None) -> tuple[Backend | None, str | None] | Refused:
        """Return the backend that a model belongs to, and its id there (None: the backend's own)."""
        if model is None:
            return None, None
        known = known_models(self._models, self._registry.tiers(), self._settings)
        row = known.own.get(model.lower()) or ALIASES.get(model.lower())
        if row is not None and row.use == "image":
            backend = _BY_LANE.get(row.lane, "openrouter")
            return backend, None if row.model == model.lower() and backend == "gemini" else row.model
        if row is not None:
            return Refused(code=RefusalCode.UNKNOWN_MODEL, message=f"{model} makes no images", hint="osrc image -h")
        return ("openrouter" if "/" in model else "gemini" if model.startswith(("gemini-", "imagen-")) else None), model

    def _plan(self, name: Backend, word: str | None) -> Plan | Refused:  # noqa: PLR0911  one refusal after the other
        lane = self._registry.get(LANES[name])
        if isinstance(lane, Refused):
            return lane
        model = word or (self._settings.text("gemini_image_api_id") if name == "gemini" else None) or MODELS[name]
        known = known_models(self._models, self._registry.tiers(), self._settings)
        words = (_GEMINIS, model) if name == "gemini" else (model,)
        denied = next((no for one in words if (no := check_denied(lane.name, one, self._settings, known))), None)
        if denied is not None:
            return denied
        if name == "codex":
            wanting = not_ready(lane, self._place())
            if wanting is not None:
                return Refused(code=RefusalCode.LANE_NOT_READY, message=wanting, hint="codex login")
            return Plan(backend=name, model=model, lane=lane)
        if not is_model(name, model):
            return Refused(code=RefusalCode.UNKNOWN_MODEL, message=f"{model[:80]!a} is no model of {name}")
        found = named_secrets(KEYS[name], self._environment)
        key = next((found[one] for one in KEYS[name] if one in found), None)
        if key is None:
            message, hint = f"There is no {' or '.join(KEYS[name])}.", f"put {KEYS[name][0]}=... into ~/.env"
            return Refused(code=RefusalCode.LANE_NOT_READY, message=message, hint=hint)
        base = base_of(name, self._settings.text("openrouter_url"), self._environment)
        if isinstance(base, Refused):
            return base
        remember((key,))
        return Plan(backend=name, model=model, base=base, key=key, lane=lane)

    def _place(self) -> Place:
        return Place(
            home=self._home,
            registry=self._registry,
            models=self._models,
            environment=self._environment,
            settings=self._settings,
        )


# --- what Codex left


def newest_image(folder: str, since: float) -> bytes | None:
    """Return the newest image in a folder, made after ``since`` (epoch seconds); never what a link leads to."""
    found = [one for one in _new_files(folder, since) if one[2] is not None]
    return max(found, default=(0.0, "", None))[2]


def drawn_by_codex(environment: Mapping[str, str], since: float) -> bytes | None:
    """Return the image that Codex keeps of its tool's work, where it made just one since then.

    Its tool writes below ``generated_images`` of its home (0.171.0). Of more than one nobody could say whose it is.
    """
    home = environment.get("CODEX_HOME") or f"{environment.get('HOME') or '/'}/.codex"
    root = f"{home}/generated_images"
    folders = [root]
    try:
        with os.scandir(root) as entries:
            folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)][:_MOST_FOLDERS]
    except OSError:
        return None
    found = [one for folder in folders for one in _new_files(folder, since) if one[2] is not None]
    return found[0][2] if len(found) == 1 else None


_MOST_FOLDERS = 10_000


def _new_files(folder: str, since: float) -> list[tuple[float, str, bytes | None]]:
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                kept = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(kept.st_mode) and kept.st_mtime >= since - 1.0 and kept.st_size <= MOST_BYTES:
                    found.append((kept.st_mtime, entry.path, _image_in(entry.path)))
    except OSError:
        return found
    return found


def _image_in(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MOST_BYTES and kind_of(data) is not None else None
