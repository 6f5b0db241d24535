"""The whole product with its supervisor on a port of this machine, as on a system without local sockets."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.supervised import Supervised, until


def test_a_job_by_way_of_a_port(tmp_path: Path) -> None:
    with Supervised(tmp_path, OSRC_LOOPBACK="1") as home:
        record, done = home.run({"end": "hello"})
        assert record["state"] == "done?", done
        seen = home.supervisor()
        assert seen is not None
        token = home.root / "supervisor.token"
        assert seen["socket"].startswith("tcp:")
        assert token.read_text() not in json.dumps(seen)
        assert seen["socket"] in home.ok("supervisor", "status")
        job_id = home.bg({"sleep": 600})
        home.running(job_id)
        home.ok("cancel", job_id)
        home.ended(job_id)
        # Without its token nobody comes in: the next command ends that supervisor, and is served by a new one.
        token.unlink()
        home.run({"end": "again"})
        assert (home.supervisor() or seen)["pid"] != seen["pid"]
        home.ok("supervisor", "stop")
        until(lambda: not token.exists(), "the token is gone with its supervisor")
