"""What becomes of the jobs of a scripted supervisor while a test's front end follows them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fakes.fake_gateway import FakeGateway
from fakes.osrc_process import until

ENDED = {"state": "done", "exit": 0, "ended": 1042.0}


def finish(gateway: FakeGateway, identifier: str, text: str = "the answer\n", **changes: object) -> None:
    """End a job with a final message."""
    place = gateway.home / f"{identifier}.txt"
    place.write_text(text)
    gateway.change(identifier, **{**ENDED, "result_path": str(place), **changes})


def when_asked(gateway: FakeGateway, kind: str, action: Callable[[], object]) -> threading.Thread:
    """Do something once a command of this kind has come in."""

    def work() -> None:
        until(lambda: kind in gateway.kinds())
        action()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
