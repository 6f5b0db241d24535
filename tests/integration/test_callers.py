"""The command that asked for a job: killed, interrupted, hung up on, nested, or without any supervisor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from fakes.lanes import lane_toml, write_lane
from fakes.osrc_process import environment, shown
from fakes.real_clis import NESTED
from fakes.supervised import Supervised, alive, kill, until
from outsourcerer.actors.lock import HomeLock
from outsourcerer.state.home import Home as StateHome

LONG_S = 600
DONE: tuple[dict[str, object], ...] = ({"mark": "DONE", "text": "ok"}, {"end": "the answer"})


def line_of(process: subprocess.Popen[bytes]) -> str:
    """The first line of a started command's stdout."""
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def job_of(home: Supervised) -> str:
    """The id of the only job, once it is accepted and runs."""
    until(lambda: (home.root / "state.db").exists() and home.records(), "a job was accepted")
    job_id = str(home.newest()["job_id"])
    home.running(job_id)
    return job_id


def delegate_environment(home: Supervised, **more: str) -> dict[str, str]:
    """What a delegate of a job that was asked for in this environment sees."""
    seen = home.scratch / "environ"
    home.run({"run": ["/bin/sh", "-c", f"env -0 > {seen}"]}, *DONE, verb="yolo", **more)
    pairs = (item.partition("=") for item in seen.read_text().split("\0") if item)
    return {name: value for name, _, value in pairs}


# --- killed, interrupted, hung up on


def test_the_callers_group_is_killed_right_after_bg(home: Supervised) -> None:
    """Also when the caller had to start the supervisor itself."""
    go = home.scratch / "go"
    task = f'#fake: [{{"wait_for": "{go}"}}, {{"mark": "DONE"}}, {{"end": "the answer"}}]'
    caller = home.start("bg", "--lane", "fake", "--", task)
    job_id = line_of(caller)
    os.killpg(caller.pid, signal.SIGKILL)
    caller.communicate()
    go.touch()
    assert home.ended(job_id)["state"] == "done"
    assert home.result(job_id) == "the answer"


