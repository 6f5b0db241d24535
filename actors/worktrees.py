"""A git work tree of a job's own: where it is to be, making it, and what is in it when the delegate has left.

It lies in ``.outsourcerer/worktrees/<job id>`` of the repository, on the branch ``outsourcerer/<job id>``, which
begins at a commit that was pinned when the job was taken. Nothing here reads the ``.git`` that a delegate could have
put into its tree: git is told the administrative folder that it keeps for that tree itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..messages.refusals import RefusalCode, Refused
from ..state.errors import printable
from ..state.file_locks import try_lock
from .git import AUTHOR, GitError, ask_git, git

FOLDER = ".outsourcerer"
PLACE = f"{FOLDER}/worktrees"
BRANCHES = "outsourcerer/"
IGNORED = f"/{FOLDER}/"
"""The line in the repository's own ``info/exclude``."""
LOCK = "lock"
LOCK_POLL_S = 0.05
DIRTY_LOOK_S = 3.0
"""How long it may take to see whether the person has changes of their own, only to mention them."""
COMMIT_S = 120.0
MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """One job's tree. Paths are absolute."""

    path: str
    branch: str
    base: str
    """The commit it begins at, in full."""

    @property
    def root(self) -> str:
        """The work tree that it was taken from."""
        return self.path.removesuffix(f"/{PLACE}/{os.path.basename(self.path)}")  # noqa: PTH119  a string


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A tree that could be made, and where in it the delegate is to work."""

    tree: Worktree
    cwd: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a tree holds."""

    head: str | None = None
    """The commit its branch is at."""
    ahead: int | None = None
    """Commits since the base."""
    dirty: tuple[str, ...] = ()
    """Paths with changes that are in no commit; a repository in it that is not its own ends in ``/``."""
    committed: bool = False
    """Whether the last commit is ours, of what the delegate left."""
    why: str | None = None
    """What could not be done or seen."""


NO_REPOSITORY_HINT = "git init, or --no-worktree"


def needs_repository(refused: Refused) -> Refused:
    """Return a refusal for what can't do without work trees: not the hint to leave them away."""
    if refused.hint != NO_REPOSITORY_HINT:
        return refused
    return refused.model_copy(update={"hint": "git init, and commit what is there; osrc fanout needs no repository"})


def plan_worktree(cwd: str, job_id: str, base: str) -> Planned | Refused:
    """Return the tree that a job would get, or why there can't be one. Changes nothing."""
    try:
        return _planned(cwd, job_id, base)
    except GitError as error:
        return _refused(f"git can't be asked about {printable(cwd)}: {error}")


def _planned(cwd: str, job_id: str, base: str) -> Planned | Refused:  # noqa: PLR0911  one refusal after the other
    seen = ask_git(cwd, ("rev-parse", "--is-bare-repository", "--is-inside-git-dir"))
    if seen.code != 0:
        if b"not a git repository" in seen.err:
            return _refused(f"{printable(cwd)} is in no git repository", NO_REPOSITORY_HINT)
        return _refused(seen.complaint)
    bare, inside = seen.out.split()
    if b"true" in (bare, inside):
        what = "a bare repository" if bare == b"true" else "the inside of a git folder"
        return _refused(f"{printable(cwd)} is {what}, which has no work tree", "give a work tree with --cwd")
    top = git(cwd, "rev-parse", "--show-toplevel").text
    inner = git(cwd, "rev-parse", "--show-prefix").text.rstrip("/")
    found = ask_git(cwd, ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}"))
    if found.code != 0:
        if ask_git(cwd, ("rev-parse", "--verify", "--quiet", "HEAD")).code != 0:
            return _refused(f"{printable(top)} has no commit yet to begin a work tree at", "commit something first")
        return _refused(f"worktree_base is {base!a}, which names no commit here", "osrc config show worktree_base")
    root = top.split(f"/{PLACE}/", 1)[0]  # asked for in another job's tree: beside it, not in it
    if (wrong := _unsafe(root)) is not None:
        return _refused(wrong)
    if inner and ask_git(cwd, ("cat-file", "-e", f"{found.text}:{inner}/")).code != 0:
        why = f"{printable(inner)} is not in {found.text[:12]}: a work tree would not have that folder"
        return _refused(why, "commit something in it, or give another folder with --cwd")
    path = f"{root}/{PLACE}/{job_id}"
    tree = Worktree(path=path, branch=BRANCHES + job_id, base=found.text)
    where = f"{path}/{inner}" if inner else path
    return Planned(tree=tree, cwd=where, notices=_notices(cwd, tree))


