"""Shell completion of what is alive here: jobs, groups, sessions, lanes, models. Read, never started or asked.

A completion that fails completes nothing: a trace would garble the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..state.home import Home

NEWEST = 200


def complete_job(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the ids and labels of the newest jobs that start with ``incomplete``; nothing when they can't be read."""
    return complete("job", context, incomplete)


def complete_either(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the same of jobs and of groups."""
    return [*complete_job(context, parameter, incomplete), *complete("group", context, incomplete)]


def complete(kind: str, context: click.Context, incomplete: str) -> list[str]:
    """Return the words of one kind that start with ``incomplete``, each once."""
    try:
        words = list(_WORDS[kind](context))
    except Exception:  # noqa: BLE001 - see above
        return []
    return [word for word in dict.fromkeys(words) if word.startswith(incomplete)]


def _jobs(context: click.Context) -> Iterable[str]:
    from .looking import newest  # noqa: PLC0415 - only while completing
    from .options import Globals  # noqa: PLC0415 - as above
    from .reach import Reach  # noqa: PLC0415 - as above

    jobs, _ = newest(Reach(context.ensure_object(Globals)), state=None, limit=NEWEST)
    return [str(job[key]) for job in jobs for key in ("job_id", "label") if job.get(key)]


def _groups(context: click.Context) -> Iterable[str]:
    from ..state.groups_reader import groups  # noqa: PLC0415 - as above
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    with Reader(f"{_root(context)}/state.db") as reader:
        rows = groups(reader, NEWEST)
    return [str(row[key]) for row in rows for key in ("group_id", "label") if row.get(key)]


def _loops(context: click.Context) -> Iterable[str]:
    from ..state.loops_reader import loops  # noqa: PLC0415 - as above
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    with Reader(f"{_root(context)}/state.db") as reader:
        rows = loops(reader, NEWEST)
    return [str(row[key]) for row in rows for key in ("loop_id", "label") if row.get(key)]


def _sessions(context: click.Context) -> Iterable[str]:
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    with Reader(f"{_root(context)}/state.db") as reader:
        return [str(record["name"]) for record in reader.live_sessions() if record.get("name")]


def _lanes(context: click.Context) -> Iterable[str]:
    from ..actors.lane_book import LaneBook  # noqa: PLC0415 - as above

    return LaneBook(_home(context)).registry().names()


def _models(context: click.Context) -> Iterable[str]:
    from ..actors.lane_book import LaneBook  # noqa: PLC0415 - as above
    from ..actors.model_book import ModelBook  # noqa: PLC0415 - as above
    from ..lanes.catalog.aliases import ALIASES  # noqa: PLC0415 - as above

    home = _home(context)
    return [*ModelBook(home).own(LaneBook(home).registry().names()).rows, *ALIASES]


def _hosts(_context: click.Context) -> Iterable[str]:
    from ..lanes.parity.hosts import HOST_TOOLS  # noqa: PLC0415 - as above

    return (*HOST_TOOLS, "all")


def _settings(_context: click.Context) -> Iterable[str]:
    from ..state.settings_table import SETTINGS  # noqa: PLC0415 - as above

    return SETTINGS


def _verbs(context: click.Context) -> Iterable[str]:
    from .commands.bg import VERBS  # noqa: PLC0415 - as above

    return () if context.params.get("words") else VERBS


def _topics(context: click.Context) -> Iterable[str]:
    from .commands.topics import TOPICS  # noqa: PLC0415 - as above
    from .table import COMMANDS  # noqa: PLC0415 - as above

    return () if context.params.get("words") else (*COMMANDS, *TOPICS)


def _root(context: click.Context) -> str:
    import os  # noqa: PLC0415 - as above

    from .options import Globals  # noqa: PLC0415 - as above
    from .place import home_root  # noqa: PLC0415 - as above

    return home_root(os.environ, context.ensure_object(Globals).home)


def _home(context: click.Context) -> Home:
    import os  # noqa: PLC0415 - as above

    from .options import Globals  # noqa: PLC0415 - as above
    from .place import full_home  # noqa: PLC0415 - as above

    return full_home(os.environ, context.ensure_object(Globals).home)


_WORDS: Mapping[str, Callable[[click.Context], Iterable[str]]] = {
    "job": _jobs,
    "group": _groups,
    "loop": _loops,
    "session": _sessions,
    "lane": _lanes,
    "model": _models,
    "host": _hosts,
    "setting": _settings,
    "verb": _verbs,
    "topic": _topics,
}
"""Kind → what there is of it."""
