"""Carrying parity's plans out, and taking them back to the byte.

    carry_out(found, receipt, save)    # the receipt first: a kill in the middle can be undone too
    undo(receipt, names, save)

A file that the person changed since keeps the change: then only our part is taken out. Files only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ..lanes.parity.edits import TEXT_MARKS, CannotEditError, without_block, without_servers
from ..lanes.parity.hosts import HOST_TOOLS, HostTool
from ..lanes.parity.plan import Action, Link, Unreadable, Write, fingerprint
from ..state import flags
from ..state.parity_receipt import FileDone, HostDone, LinkDone, Receipt
from .parity import Found, read


def carry_out(found: Sequence[Found], receipt: Receipt, save: Callable[[Receipt], None]) -> list[str]:
    """Do it. Returns what failed; the receipt knows each action before it is done."""
    failed = []
    for one in found:
        if one.plan is None or not one.plan.actions:
            continue
        host = receipt.hosts.setdefault(one.tool.name, HostDone())
        for action in one.plan.actions:
            _remember(action, host, one.tool)
        save(receipt)
        for action in one.plan.actions:
            try:
                _do(action)
            except OSError as error:
                failed.append(f"{action.path}: {error.strerror or error}")
    return failed


def undo(receipt: Receipt, names: Sequence[str], save: Callable[[Receipt], None]) -> tuple[list[str], list[str]]:
    """Take back what was done for these tools. Returns the paths that were restored, and what failed or stayed."""
    restored: list[str] = []
    failed: list[str] = []
    made: set[str] = set()
    for name in names:
        host = receipt.hosts.get(name)
        if host is None:
            continue
        tool = HOST_TOOLS.get(name)
        files = [one for one in host.files if not _tried(partial(_undo_file, one, tool), one.path, restored, failed)]
        links = [one for one in host.links if not _tried(partial(_undo_link, one), one.path, restored, failed)]
        if not files and not links:
            made |= set(host.folders)
            del receipt.hosts[name]
        else:
            host.files, host.links = files, links
    _remove_folders(made, receipt)
    save(receipt)
    return restored, failed


def _remove_folders(made: set[str], receipt: Receipt) -> None:
    """Remove the folders that were made and are empty again; one that another tool still uses becomes its affair."""
    for folder in sorted(made, key=len, reverse=True):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    heir = next(iter(receipt.hosts.values()), None)
    if heir is not None:
        heir.folders = sorted({*heir.folders, *(folder for folder in made if os.path.lexists(folder))})


def _tried(work: Callable[[], bool], path: str, restored: list[str], failed: list[str]) -> bool:
    """Return whether nothing is left to be done there."""
    try:
        if work():
            restored.append(path)
    except (OSError, CannotEditError) as error:
        failed.append(f"{path}: {getattr(error, 'strerror', None) or error}")
        return False
    return True


def _undo_file(one: FileDone, tool: HostTool | None) -> bool:
    current = read(one.path)
    if isinstance(current, Unreadable):
        raise CannotEditError(current.why)
    if current is None or current == one.before:
        return False
    if fingerprint(current) == one.after:
        if one.before is None:
            Path(one.path).unlink()
        else:
            _write(one.path, one.before)
        return True
    rest = _without(current, one, tool)
    if rest == current:
        return False
    _write(one.path, rest)
    return True


def _without(current: bytes, one: FileDone, tool: HostTool | None) -> bytes:
    """Return what the person has by now, without our part."""
    if one.part == "instructions":
        try:
            return without_block(current.decode("utf-8"), TEXT_MARKS).encode()
        except UnicodeDecodeError:
            raise CannotEditError("it is no UTF-8 text any more") from None
    if tool is None or tool.servers is None:
        raise CannotEditError("this version does not know the tool any more")
    return without_servers(current, tool.servers.form, tool.servers.key, one.ours)


def _undo_link(one: LinkDone) -> bool:
    try:
        standing: str | None = os.readlink(one.path)  # noqa: PTH115 - the text of the link itself
    except FileNotFoundError:
        standing = None
    except OSError:
        return False  # something of the person's own stands there by now
    if one.target and standing != one.target:
        return False
    if not one.target and standing is not None:
        return False
    if one.was is None:
        Path(one.path).unlink(missing_ok=True)
    else:
        _link(one.path, one.was)
    return True


def _remember(action: Action, host: HostDone, tool: HostTool) -> None:
    host.folders = sorted({*host.folders, *_missing_folders(str(Path(action.path).parent))})
    if isinstance(action, Write):
        earlier = next((one for one in host.files if one.path == action.path), None)
        before = action.before
        if earlier is not None and before is not None:
            before = earlier.before if fingerprint(before) == earlier.after else _own(before, earlier, tool)
        host.files = [one for one in host.files if one.path != action.path]
        row = FileDone(path=action.path, part=action.part, before=before, after=fingerprint(action.content))
        row.ours = dict(action.ours)
        host.files.append(row)
        return
    link = next((one for one in host.links if one.path == action.path), None)
    target = action.target if isinstance(action, Link) else ""
    if link is not None and action.was == link.target:
        link.target = target
    else:
        host.links = [one for one in host.links if one.path != action.path]
        host.links.append(LinkDone(path=action.path, target=target, was=action.was))


def _own(content: bytes, earlier: FileDone, tool: HostTool) -> bytes:
    try:
        return _without(content, earlier, tool)
    except CannotEditError:
        return content


def _do(action: Action) -> None:
    Path(action.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if isinstance(action, Write):
        if read(action.path) != action.before:
            raise OSError(errno.EAGAIN, "it was changed meanwhile; run osrc parity again")
        _write(action.path, action.content)
    elif isinstance(action, Link):
        _link(action.path, action.target)
    elif os.path.islink(action.path):  # noqa: PTH114 - beside lexists
        Path(action.path).unlink()


def _link(path: str, target: str) -> None:
    """Make a link there, in place of a link or of nothing, at once. Raises OSError where something else stands."""
    if os.path.lexists(path) and not os.path.islink(path):  # noqa: PTH114 - as above
        raise FileExistsError(errno.EEXIST, "something of your own stands there")
    temporary = f"{path}.osrc-{os.getpid()}"
    os.symlink(target, temporary)  # noqa: PTH211 - the text of the link as it is
    try:
        os.replace(temporary, path)  # noqa: PTH105 - as above
    except OSError:
        Path(temporary).unlink()
        raise


def _write(path: str, content: bytes) -> None:
    """Write a file whole or not at all, with the mode it has; through a link, for that is how it was read."""
    real = os.path.realpath(path)
    try:
        mode = stat.S_IMODE(os.stat(real).st_mode)  # noqa: PTH116 - as above
    except FileNotFoundError:
        mode = 0o600
    temporary = f"{real}.osrc-{os.getpid()}"
    descriptor = os.open(temporary, flags.NEW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # noqa: PTH101 - as above
        os.replace(temporary, real)  # noqa: PTH105 - as above
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _missing_folders(folder: str) -> list[str]:
    """Return the folders that will have to be made, the outermost first."""
    missing: list[str] = []
    while folder not in ("", "/") and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = str(Path(folder).parent)
    return missing
