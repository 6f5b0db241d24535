"""What is done in another way where POSIX's own is missing: each such way, run here with that taken away."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys

import psutil
import pytest
from fakes.actors import eventually
from outsourcerer.actors import check_files, rehearsal_turn, tmux, wake_child, windows_argv
from outsourcerer.actors.check_shell import SHELL
from outsourcerer.actors.delegates import acp_agent, acp_tree, local_agent
from outsourcerer.actors.sinks import wake_words
from outsourcerer.cli import attaching, launch
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.render import plan
from outsourcerer.lanes.acp.lane import lane_of

GRANDCHILD = "import subprocess, sys\nprint(subprocess.Popen(['sleep', '600']).pid, flush=True)\nsys.stdin.read()"


@pytest.fixture
def windows(monkeypatch):
    """What the program thinks that this is."""
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.fixture
def family():
    """A process that has a child."""
    process = subprocess.Popen(
        [sys.executable, "-c", GRANDCHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    child = psutil.Process(int(process.stdout.readline()))
    yield process, child
    process.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        child.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def gone(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("end", [rehearsal_turn._end, wake_child._end])
def test_a_program_is_ended_with_its_children_where_there_are_no_groups(family, monkeypatch, end):
    process, child = family
    monkeypatch.delattr(os, "killpg")
    end(process)
    process.wait(20)
    eventually(lambda: gone(child))


@pytest.mark.usefixtures("windows")
def test_words_are_a_line_where_one_line_is_all_that_is_taken():
    assert windows_argv.startable(["a.exe", "b c"], {}) == 'a.exe "b c"'
    line = windows_argv.startable(["C:\\npm\\a.cmd", "b&c"], {"ComSpec": "C:\\cmd.exe"})
    assert line == '"C:\\cmd.exe" /d /e:on /v:off /s /c ""C:\\npm\\a.cmd" "b&c""'


def test_words_stay_words_here():
    assert windows_argv.startable(["a", "b c"], {}) == ["a", "b c"]


@pytest.mark.usefixtures("windows")
def test_an_agent_that_is_a_batch_file_is_given_its_words(monkeypatch):
    seen = []

    async def shell(line, **_pipes):
        seen.append(line)

    async def program(*words, **_pipes):
        seen.append(words)

    monkeypatch.setattr(asyncio, "create_subprocess_shell", shell)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", program)
    asyncio.run(acp_tree._started(["C:\\npm\\gemini.CMD", "--acp", "a&b"]))
    asyncio.run(acp_tree._started(["C:\\agent.exe", "a&b"]))
    assert seen == ['"C:\\npm\\gemini.CMD" "--acp" "a&b"', ("C:\\agent.exe", "a&b")]


def test_signals_are_heeded_where_loops_know_none(monkeypatch):
    told, handlers = [], {}

    class Loop:
        def add_signal_handler(self, *_):
            raise NotImplementedError

        def call_soon_threadsafe(self, work, number):
            work(number)

    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.delattr(signal, "SIGHUP")
    acp_agent._heed(Loop(), told.append)
    assert sorted(handlers) == [signal.SIGINT, signal.SIGTERM]
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert told == [signal.SIGTERM]


@pytest.mark.usefixtures("windows")
def test_a_cli_on_a_local_model_is_run_and_not_become(capfd, monkeypatch):
    monkeypatch.setattr(local_agent, "startable", lambda words, _env: words)
    assert local_agent._become([sys.executable, "-c", "import os; os._exit(int(os.environ['N']))"], {"N": "7"}) == 7
    assert local_agent._become(["/no/such"], {}) == 127
    monkeypatch.setattr(local_agent, "startable", windows_argv.startable)
    assert local_agent._become(["C:\\a.cmd", "two\nlines"], {}) == 127
    assert "no word for it can hold a line break" in capfd.readouterr().err


def test_a_wake_command_is_the_person_s_shell_s():
    assert wake_words("say $1", "so", {}, "linux") == [SHELL, "-c", "say $1", "osrc-wake", "so"]
    assert wake_words('say "x"', "so", {"COMSPEC": "C:\\cmd.exe"}, "win32") == '"C:\\cmd.exe" /d /s /c "say "x""'
    assert wake_words("say", "so", {"COMSPEC": "pwsh"}, "win32")[-2:] == ["-Command", "say"]
    with pytest.raises(ValueError, match="several lines"):
        wake_words("a\nb", "so", {}, "win32")


def test_a_check_s_files_are_found_by_their_path_whichever_way_it_leans(monkeypatch):
    assert "tests/a.py" not in check_files._parts("pytest tests\\a.py").words, "it is a shell's own sign here"
    monkeypatch.setattr(os, "sep", "\\")
    assert "tests/a.py" in check_files._parts("pytest tests\\a.py").words


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("C:\\Tools\\agent.exe --acp", "C:\\Tools\\agent.exe"),
        ('"C:\\Program Files\\agent.cmd" --acp', "C:\\Program Files\\agent.cmd"),
        ("\\\\server\\share\\agent.exe", "\\\\server\\share\\agent.exe"),
        ("/opt/my\\ agent --acp", "/opt/my agent"),
    ],
)
def test_an_agent_s_path_keeps_its_backslashes_and_its_lane_its_name(command, program):
    lane = lane_of(command)
    assert lane.binary == program
    again = lane_of(lane.name.removeprefix("acp:"))
    assert (again.name, again.sessions["acp"].args) == (lane.name, lane.sessions["acp"].args)


@pytest.mark.usefixtures("windows")
def test_a_plan_is_shown_as_it_would_be_typed():
    assert plan._argv(["C:\\a b\\c.exe", "it's", 'say "x"']) == '"C:\\a b\\c.exe" it\'s "say \\"x\\""'


def test_a_tmux_server_s_place_is_asked_of_no_user_where_there_are_none(monkeypatch):
    monkeypatch.delattr(os, "getuid")
    assert tmux.Tmux.of(None, {}).socket == "/tmp/tmux-0/default"


def test_a_supervisor_is_started_outside_the_job_object_that_we_are_in_where_that_is_allowed(tmp_path, monkeypatch):
    asked = []

    def popen(_argv, *, creationflags, **_terms):
        asked.append(creationflags)
        if creationflags & 0x01000000:
            raise PermissionError
        return "started"

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(launch, "_DETACHED", 0x01000200)
    with pytest.raises(PermissionError):
        launch._spawn(str(tmp_path), str(tmp_path / "log"))
    monkeypatch.setattr(launch, "_DETACHED", 0x200)
    monkeypatch.setattr(launch, "_LEAVE_JOB", 0x01000000)
    assert launch._spawn(str(tmp_path), str(tmp_path / "log")) == "started"
    assert asked == [0x01000200, 0x01000200, 0x200]


@pytest.mark.usefixtures("windows")
def test_attaching_is_refused_with_what_there_is_instead():
    with pytest.raises(CliError, match="attach is not there on Windows") as refused:
        attaching.attach({"name": "fix"})
    assert refused.value.hint == "osrc session read fix -f"
