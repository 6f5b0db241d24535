"""What a caller says to a simulated supervisor."""

from __future__ import annotations

import os
from base64 import b64encode
from typing import Any

from fakes.lanes import steps
from fakes.sim_machine import Killed


class Callers:
    """The world's half that asks. The attributes are the world's."""

    assembly: Any
    home: Any
    work: Any
    settings: Any
    start: Any
    _inside: Any
    _died: Any

    def request(self, body: dict[str, Any]) -> Any:
        """One command's last reply; None where its supervisor died before it answered."""
        if self.assembly is None and not self.start():
            return None
        try:
            with self._inside():
                reply = None
                for reply in self.assembly.dispatcher.exchange(body):  # noqa: B007  the last one counts
                    pass
                return reply
        except Killed:
            self._died()
            return None

    def asking(self, *actions: dict[str, object], **more: Any) -> dict[str, Any]:
        """What a caller asks for."""
        environ = {"HOME": str(self.home.root.parent), "PATH": os.defpath, "OSRC_CLOUD_ACK": "1", **self.settings}
        joined = b"\0".join(f"{name}={value}".encode() for name, value in environ.items())
        return {
            "verb": "run",
            "lane": "fake",
            "task": steps(*actions),
            "cwd": str(self.work),
            "environment": b64encode(joined).decode(),
            **more,
        }

    def submit(self, *actions: dict[str, object], **more: Any) -> Any:
        return self.request({"kind": "job.submit", "request": self.asking(*actions, **more)})

    def cancel(self, job_id: str, *, at_once: bool = False) -> Any:
        selection = {"select": "ids", "ids": [job_id]}
        return self.request({"kind": "job.cancel", "selection": selection, "at_once": at_once})

    def loop(self, loop_id: str, terms: dict[str, Any], limits: dict[str, Any], **common: Any) -> Any:
        """Ask for a loop; ``common`` is what holds for every lap."""
        asked = {
            "loop_id": loop_id,
            "terms": terms,
            "limits": limits,
            "common": {**self.asking(), **common},
            "launch": True,
        }
        return self.request({"kind": "loop.start", "request": asked})
