"""No delegate gets a credential that is not its own lane's: over every lane, as a job and as a session."""

from __future__ import annotations

import base64
import os

import pytest
from fakes.lanes import lane_toml, write_lane
from fakes.programs import write_program
from fakes.state import scratch_home
from outsourcerer.actors.intake import Draft, draft
from outsourcerer.actors.job_writing import create, environment_of
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.actors.session_intake import SessionDraft, draft_session
from outsourcerer.actors.withholding import SAID, asked_by_servers, said_of, withhold
from outsourcerer.lanes import credentials
from outsourcerer.lanes.contract import PrivateFile
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages.job import JobRequest
from outsourcerer.messages.refusals import Refused
from outsourcerer.messages.session import SessionRequest
from outsourcerer.state import consent
from outsourcerer.state.settings import Settings

VALUE = "a1b2c3d4e5f6g7h8"
SWITCHES = {"OSRC_WALL": "compare", "OSRC_COPILOT_USER_MCP": "1"}
UNREACHABLE = {"acp", "claudex", "local", "embedded"}
"""They lack here what they need; what they would be given is looked at without a draft."""


class Machine:
    def __init__(self, folder) -> None:
        self.home = scratch_home(folder)
        self.cwd, self.user, self.bin = (folder / name for name in ("work", "user", "bin"))
        for place in (self.cwd, self.user, self.bin):
            place.mkdir(mode=0o700)
        programs = {program for name in names() for program in (builtin(name).binary, *builtin(name).executables)}
        for program in programs - {None}:
            write_program(self.bin / program, "raise SystemExit('nothing may be started here')")
        consent.grant(self.home, how="test", now=1.0)

    def wire(self, **more: str) -> str:
        base = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.user), **SWITCHES}
        environ = base | dict.fromkeys((*sorted(credentials.KNOWN), "MY_COMPANY_TOKEN"), VALUE) | more
        return base64.b64encode(b"\0".join(os.fsencode(f"{k}={v}") for k, v in environ.items())).decode()

    def job(self, lane: str, **more: str) -> Draft | Refused:
        model = "z-ai/glm-5.2" if lane in ("tokenrouter", "cc", "codexor") else None
        request = JobRequest(task="hello", lane=lane, model=model, cwd=str(self.cwd), environment=self.wire(**more))
        return draft(request, self.home, LaneBook(self.home).registry())

    def session(self, lane: str) -> SessionDraft | Refused:
        request = SessionRequest(lane=lane, cwd=str(self.cwd), environment=self.wire())
        return draft_session(request, self.home, LaneBook(self.home).registry())


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("withholding"))


def given(environment: dict[str, str]) -> set[str]:
    return {name for name, value in environment.items() if value == VALUE}


@pytest.mark.parametrize("lane", [name for name in names() if name not in UNREACHABLE])
def test_a_job_gets_its_own_lanes_credentials_alone(machine, lane):
    drafted = machine.job(lane)
    assert isinstance(drafted, Draft), drafted
    own = builtin(lane).own
    _, folder = create(drafted, machine.home, umask=0o022)
    launched = folder.read_json("launch.json")["env"]
    put = {name for name, value in drafted.launch.env_set.items() if value == VALUE}
    assert given(launched) <= credentials.own_names(own, {}) | put
    assert set(drafted.plan.env_withheld).isdisjoint(own.names)
    assert "MY_COMPANY_TOKEN" in drafted.plan.env_withheld
    assert any("not given to the delegate" in notice for notice in drafted.plan.notices)


@pytest.mark.parametrize("lane", [name for name in names() if builtin(name).sessions])
def test_a_session_gets_its_own_lanes_credentials_alone(machine, lane):
    drafted = machine.session(lane)
    assert isinstance(drafted, SessionDraft), drafted
    put = {name for name, value in drafted.launch.env_set.items() if value == VALUE}
    assert given(environment_of(drafted, "s")) <= credentials.own_names(builtin(lane).own, {}) | put
    assert "MY_COMPANY_TOKEN" in drafted.plan.env_withheld


@pytest.mark.parametrize("lane", sorted(UNREACHABLE))
def test_the_other_lanes_too(lane):
    caller = dict.fromkeys(credentials.KNOWN, VALUE)
    kept, held = withhold(caller, builtin(lane), None, Settings({}))
    assert set(kept) == set(builtin(lane).own.names)
    assert set(kept).isdisjoint(held)


def test_what_the_person_passes_is_passed(machine):
    drafted = machine.job("claude", OSRC_PASS_ENV="GH_TOKEN,MY_COMPANY_*")
    assert isinstance(drafted, Draft)
    assert {"GH_TOKEN", "MY_COMPANY_TOKEN"} <= given(dict(drafted.environment))
    assert {"GH_TOKEN", "MY_COMPANY_TOKEN"}.isdisjoint(drafted.plan.env_withheld)
    assert "NPM_CONFIG__AUTH" in drafted.plan.env_withheld


def test_a_declared_lane_names_its_own(machine):
    text = lane_toml(argv=["claude", "{python}"]) + '\n[env]\nkeep = ["MY_COMPANY_TOKEN"]\n'
    write_lane(machine.home.root, "mine", text)
    drafted = machine.job("mine")
    assert isinstance(drafted, Draft), drafted
    kept = given(dict(drafted.environment))
    assert {"MY_COMPANY_TOKEN", "ANTHROPIC_API_KEY"} <= kept  # its program is known
    assert "CODEX_API_KEY" not in kept


@pytest.mark.parametrize("kind", ["a file", "a folder", "a pipe", "none"])
def test_a_key_that_the_programs_configuration_names_is_its_own(tmp_path, kind):
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    if kind == "a file":
        config.write_text('[model_providers.mine]\nenv_key = "MY_HOST_KEY"\n[x]\nbearer = "GH_TOKEN"\n')
    elif kind == "a folder":
        config.mkdir()
    elif kind == "a pipe":
        os.mkfifo(config)
    caller = {"HOME": str(tmp_path), "MY_HOST_KEY": VALUE, "GH_TOKEN": VALUE}
    kept, held = withhold(caller, builtin("codex"), None, Settings({}))
    assert held == (("GH_TOKEN",) if kind == "a file" else ("GH_TOKEN", "MY_HOST_KEY"))
    assert set(kept) == set(caller) - set(held)
    moved = {**caller, "CODEX_HOME": str(config.parent), "HOME": "/nowhere"}
    assert withhold(moved, builtin("codex"), None, Settings({}))[1] == held


def test_a_granted_server_gets_what_its_configuration_refers_to():
    content = b'{"mcpServers": {"gh": {"env": {"T": "${GH_TOKEN}", "N": "$NPM_TOKEN"}, "url": "${OTHER:-x}"}}}'
    files = (PrivateFile(name="mcp.json", content=content), PrivateFile(name="skills/a/SKILL.md", content=b"$MY_KEY"))
    assert asked_by_servers(files, ("GH_TOKEN", "MY_KEY", "NPM_TOKEN")) == {"GH_TOKEN", "NPM_TOKEN"}


def test_what_is_said_stays_short():
    assert said_of(()) == ()
    assert said_of(("A_KEY",)) == ("not given to the delegate: A_KEY (OSRC_PASS_ENV=NAME passes one)",)
    assert f"and {9 - SAID} more" in said_of(tuple(f"K{n}_KEY" for n in range(9)))[0]
