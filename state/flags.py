"""Flags of ``os.open`` that not every system has: where one is missing it asks for nothing. Binary everywhere."""

from __future__ import annotations

import os

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)
CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Not for a child process; and no line end is changed."""
READ = os.O_RDONLY | NONBLOCK | CLOEXEC
"""To read a file, waiting for no other end of it."""
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC
"""To write a file that is not there yet."""
