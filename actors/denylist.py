"""Models that a person never wants used."""

from __future__ import annotations

from fnmatch import fnmatchcase

from ..lanes.catalog import Resolved
from ..messages.refusals import RefusalCode, Refused
from ..state.settings import Settings


def check_denied(resolved: Resolved, settings: Settings) -> Refused | None:
    """Refuse a model of the person's denylist: ids, and globs where a ``*`` is in them."""
    model = resolved.model
    for entry in settings.words("model_denylist"):
        if model is not None and (model == entry or ("*" in entry and fnmatchcase(model, entry))):
            return Refused(
                code=RefusalCode.DENIED,
                message=f"the model {model} is on your denylist ({settings.origin('model_denylist')})",
                hint="choose another model with -m",
            )
    return None