def _notices(cwd: str, tree: Worktree) -> tuple[str, ...]:
    said = [f"works in a git work tree of its own, on the branch {tree.branch} from {tree.base[:12]}"]
    with contextlib.suppress(GitError):
        words = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
        changed = ask_git(cwd, words, timeout_s=DIRTY_LOOK_S)
        if changed.code == 0 and changed.out:
            said.append("changes here that are not committed are not in it")
    if Path(tree.root, ".gitmodules").exists():
        said.append("submodules are not checked out in it")
    return tuple(said)


def make_worktree(tree: Worktree, timeout_s: float) -> None:
    """Make the tree and check its files out; one that an earlier try left half made is made anew.

    Not to be called once a delegate was in it. Raises GitError, also when it takes longer than ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s

    def left_s() -> float:
        return max(1.0, deadline - time.monotonic())

    with locked(tree.root, deadline):
        _ignore(tree.root)
        _discard_half_made(tree)
        git(
            tree.root,
            *("worktree", "add", "--force", "--quiet", "--no-checkout", "-B", tree.branch, tree.path, tree.base),
            timeout_s=left_s(),
        )
    git(tree.path, "reset", "--quiet", "--hard", tree.base, timeout_s=left_s())


def look_into(tree: Worktree) -> Held:
    """Return what a tree holds. Raises GitError."""
    words = inside(tree)
    status = git(tree.root, *words, "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all")
    dirty = [*_paths(status.out), *_submodules(tree, words)]
    head = git(tree.root, "rev-parse", "--verify", f"refs/heads/{tree.branch}").text
    ahead = int(git(tree.root, "rev-list", "--count", f"{tree.base}..{head}").text)
    return Held(head=head, ahead=ahead, dirty=tuple(dirty))


def settle_worktree(tree: Worktree, message: str | None) -> Held:
    """Return what the delegate left; with ``message`` what is in no commit is committed first. Never raises."""
    try:
        held = look_into(tree)
        if message is None or not held.dirty:
            return held
        why = _uncommittable(tree, held)
        return replace(held, why=why) if why is not None else _committed(tree, message)
    except (GitError, OSError, ValueError) as error:
        return Held(why=f"its work tree could not be seen to: {error}")


def _committed(tree: Worktree, message: str) -> Held:
    words = inside(tree)
    git(tree.root, *words, "add", "--all", timeout_s=COMMIT_S)
    answer = ask_git(
        tree.root,
        (*AUTHOR, *words, "commit", "--quiet", "--no-verify", "--file=-"),
        timeout_s=COMMIT_S,
        stdin=message.encode("utf-8", "replace"),
    )
    if answer.code != 0:
        raise GitError(answer.complaint)
    return replace(look_into(tree), committed=True)


def sentences(tree: Worktree, held: Held) -> list[str]:
    """Return what a job's note says of its tree."""
    said = []
    if held.ahead is not None:
        count = "no commit" if held.ahead == 0 else "1 commit" if held.ahead == 1 else f"{held.ahead} commits"
        last = " (committed for it, as its sandbox keeps it from that)" if held.committed else ""
        said.append(f"{count} on {tree.branch}{last}")
    if held.dirty:
        said.append(f"not committed in {printable(tree.path)}: {named(held.dirty)}")
    return [*said, *([held.why] if held.why else [])]


def named(paths: tuple[str, ...]) -> str:
    """Return some paths as words."""
    some = ", ".join(printable(path) + "/" * path.endswith("/") for path in paths[:MOST_NAMED])
    return some + (f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else "")


def admin_of(tree: Worktree) -> str:
    """Return the folder in which git keeps what it knows of this tree. Raises GitError when it knows none."""
    common = git(tree.root, "rev-parse", "--path-format=absolute", "--git-common-dir").text
    wanted = os.fsencode(f"{tree.path}/.git")
    folder = Path(common, "worktrees")
    own = folder / os.path.basename(tree.path)  # noqa: PTH119  a string
    try:
        for place in (own, *folder.iterdir()):
            with contextlib.suppress(OSError):
                if (place / "gitdir").read_bytes().rstrip(b"\n") == wanted:
                    return os.fspath(place)
    except OSError:
        pass
    raise GitError(f"git knows no work tree {printable(tree.path)}")


def forget_worktree(tree: Worktree) -> None:
    """Let git forget a tree that is gone: its own entry alone (a prune would take those of others along)."""
    with contextlib.suppress(GitError):
        admin = Path(admin_of(tree))
        if admin.parent.name == "worktrees" and not os.path.lexists(tree.path):
            shutil.rmtree(admin, ignore_errors=True)


