"""What every test may rely on, however the test run itself was started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Give signals their ordinary meaning back.

    A run that was started in the background (``nohup``, ``&`` in a script, some CI runners) ignores
    INT and HUP, and everything it starts inherits that: then no test of Ctrl-C could pass.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
