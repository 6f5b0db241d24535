"""Which models really ran, against the one that was asked for: told in one line, or not at all.

    [verified] opus ran as claude-opus-5-5
    [MODEL DRIFT] opus was asked for: claude-opus-5-5 ran, and so did claude-sonnet-5
    [WARNING] opus was asked for, but what ran was claude-haiku-4-5

Nothing is said where no model was named, or where the stream does not tell which ran.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .catalog.aliases import ALIASES, LOCAL_PREFIXES
from .evidence import Evidence
from .values import clip

VERIFIED = "[verified]"
DRIFT = "[MODEL DRIFT]"
WARNING = "[WARNING]"
TAGS = (VERIFIED, DRIFT, WARNING)

_SHOWN = 6
_NAME_CHARS = 80
_OPEN_CHOICE = frozenset({"auto", "default", "free", "openrouter/auto"})
"""Words that leave the choice to the service: whatever ran is what was asked for."""
_SUFFIX = re.compile(r"\[[a-z0-9]{1,16}\]$|:(?:free|beta|latest|nitro|floor|extended|exacto|online|thinking|batch)$")
_DATE = re.compile(r"[-@](?:\d{8}|\d{6}|\d{4}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{2}-\d{4})$")
_EFFORTS = frozenset({"minimal", "low", "medium", "high", "xhigh"})
_EDITIONS = frozenset({"preview", "latest", "exp", "experimental", "customtools", "stable", "beta", "ga"})
_FAMILIES = frozenset({"claude", "gemini", "gpt", "openai", "google", "anthropic"})


def line(asked: str | None, evidence: Evidence) -> str | None:
    """Return the line about a job's models. ``asked`` is the id that was sent, or the word that was given."""
    ran = models_that_ran(evidence)
    if not asked or not ran or asked.lower() in _OPEN_CHOICE or asked.lower().startswith("auto-"):
        return None
    word = clip(asked, _NAME_CHARS)
    others = [name for name in ran if not same(asked, name)]
    meant = [name for name in ran if name not in others]
    if not others:
        exact = [name for name in meant if name != asked]
        return f"{VERIFIED} {word} ran" + (f" as {_listed(exact)}" if exact else "")
    if meant:
        return f"{DRIFT} {word} was asked for: {_listed(meant)} ran, and so did {_listed(others)}"
    return f"{WARNING} {word} was asked for, but what ran was {_listed(others)}"


def models_that_ran(evidence: Evidence) -> tuple[str, ...]:
    """Return every model that the stream shows to have run, each once; what a CLI only announced is none."""
    counted = [name for name, _ in evidence.by_model]
    heard = [name for name in evidence.models if not any(same(name, known) for known in counted)]
    return tuple(dict.fromkeys([*counted, *heard]))


def same(asked: str, seen: str) -> bool:
    """Return whether ``seen`` is the model that ``asked`` means.

    A family word means any of its versions, an id without a date any of its dates; ``glm-5.2`` is
    ``z-ai/glm-5-2``. Another version or size is another model.
    """
    alias = ALIASES.get(asked)
    wanted = {_plain(asked), _plain(alias.model)} if alias else {_plain(asked)}
    return any(_means(word, _plain(seen)) for word in wanted)


def _plain(name: str) -> str:
    """Return a name without who serves it, in which window or at which price."""
    word = name.lower().strip()
    word = next((word.removeprefix(prefix) for prefix in LOCAL_PREFIXES if word.startswith(prefix)), word)
    word = word.rpartition("/")[2] or word
    return _SUFFIX.sub("", word).replace(".", "-").replace("_", "-").replace(" ", "-")


def _means(asked: str, seen: str) -> bool:
    if asked == seen:
        return True
    if (day := _DATE.search(asked)) and (other := _DATE.search(seen)) and day[0] != other[0]:
        return False
    wanted, found = _parts(asked), _parts(seen)
    if wanted == found:
        return True
    versioned = any(part.isdigit() for part in wanted)
    extras = list(found)
    place = 0
    for part in wanted:
        try:
            place = extras.index(part, place)
        except ValueError:
            return False
        del extras[place]
    named = [part for part in wanted if part not in _FAMILIES]
    return bool(named) and all(_harmless(part, versioned=versioned) for part in extras)


def _parts(name: str) -> list[str]:
    parts = _DATE.sub("", name).split("-")
    parts = [part for part in parts if part and part not in _EDITIONS]
    return parts[:-1] if len(parts) > 1 and parts[-1] in _EFFORTS else parts


def _harmless(part: str, *, versioned: bool) -> bool:
    return part in _FAMILIES or (part.isdigit() and not versioned)


def _listed(names: Sequence[str]) -> str:
    shown = [clip(" ".join(name.split()), _NAME_CHARS).replace(";", ",") for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(shown) + more
