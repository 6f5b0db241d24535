"""What is asked of a request before anything is decided: a task, a folder, a verb."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from ..lanes.contract import Lane
from ..lanes.registry import Registry
from ..messages.job import JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..state import flags
from ..state.errors import StateError
from ..state.files import read_private
from ..state.home import Home

TASK_LIMIT = 64 * 1024 * 1024
_UNEXPANDED = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?")


def task_text(request: JobRequest, home: Home) -> str | Refused:  # noqa: PLR0911  one refusal after the other
    """Return the task's text, from where the request has it, or refuse one that is none."""
    text = request.task
    if (text is None) == (request.task_file is None):
        return Refused(code=RefusalCode.BAD_TASK, message="give exactly one of a task and a task file")
    if request.task_file is not None:
        try:
            path = Path(request.task_file)
            spooled = path.parent == home.spool_dir
            data = read_private(path, TASK_LIMIT) if spooled else _read_regular(path)
            text = data.decode("utf-8") if data is not None else None
        except (OSError, ValueError, StateError) as error:
            return Refused(code=RefusalCode.BAD_TASK, message=f"the task file can't be used: {error}")
        if text is None:
            return Refused(code=RefusalCode.BAD_TASK, message="the task file is gone, or longer than 64 MiB")
    if text is None or not text.strip():
        return Refused(
            code=RefusalCode.BAD_TASK, message="the task is empty", hint='say what is to be done: osrc run "..."'
        )
    if _UNEXPANDED.fullmatch(text.strip()):
        return Refused(
            code=RefusalCode.BAD_TASK,
            message=f"the task is the unexpanded name {text.strip()[:60]}: the variable was not filled in",
            hint="use double quotes around it, or set it first",
        )
    if "\0" in text:
        return Refused(
            code=RefusalCode.BAD_TASK, message=f"the task has a NUL character at position {text.index(chr(0))}"
        )
    return text


def _read_regular(path: Path) -> bytes | None:
    """Return a file's content; None when it is too long.

    Raises OSError, also for a pipe or a device: those may never end.
    """
    descriptor = os.open(path, flags.READ)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        data = file.read(TASK_LIMIT + 1)
    return data if len(data) <= TASK_LIMIT else None


def check_cwd(cwd: str) -> Refused | None:
    """Refuse a folder that can't be worked in."""
    if not os.path.isabs(cwd) or "\0" in cwd:  # noqa: PTH117  a string check
        return Refused(code=RefusalCode.BAD_CWD, message="the working folder must be an absolute path")
    if not os.path.isdir(cwd):  # noqa: PTH112  a plain look
        return Refused(
            code=RefusalCode.BAD_CWD,
            message=f"the working folder does not exist: {as_utf8(cwd)}",
            hint="go to a folder that exists, or give one with --cwd",
        )
    if not os.access(cwd, os.R_OK | os.X_OK):
        return Refused(code=RefusalCode.BAD_CWD, message=f"the working folder can't be entered: {as_utf8(cwd)}")
    return None


def check_verb(request: JobRequest, lane: Lane, registry: Registry) -> Refused | None:
    """Refuse a verb that the lane can't honour, naming those that can."""
    if request.verb in lane.verbs:
        return None
    able = []
    for name in registry.names():
        other = registry.get(name)
        if not isinstance(other, Refused) and request.verb in other.verbs:
            able.append(name)
    # Rather a plan's than one that costs cash; acp alone is no lane: it needs a command.
    example = next((name for name in ("codex", *able) if name in able and name != "acp"), None)
    return Refused(
        code=RefusalCode.VERB_UNSUPPORTED,
        message=f"the lane {lane.name} can't honour {request.verb.value}; lanes that can: {', '.join(able) or 'none'}",
        hint=f"osrc {request.verb.value} --lane {example} ..." if example else "osrc lanes",
    )


def as_utf8(text: str) -> str:
    """Return a path or word for a sentence, whatever its bytes were."""
    return text.encode("utf-8", "backslashreplace").decode()