@contextlib.contextmanager
def locked(root: str, deadline: float) -> Iterator[None]:
    """Hold the repository's lock: one of ours at a time changes its list of trees.

    Raises GitError past ``deadline`` (monotonic seconds).
    """
    if (wrong := _unsafe(root)) is not None:
        raise GitError(wrong)
    if not Path(root).is_dir():
        raise GitError(f"{printable(root)} is not there any more")
    place = Path(root, FOLDER)
    try:
        Path(root, PLACE).mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise GitError(f"{printable(place)} can't be written: {error.strerror}") from None
    try:
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise GitError(f"{printable(place / LOCK)} is held by another job for too long")
            time.sleep(LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _unsafe(root: str) -> str | None:
    """Return why nothing may be made here: what is tracked may be a link that leads elsewhere."""
    for place in (Path(root, FOLDER), Path(root, PLACE)):
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return f"{printable(place)} is no folder: work trees can't be put there"
    return None


def _ignore(root: str) -> None:
    """Keep our folder out of ``git status``, in the repository's own list and not in the person's file."""
    path = Path(git(root, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude").text)
    try:
        before = path.read_bytes() if path.exists() else b""
        if IGNORED.encode() in before.splitlines():
            return
        path.parent.mkdir(exist_ok=True)
        gap = b"" if not before or before.endswith(b"\n") else b"\n"
        with path.open("ab") as file:
            file.write(gap + IGNORED.encode() + b"\n")
    except OSError as error:
        raise GitError(f"{printable(path)} can't be written: {error.strerror}") from None


def _discard_half_made(tree: Worktree) -> None:
    """Clear the way for a tree that a killed try left half made; nobody has worked in it."""
    tip = ask_git(tree.root, ("rev-parse", "--verify", "--quiet", f"refs/heads/{tree.branch}"))
    if tip.code == 0 and tip.text != tree.base:
        raise GitError(f"the branch {tree.branch} is there already, with commits of its own")
    if os.path.lexists(tree.path):
        try:
            shutil.rmtree(tree.path)
        except OSError as error:
            raise GitError(f"{printable(tree.path)} is in the way: {error.strerror}") from None
    forget_worktree(tree)


def inside(tree: Worktree) -> tuple[str, ...]:
    """Return the words by which git works in a tree whatever its ``.git`` says. Raises GitError."""
    return (f"--git-dir={admin_of(tree)}", f"--work-tree={tree.path}")


def off_branch(tree: Worktree) -> str | None:
    """Return why what is seen in a tree is not what its branch holds, which is all that can be taken. Raises GitError.

    Of what is in no commit it says nothing.
    """
    words = inside(tree)
    head = ask_git(tree.root, (*words, "rev-parse", "HEAD")).text
    tip = ask_git(tree.root, (*words, "rev-parse", f"refs/heads/{tree.branch}")).text
    return None if head == tip else f"its tree is not on {tree.branch} any more"


def _submodules(tree: Worktree, words: tuple[str, ...]) -> list[str]:
    """Return the submodules that somebody checked out in the tree: what is in them, git does not tell of it here."""
    listed = git(tree.root, *words, "ls-files", "--full-name", "--stage", "-z").out.split(b"\0")
    paths = [os.fsdecode(row.partition(b"\t")[2]) for row in listed if row.startswith(b"160000 ")]
    return [f"{path}/" for path in paths if os.path.lexists(f"{tree.path}/{path}/.git")]


def _uncommittable(tree: Worktree, held: Held) -> str | None:
    """Return why what is in the tree is not committed by us."""
    foreign = [path for path in held.dirty if path.endswith("/")]
    if foreign:
        return f"nothing was committed for it, as there are other repositories in it: {named(tuple(foreign))}"
    at = ask_git(tree.root, (*inside(tree), "symbolic-ref", "--quiet", "HEAD"))
    if at.text != f"refs/heads/{tree.branch}":
        return f"nothing was committed for it, as its tree is not on {tree.branch} any more"
    return None


def _paths(status: bytes) -> list[str]:
    """Return the paths of ``git status --porcelain -z``."""
    rows = iter(status.split(b"\0"))
    found = []
    for row in rows:
        if not row:
            continue
        found.append(os.fsdecode(row[3:]))
        if row[:1] in (b"R", b"C"):
            next(rows, None)  # where it came from
    return found


def _refused(message: str, hint: str | None = None) -> Refused:
    return Refused(code=RefusalCode.NO_WORKTREE, message=message, hint=hint)
