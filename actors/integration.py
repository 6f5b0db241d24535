"""Bringing the work of several jobs together, one after the other, in a work tree of its own.

    tree = Integration(planned.tree)
    tree.begin(head)                       # at that commit, with nothing else in it
    found = tree.squash(branch, message)   # Squashed | Clash | Nothing
    tree.drop()                            # or keep(): what was squashed is the new head

git is told the administrative folder that it keeps for the tree: what a check runs there may replace its ``.git``.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from ..lanes.secrets import values as value_rules
from ..state.errors import printable
from .git import AUTHOR, Answer, GitError, ask_git, git
from .worktrees import Worktree, inside, make_worktree

WORK_S = 120.0
"""How long a merge or a commit may take."""
MAKE_S = 900.0
DIFF_LIMIT = 32 * 1024 * 1024
"""Bytes of a change that are looked through for secrets; a larger one is not kept."""
FILE_LIMIT = 512 * 1024
HUNK_LINES = 40
"""Lines of either side of a conflict that are shown."""
CLASHES = 20
"""Conflicts that are shown."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """There was nothing to bring in."""


@dataclass(frozen=True, slots=True)
class Squashed:
    """One commit with all of a job's work, on top of what was there."""

    commit: str
    changed: tuple[str, ...]
    """Files that were there before and are not as they were, relative to the repository."""
    added: tuple[str, ...]
    secrets: tuple[str, ...] = ()
    """Kinds of secret values in what it adds."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One file that both sides changed. Texts are untrusted."""

    path: str
    ours: str
    """What is here: of the jobs that were brought in before, or of the base."""
    theirs: str


@dataclass(frozen=True, slots=True)
class Clash:
    """A job's work does not go with what was brought in before it."""

    conflicts: tuple[Conflict, ...]


class Integration:
    """See the module. Every method raises GitError where git can't do it."""

    def __init__(self, tree: Worktree) -> None:
        self.tree = tree

    def begin(self, head: str) -> None:
        """Have the tree at ``head``, made if it is not there, with nothing in it that is in no commit."""
        if not os.path.lexists(self.tree.path):
            make_worktree(self.tree, MAKE_S)
        self._call("checkout", "--quiet", "--force", "-B", self.tree.branch, head)
        self._clean()

    def head(self) -> str:
        """Return the commit that it is at."""
        return self._call("rev-parse", "--verify", f"refs/heads/{self.tree.branch}").text

    def squash(self, branch: str, message: str) -> Squashed | Clash | Nothing:
        """Bring a branch in as one commit, or say why not; then the tree is as it was."""
        before = self.head()
        merged = self._ask("-c", "merge.conflictStyle=merge", "merge", "--squash", "--quiet", f"refs/heads/{branch}")
        if merged.code != 0:
            conflicts = self._conflicts()
            self.drop()
            if not conflicts:
                raise GitError(merged.complaint)
            return Clash(conflicts)
        if self._ask("diff", "--cached", "--quiet").code == 0:
            self.drop()
            return Nothing()
        changed, added = self._touched()
        secrets = self._secrets()
        done = ask_git(
            self.tree.root,
            (*AUTHOR, *inside(self.tree), "commit", "--quiet", "--no-verify", "--file=-"),
            timeout_s=WORK_S,
            stdin=(message + self._credits(before, branch)).encode("utf-8", "replace"),
        )
        if done.code != 0:
            self.drop()
            raise GitError(done.complaint)
        return Squashed(self.head(), changed, added, secrets)

    def back_to(self, head: str) -> None:
        """Undo what was brought in since ``head``."""
        self._call("reset", "--quiet", "--hard", head)
        self._clean()

    def drop(self) -> None:
        """Undo what is in no commit: also what a check left, but for files that git ignores."""
        self._call("reset", "--quiet", "--hard")
        self._clean()

    def fast_forward(self, branch: str, base: str, head: str) -> str | None:
        """Move the person's branch from ``base`` to ``head``; return why not, where it can't be."""
        root = self.tree.root
        at = ask_git(root, ("symbolic-ref", "--quiet", "HEAD")).text
        if at != f"refs/heads/{branch}":
            return f"{branch} is not checked out in {printable(root)} any more"
        tip = git(root, "rev-parse", "--verify", "HEAD").text
        if tip == head:
            return None
        if tip != base:
            return f"{branch} has moved on meanwhile"
        moved = ask_git(root, ("merge", "--ff-only", "--quiet", head), timeout_s=WORK_S)
        return None if moved.code == 0 else f"{branch} could not be moved: {moved.complaint}"

    # --- small things

    def _call(self, *words: str) -> Answer:
        answer = self._ask(*words)
        if answer.code != 0:
            raise GitError(answer.complaint)
        return answer

    def _ask(self, *words: str) -> Answer:
        return ask_git(self.tree.root, (*inside(self.tree), *AUTHOR, *words), timeout_s=WORK_S)

    def _clean(self) -> None:
        self._call("clean", "--quiet", "-ffd")

    def _touched(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        rows = self._call("diff", "--cached", "--no-renames", "--name-status", "-z").out.split(b"\0")
        pairs = list(zip(rows[::2], rows[1::2], strict=False))
        added = tuple(os.fsdecode(path) for kind, path in pairs if kind == b"A")
        return tuple(os.fsdecode(path) for kind, path in pairs if kind != b"A"), added

    def _secrets(self) -> tuple[str, ...]:
        words = ("diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=0")
        diff = self._call(*words).out
        if len(diff) > DIFF_LIMIT:
            return ("a change too large to be looked through",)
        new = b"\n".join(line[1:] for line in diff.split(b"\n") if line[:1] == b"+" and not line.startswith(b"+++"))
        hits = value_rules.find(new.decode("utf-8", "replace"))
        return tuple(sorted({hit.rule for hit in hits if hit.confidence == "high"}))

    def _credits(self, before: str, branch: str) -> str:
        """Return the ``Co-Authored-By`` lines of what is squashed."""
        form = "--format=%(trailers:key=Co-Authored-By,valueonly,unfold)"
        told = self._ask("log", "-n", "200", form, f"{before}..refs/heads/{branch}").out.decode("utf-8", "replace")
        names = list(dict.fromkeys(line.strip() for line in told.split("\n") if line.strip()))[:20]
        return "\n\n" + "".join(f"Co-Authored-By: {name[:200]}\n" for name in names) if names else ""

    def _conflicts(self) -> tuple[Conflict, ...]:
        listed = self._ask("diff", "--name-only", "--diff-filter=U", "-z").out.split(b"\0")
        paths = [os.fsdecode(path) for path in listed if path]
        return tuple(self._sides(path) for path in paths[:CLASHES])

    def _sides(self, path: str) -> Conflict:
        ours: list[str] = []
        theirs: list[str] = []
        into: list[str] | None = None
        for line in _text(f"{self.tree.path}/{path}").split("\n"):
            if line.startswith("<<<<<<< "):
                into = ours
            elif line == "=======" and into is ours:
                into = theirs
            elif line.startswith(">>>>>>> ") and into is theirs:
                into = None
            elif into is not None:
                into.append(line)
        if not ours and not theirs:
            rows = self._ask("ls-files", "--unmerged", "-z", "--", path).out.split(b"\0")
            stages = {row.split()[2] for row in rows if row}
            return Conflict(path, *("changed" if side in stages else "removed" for side in (b"2", b"3")))
        return Conflict(path, "\n".join(ours[:HUNK_LINES]), "\n".join(theirs[:HUNK_LINES]))


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file.read(FILE_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
