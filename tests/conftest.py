"""What every test may rely on, however the test run itself was started."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.dealing import dealt
from hypothesis import HealthCheck, settings

# On a machine that is busy or stood still an example takes as long as it takes.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    """Leave the next test the umask that there was: a supervisor in this process has its own."""
    mask = os.umask(0o022)
    os.umask(mask)
    yield
    os.umask(mask)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several workers share a run, give each its part of the long tests, and those first."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        here = Path(__file__).parent
        items[:] = dealt([(item.path.relative_to(here).as_posix(), item) for item in items], workers)


def pytest_configure() -> None:
    """Give signals their ordinary meaning back.

    A run that was started in the background (``nohup``, ``&`` in a script, some CI runners) ignores
    INT and HUP, and everything it starts inherits that: then no test of Ctrl-C could pass.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
