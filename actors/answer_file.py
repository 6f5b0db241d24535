"""``last.txt``: the final message alone. Written late where the disk had no room for it at the end."""

from __future__ import annotations

from ..state.errors import StateError
from ..state.job_folder import LAST, JobFolder

FIRST_RETRY_S, LONGEST_RETRY_S = 1.0, 30.0


class AnswerFile:
    """The final message of one job on its way to disk."""

    def __init__(self, folder: JobFolder) -> None:
        """Know where it goes."""
        self._folder = folder
        self._unwritten: bytes | None = None
        self._pause_s = FIRST_RETRY_S

    def write(self, answer: bytes | None) -> str | None:
        """Write the answer, if there is one; return why that failed. It is kept then."""
        self._unwritten = answer or None
        try:
            self._write()
        except StateError as error:
            return str(error)
        return None

    def retry_in_s(self) -> float | None:
        """Write what is still unwritten; return when the next try is due, or None when nothing is left to do.

        The pauses grow; nothing is left to do either when the job's folder is gone.
        """
        if not self._folder.path.is_dir():
            return None
        try:
            self._write()
        except StateError:
            pause_s = self._pause_s
            self._pause_s = min(2 * pause_s, LONGEST_RETRY_S)
            return pause_s
        return None

    def _write(self) -> None:
        if self._unwritten is not None:
            self._folder.write(LAST, self._unwritten)
            self._unwritten = None
