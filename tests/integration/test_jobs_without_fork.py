"""Jobs whose shims are started and not forked, as on a system without fork, through every kind of kill."""

from __future__ import annotations

import signal
from pathlib import Path

from fakes.supervised import Supervised, alive, kill, pid_in, until


def test_jobs_whose_shims_nobody_forked(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with Supervised(tmp_path, OSRC_SPAWN="plain") as home:
        record, done = home.run({"mark": "DONE"}, {"end": "hello"})
        assert (record["state"], done.returncode) == ("done", 0), done
        assert home.zygotes() == []
        ends = home.bg({"sleep": 600})
        cancels = home.bg(
            {"grandchild": 600, "setsid": True, "pid_file": str(tmp_path / "session")},
            {"daemon": 600, "pid_file": str(tmp_path / "daemon")},
            {"sleep": 600},
        )
        adopted = home.bg(
            {"record": str(tmp_path / "started")}, {"wait_for": str(go)}, {"mark": "DONE"}, {"end": "all"}
        )
        lost = home.bg({"wait_for": str(go)}, {"mark": "DONE"}, {"end": "of it"})

        kill(home.running(ends)["delegate"]["pid"])
        ended = home.ended(ends)
        assert (ended["state"], ended["exit_status"]["signal"]) == ("interrupted", signal.SIGKILL)

        left = [pid_in(tmp_path / name) for name in ("session", "daemon")]
        home.ok("cancel", cancels)
        assert home.ended(cancels)["state"] == "canceled"
        until(lambda: not any(map(alive, left)), "the whole tree ended")

        kill(home.running(lost)["shim"]["pid"])
        home.running(adopted)
        home.kill_supervisor()
        go.touch()
        home.ok("supervisor", "restart")
        ended = home.ended(adopted)
        assert (ended["state"], ended["exit_status"]["code"], home.result(adopted)) == ("done", 0, "all")
        assert len((tmp_path / "started").read_text().splitlines()) == 1
        ended = home.ended(lost)
        assert (ended["state"], ended["exit_status"]["lost"]) == ("done", True)
        home.nothing_left()