def test_the_callers_session_and_everything_it_started_is_killed(home: Supervised) -> None:
    """As when a terminal emulator or a CI runner ends all children that it can still see as its own."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", 'osrc() { "$PYTHON" -m outsourcerer "$@"; }; osrc bg --lane fake -- "$TASK"; sleep 600'],
        env={
            **environment(home.root, **home.environ),
            "PYTHON": sys.executable,
            "TASK": '#fake: [{"sleep": 1}, {"end": "the answer"}]',
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    job_id = line_of(shell)
    os.killpg(shell.pid, signal.SIGKILL)
    shell.communicate()
    assert home.ended(job_id)["state"] == "done?"


def test_ctrl_c_cancels_the_job(home: Supervised) -> None:
    caller = home.start("run", "--lane", "fake", "--", f'#fake: {{"sleep": {LONG_S}}}')
    job_id = job_of(home)
    os.kill(caller.pid, signal.SIGINT)
    _, err = caller.communicate(timeout=240)
    assert caller.returncode == 130, err
    assert home.ended(job_id)["state"] == "canceled"
    home.nothing_left()


def test_ctrl_c_twice_ends_it_at_once(home: Supervised) -> None:
    home.ok("supervisor", "restart")
    caller = home.start(
        "run", "--lane", "fake", "--", f'#fake: [{{"ignore": ["TERM"]}}, {{"say": "x"}}, {{"sleep": {LONG_S}}}]'
    )
    job_id = job_of(home)
    until(lambda: b'"x"' in (home.folder(job_id) / "out.log").read_bytes(), "it ignores TERM")
    os.kill(caller.pid, signal.SIGINT)
    until(lambda: home.record(job_id)["cancel_requested"], "the first Ctrl-C arrived")
    os.kill(caller.pid, signal.SIGINT)
    _, err = caller.communicate(timeout=240)
    assert caller.returncode == 130, err
    assert home.ended(job_id)["state"] == "canceled"
    home.nothing_left()


def test_a_lost_terminal_leaves_the_job_running(home: Supervised) -> None:
    go = home.scratch / "go"
    caller = home.start(
        "run", "--lane", "fake", "--", f'#fake: [{{"wait_for": "{go}"}}, {{"mark": "DONE"}}, {{"end": "the answer"}}]'
    )
    job_id = job_of(home)
    os.kill(caller.pid, signal.SIGHUP)
    _, err = caller.communicate(timeout=240)
    assert caller.returncode == 129
    assert b"goes on in the background" in err
    assert home.state(job_id) == "running"
    go.touch()
    assert home.ended(job_id)["state"] == "done"


def test_a_run_outlives_its_supervisor(home: Supervised) -> None:
    go = home.scratch / "go"
    caller = home.start(
        "run", "--lane", "fake", "--", f'#fake: [{{"wait_for": "{go}"}}, {{"mark": "DONE"}}, {{"end": "the answer"}}]'
    )
    job_of(home)
    home.kill_supervisor()
    go.touch()
    out, err = caller.communicate(timeout=240)
    assert (caller.returncode, out) == (0, b"the answer\n"), err


# --- what the delegate is given


def test_a_nested_sessions_variables_do_not_reach_the_delegate(shared: Supervised) -> None:
    """Being called from inside Claude Code or Codex is the main use; their delegates must not think they are nested."""
    seen = delegate_environment(shared, **NESTED, MINE="kept")
    assert [name for name in NESTED if name in seen] == []
    assert seen["MINE"] == "kept"


def test_the_delegate_is_told_which_job_it_is(shared: Supervised) -> None:
    seen = delegate_environment(shared)
    assert seen["OSRC_JOB_ID"] == shared.newest()["job_id"]
    assert seen["OUTSOURCERER_DEPTH"] == "1"
    assert str(shared.newest()["marker_id"]) not in " ".join(seen.values())


def test_the_callers_path_is_used(home: Supervised) -> None:
    """Not the one of whoever happened to start the supervisor."""
    home.ok("supervisor", "restart")
    tools = home.scratch / "tools"
    tools.mkdir()
    tool = tools / "mytool"
    tool.write_text(
        '#!/bin/sh\nprintf \'{"type":"start","model":"m"}\\n{"type":"end","ok":true,"text":"from my tool"}\\n\'\n'
    )
    tool.chmod(0o755)
    write_lane(home.root, "mine", lane_toml(argv=["mytool"]))
    assert home.osrc("run", "--lane", "mine", "hi").returncode == 1
    done = home.osrc("run", "--lane", "mine", "hi", PATH=f"{tools}:{os.environ['PATH']}")
    assert done.stdout == b"from my tool\n", shown(done)


def test_a_delegate_may_not_delegate(home: Supervised) -> None:
    for depth in ("1", "7", "x", "-1", "9" * 400):
        done = home.osrc("run", "--json", "--lane", "fake", "hi", OUTSOURCERER_DEPTH=depth)
        assert done.returncode == 1, depth
        assert json.loads(done.stdout)["error"]["code"] == "recursion", depth
    assert not list((home.root / "jobs").iterdir())


def test_a_delegate_that_delegates_is_refused_and_may_look(home: Supervised) -> None:
    said = home.scratch / "said"
    command = f'"$PYTHON" -m outsourcerer run --lane fake again > {said} 2>&1; "$PYTHON" -m outsourcerer status >> {said} 2>&1'
    record, _ = home.run({"run": ["/bin/sh", "-c", command]}, *DONE, verb="yolo", PYTHON=sys.executable)
    assert record["state"] == "done"
    assert "it may not delegate further" in said.read_text()
    assert record["job_id"] in said.read_text()
    assert len(home.records()) == 1


# --- without a supervisor


def test_run_without_a_supervisor(home: Supervised) -> None:
    record, done = home.run(*DONE, OSRC_NO_DAEMON="1")
    assert (record["state"], done.returncode, done.stdout) == ("done", 0, b"the answer\n"), shown(done)
    assert record["supervision"] == "attached"
    assert not (home.root / "supervisor.json").exists()
    assert home.processes() == []


def test_bg_without_a_supervisor_stays_to_the_end(home: Supervised) -> None:
    done = home.osrc("bg", "--no-daemon", "--lane", "fake", "--", '#fake: [{"mark": "DONE"}, {"end": "the answer"}]')
    assert done.returncode == 0, shown(done)
    record = home.newest()
    assert (done.stdout.decode().strip(), record["state"]) == (record["job_id"], "done")
    assert home.processes() == []


def test_where_a_supervisor_can_not_listen_the_command_supervises_by_itself(home: Supervised) -> None:
    """As in a sandbox whose rules forbid sockets."""
    rules = home.scratch / "rules"
    rules.mkdir()
    (rules / "sitecustomize.py").write_text(
        "import socket\n"
        "def forbidden(self, *_):\n"
        "    raise PermissionError(1, 'Operation not permitted')\n"
        "socket.socket.bind = forbidden\n"
    )
    path = os.pathsep.join([str(rules), environment(home.root)["PYTHONPATH"]])
    record, done = home.run(*DONE, PYTHONPATH=path)
    assert (record["state"], done.returncode, done.stdout) == ("done", 0, b"the answer\n"), shown(done)
    assert b"this command supervises by itself" in done.stderr
    assert b"Operation not permitted" in done.stderr
    assert record["supervision"] == "attached"


def test_ctrl_c_without_a_supervisor(home: Supervised) -> None:
    caller = home.start("run", "--no-daemon", "--lane", "fake", "--", f'#fake: {{"sleep": {LONG_S}}}')
    job_id = job_of(home)
    os.kill(caller.pid, signal.SIGINT)
    _, err = caller.communicate(timeout=240)
    assert caller.returncode == 130, err
    assert home.state(job_id) == "canceled"
    home.nothing_left()


def test_a_killed_attached_command_leaves_its_job_to_the_next_supervisor(home: Supervised) -> None:
    go = home.scratch / "go"
    task = f'#fake: [{{"wait_for": "{go}"}}, {{"mark": "DONE"}}, {{"end": "the answer"}}]'
    caller = home.start("run", "--no-daemon", "--lane", "fake", "--", task)
    job_id = job_of(home)
    caller.kill()
    caller.communicate()
    delegate = home.record(job_id)["delegate"]["pid"]
    assert alive(delegate)
    home.ok("supervisor", "restart")
    go.touch()
    record = home.ended(job_id)
    assert (record["state"], record["exit_status"]["code"]) == ("done", 0)


def test_a_running_supervisor_takes_over_from_a_killed_attached_command(home: Supervised) -> None:
    home.ok("supervisor", "restart")
    go = home.scratch / "go"
    task = f'#fake: [{{"wait_for": "{go}"}}, {{"mark": "DONE"}}, {{"end": "the answer"}}]'
    caller = home.start("run", "--no-daemon", "--lane", "fake", "--", task)
    job_id = job_of(home)
    caller.kill()
    caller.communicate()
    waiter = home.start("wait", job_id)
    go.touch()
    _, err = waiter.communicate(timeout=240)
    assert waiter.returncode == 0, err
    assert home.state(job_id) == "done"


def test_waiting_without_a_supervisor_for_an_orphan_comes_to_an_end(home: Supervised) -> None:
    """Where no supervisor can be had at all, the next command looks after what a killed one left."""
    go = home.scratch / "go"
    task = f'#fake: [{{"wait_for": "{go}"}}, {{"mark": "DONE"}}, {{"end": "the answer"}}]'
    caller = home.start("bg", "--no-daemon", "--lane", "fake", "--", task)
    job_id = line_of(caller)
    home.running(job_id)
    caller.kill()
    caller.communicate()
    waiter = home.start("wait", "--no-daemon", job_id)
    go.touch()
    try:
        _, err = waiter.communicate(timeout=240)
    finally:
        kill(waiter.pid)
    assert waiter.returncode == 0, err
    assert home.state(job_id) == "done"


def test_a_command_without_daemon_leaves_alone_what_a_supervisor_looks_after(home: Supervised) -> None:
    job_id = home.bg({"sleep": LONG_S})
    home.running(job_id)
    waited = home.osrc("wait", "--no-daemon", job_id, "--for", "1")
    assert waited.returncode == 124, shown(waited)
    assert home.state(job_id) == "running"
    home.ok("cancel", "--no-daemon", job_id)
    assert home.ended(job_id)["state"] == "canceled", "its supervisor was told"
    assert len(home.facts("job.ended")) == 1


def test_a_job_of_a_command_without_daemon_can_be_canceled_from_elsewhere(home: Supervised) -> None:
    caller = home.start("run", "--no-daemon", "--lane", "fake", "--", f'#fake: {{"sleep": {LONG_S}}}')
    job_id = job_of(home)
    home.ok("cancel", job_id)
    _, err = caller.communicate(timeout=240)
    assert caller.returncode == 130, err
    assert home.state(job_id) == "canceled"


def test_a_command_that_looks_after_an_orphan_is_no_obstacle_to_others(home: Supervised) -> None:
    """It holds the lock: no supervisor can be had meanwhile, and the others do without."""
    caller = home.start("bg", "--no-daemon", "--lane", "fake", "--", f'#fake: {{"sleep": {LONG_S}}}')
    job_id = line_of(caller)
    home.running(job_id)
    caller.kill()
    caller.communicate()
    waiter = home.start("wait", "--no-daemon", job_id)
    until(lambda: locked(home), "the waiting command took the lock")
    record, done = home.run(*DONE, timeout=240)
    assert (record["state"], done.returncode) == ("done", 0), shown(done)
    home.ok("cancel", "--now", "--no-daemon", job_id)
    assert waiter.wait(240) == 130
    waiter.communicate()


def locked(home: Supervised) -> bool:
    """Whether somebody holds the state home's lock."""
    lock = HomeLock(StateHome(home.root))
    try:
        return not lock.take()
    finally:
        lock.release()
