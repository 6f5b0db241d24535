"""Checks: a verdict for every way a command can end, bounded in time and output, with nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from fakes.actors import eventually
from outsourcerer.actors import check_run
from outsourcerer.actors.check_keeper import HEAD, TAIL, Output
from outsourcerer.actors.check_run import Check, CheckResult, Verdict, result_of, run_check
from outsourcerer.actors.check_shell import SHELL
from outsourcerer.state.identity import boot_id, identify
from outsourcerer.state.processes import read_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


def alive(pid):
    row = read_process(pid)
    return row is not None and row.state not in "ZX"


def check(tmp_path, command, timeout_s=60.0, **environment):
    (tmp_path / "work").mkdir(exist_ok=True)
    return Check(command, str(tmp_path / "work"), {"PATH": os.environ["PATH"], **environment}, timeout_s)


@pytest.fixture(params=["posix", "plain"])
def road(request, monkeypatch):
    """The keeper of POSIX, and the one of systems without fork."""
    monkeypatch.setattr(check_run, "PLAIN", request.param == "plain")


def run(tmp_path, command, timeout_s=60.0, **environment):
    return run_check(tmp_path / "check-1", check(tmp_path, command, timeout_s, **environment))


@pytest.mark.parametrize(
    ("command", "verdict", "code", "number"),
    [
        ("true", Verdict.PASSED, 0, None),
        ("echo so; exit 3", Verdict.FAILED, 3, None),
        ("kill -SEGV $$", Verdict.FAILED, None, 11),
        ("no-such-program-here", Verdict.NOT_RUN, 127, None),
    ],
)
@pytest.mark.usefixtures("road")
def test_an_exit_is_a_verdict(tmp_path, command, verdict, code, number):
    result = run(tmp_path, command)
    assert (result.verdict, result.code, result.signal) == (verdict, code, number)
    assert result.seconds > 0


@pytest.mark.usefixtures("road")
def test_where_it_runs_and_what_it_sees(tmp_path):
    command = "pwd; echo $WORD; (: < /dev/tty) 2>/dev/null && echo a terminal; wc -c < /dev/stdin; trap"
    result = run(tmp_path, command, WORD="said", timeout_s=60.0)
    assert result.tail.split() == [str(tmp_path / "work"), "said", "0"]
    assert (tmp_path / "check-1" / "check.json").read_bytes() == b""
    assert (tmp_path / "check-1" / "output.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("road")
def test_a_folder_that_is_not_there(tmp_path):
    result = run_check(tmp_path / "c", Check("true", str(tmp_path / "nowhere"), {}, 5.0))
    assert result.verdict is Verdict.NOT_RUN
    assert "No such file" in result.error
    assert run_check(tmp_path / "none" / "c", Check("true", "/", {}, 5.0)).verdict is Verdict.NOT_RUN


@pytest.mark.usefixtures("road")
def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    command = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > a; sleep 600' & echo $$ > b; sleep 600"
    result = run(tmp_path, command, timeout_s=1.0)
    assert result.verdict is Verdict.TIMED_OUT
    assert (result.code, result.signal, result.survivors) == (None, None, ())
    left = [int((tmp_path / "work" / name).read_text()) for name in "ab" if (tmp_path / "work" / name).exists()]
    assert [pid for pid in left if alive(pid)] == []


@pytest.mark.usefixtures("road")
def test_a_daemon_that_it_leaves_does_not_hold_it_up(tmp_path):
    command = "setsid sh -c 'echo $$ > daemon; exec sleep 600' & while ! test -s daemon; do sleep 0.01; done; echo done"
    result = run(tmp_path, command)
    assert (result.verdict, result.tail) == (Verdict.PASSED, "done\n")
    assert not alive(int((tmp_path / "work" / "daemon").read_text()))


@pytest.mark.usefixtures("road")
def test_a_flood_is_read_and_not_kept(tmp_path):
    result = run(tmp_path, "echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last; exit 1")
    assert result.output_bytes == 30000000 + len("first\n\nlast\n")
    kept = (tmp_path / "check-1" / "output.log").read_bytes()
    assert len(kept) < HEAD + TAIL + 200_000
    assert kept.startswith(b"first\n")
    assert b"bytes left out" in kept
    assert result.tail.endswith("\nlast\n")
    assert len(result.tail) <= check_run.TAIL_BYTES


def test_asked_again_it_is_the_same_run(tmp_path):
    assert run(tmp_path, "echo x >> ran; exit 2").code == 2
    assert run(tmp_path, "echo x >> ran; exit 2").code == 2
    assert (tmp_path / "work" / "ran").read_text() == "x\n"


def test_two_who_ask_at_once_get_one_run(tmp_path):
    results = []
    asks = [threading.Thread(target=lambda: results.append(run(tmp_path, "echo x >> ran"))) for _ in range(3)]
    (tmp_path / "work").mkdir()
    for one in asks:
        one.start()
    for one in asks:
        one.join()
    assert {one.verdict for one in results} == {Verdict.PASSED}
    assert (tmp_path / "work" / "ran").read_text() == "x\n"


@pytest.mark.usefixtures("road")
def test_it_can_be_stopped(tmp_path):
    stop, results = threading.Event(), []
    wanted = check(tmp_path, "echo $$ > pid; sleep 600")
    thread = threading.Thread(target=lambda: results.append(run_check(tmp_path / "c", wanted, stop)))
    thread.start()
    pid = eventually(lambda: (path := tmp_path / "work" / "pid").exists() and path.read_text().strip())
    stop.set()
    thread.join()
    assert results[0].verdict is Verdict.CANCELED
    assert not alive(int(pid))


@pytest.mark.usefixtures("road")
def test_one_whose_keeper_was_killed_is_not_graded_and_leaves_nothing(tmp_path):
    results = []
    wanted = check(tmp_path, "echo $$ > pid; sleep 600")
    thread = threading.Thread(target=lambda: results.append(run_check(tmp_path / "c", wanted)))
    thread.start()
    pid = eventually(lambda: (path := tmp_path / "work" / "pid").exists() and path.read_text().strip())
    claim = eventually(lambda: len(lines := (tmp_path / "c" / "claim.1").read_text().splitlines()) == 2 and lines)
    os.kill(json.loads(claim[0])["pid"], signal.SIGKILL)
    thread.join()
    assert results[0].verdict is Verdict.NOT_RUN
    assert "killed" in results[0].error
    assert eventually(lambda: not alive(int(pid)))


def test_a_later_process_waits_for_the_run_that_there_is(tmp_path):
    """The supervisor is killed while a check runs: the next one finds its end, and runs nothing again."""
    wanted = check(tmp_path, "echo x >> ran; while ! test -e go; do sleep 0.02; done; echo end; exit 4")
    check_run._begin(tmp_path / "c", wanted, [SHELL, "-c", wanted.command])
    eventually((tmp_path / "work" / "ran").exists)
    (tmp_path / "work" / "go").touch()
    result = run_check(tmp_path / "c", wanted)
    assert (result.verdict, result.code, result.tail) == (Verdict.FAILED, 4, "end\n")
    assert (tmp_path / "work" / "ran").read_text() == "x\n"


@pytest.mark.parametrize(
    "record", ["", "[]", "{}", '{"code": "0"}', '{"code": null, "signal": [], "survivors": 3}', "\xff"]
)
def test_a_record_that_makes_no_sense_is_no_pass(tmp_path, record):
    (tmp_path / "exit.json").write_text(record)
    found = result_of(tmp_path)
    assert found is None or found.verdict in {Verdict.NOT_RUN, Verdict.FAILED}


def test_a_claim_of_a_process_that_is_gone(tmp_path):
    process = subprocess.Popen(["true"])
    me = identify(process.pid) or {"pid": process.pid, "started": 1, "boot_id": boot_id()}
    process.wait()
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "claim.1").write_text(json.dumps(me) + "\n")
    assert run_check(tmp_path / "c", check(tmp_path, "true")).verdict is Verdict.NOT_RUN


@pytest.mark.parametrize("sizes", [(10,), (HEAD,), (HEAD + 1, TAIL), (HEAD + TAIL, 1), (HEAD, TAIL, TAIL, 7)])
def test_what_is_kept_of_an_output(sizes):
    output, whole = Output(), b""
    for number, size in enumerate(sizes):
        for start in range(0, size, 50_000):
            piece = bytes([65 + number]) * min(50_000, size - start)
            output.add(piece)
            whole += piece
    kept = output.kept()
    assert output.size == len(whole)
    assert kept.startswith(whole[:HEAD])
    assert kept.endswith(whole[-TAIL:])
    assert kept == whole or b"bytes left out" in kept


def test_the_words_of_an_end():
    words = [CheckResult(verdict, code=1, error="why").words() for verdict in Verdict]
    assert words == ["passed", "exit 1", "ran out of time and was ended", "could not be run: why", "was canceled"]
