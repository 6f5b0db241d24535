"""Every command and every lane: nothing leaves, and no job exists, before the gate was passed."""

from __future__ import annotations

import base64
import dataclasses
import os
from pathlib import Path

import click
import pytest
from fakes.lanes import lane_toml, write_lane
from fakes.programs import write_program
from fakes.state import names as entries
from fakes.state import scratch_home
from outsourcerer.actors.intake import Draft, draft, preview
from outsourcerer.actors.job_writing import create
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.actors.recheck import GATE, Asks, look_again
from outsourcerer.actors.spawner import Spawner
from outsourcerer.cli import table
from outsourcerer.cli.app import cli
from outsourcerer.lanes.contract import Locality
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages.job import JobRequest
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Verb
from outsourcerer.state import consent as consents

GATED = {
    "run": "job.submit",
    "explore": "job.submit",
    "research": "job.submit",
    "edit": "job.submit",
    "yolo": "job.submit",
    "bg": "job.submit",
    "continue": "job.submit",
    "cont": "job.submit",
    "retry": "job.submit",
    "fanout": "each member is drafted as job.submit drafts one",
    "image": "Codex: job.submit; a service: image_service.ask needs a permit",
    "crew": "fanout.submit for its members; the check is the person's own command",
    "best-of": "fanout.submit for the tries, job.submit for the judge",
    "fleet": "name is job.submit",
    "loop": "each lap is a job.submit; what its check runs is a command of the person's own",
    "second-opinion": "fanout.submit for the panel, job.submit for the judge",
    "second": "the same",
    "resume": "what waited has passed the gate, and asks it again at its launch",
    "session": "session.start, session.send, a reply to a claimed pane; a holder needs a permit",
    "mcp": "its tools send job.submit, fanout.submit, session.start and session.send",
    "doctor": "--ping is a turn of rehearsal.ping",
    "canary": "--turn is a turn of rehearsal.rehearse",
}
"""Commands that can start a delegate, and by which path: all of them need a permit."""

NEVER = {
    "status", "watch", "wait", "events", "result", "logs", "explain", "classify", "cancel", "pause",
    "cleanup", "gc", "supervisor", "models", "advise", "mode", "outcome", "estimate", "suggest", "brief", "tap",
    "lanes", "skill", "hook", "limits", "tab", "consent", "posture", "sanitize", "config", "completion",
    "help", "import", "parity",
    "bearings", "rundown", "dash", "heartbeat",
}  # fmt: skip
"""Commands that start no delegate."""

CLOUD = [name for name in names() if builtin(name).locality is Locality.CLOUD]
KEYS = {"OPENROUTER_API_KEY": "k" * 12, "TOKENROUTER_API_KEY": "k" * 12, "OSRC_WALL": "compare"}
KEYS["OSRC_COPILOT_USER_MCP"] = "1"  # else its program is asked for a list, and here it has none
NOT_READY = {"claudex", "acp"}
"""Lanes that lack what they need here: they refuse before the gate is asked, and start nothing either."""


def unclassified() -> set[str]:
    """Commands of which nobody has said whether they can start a delegate."""
    return set(table.COMMANDS) - set(GATED) - NEVER


def test_every_command_is_classified():
    assert unclassified() == set()


def test_a_new_command_is_noticed(monkeypatch, tmp_path):
    """The proof must be able to fail: a command that goes around the gate is noticed, and does not get far."""

    @click.command("sneak")
    def sneak() -> None:
        Spawner(tmp_path / "fifo").spawn(tmp_path, 1)  # as somebody would who knows of no gate

    monkeypatch.setitem(table.COMMANDS, "sneak", table.Row("Work", "sneak", "sneak", "Go around the gate."))
    monkeypatch.setattr(cli, "get_command", lambda _context, _name: sneak)
    assert unclassified() == {"sneak"}
    with pytest.raises(TypeError, match="permit"):
        cli.main(["sneak"], standalone_mode=False)
    for permit in (None, object(), True):
        with pytest.raises((TypeError, AttributeError, PermissionError)):
            Spawner(tmp_path / "fifo").spawn(tmp_path, 1, permit)


class Machine:
    """A machine that has every CLI, signed in to nothing, in a folder without secrets."""

    def __init__(self, folder: Path) -> None:
        self.home = scratch_home(folder)
        self.cwd, self.user, self.bin = (folder / name for name in ("work", "user", "bin"))
        for place in (self.cwd, self.user, self.bin):
            place.mkdir(mode=0o700)
        programs = {program for name in names() for program in (builtin(name).binary, *builtin(name).executables)}
        for program in programs - {None}:
            write_program(self.bin / program, "raise SystemExit('nothing may be started here')")
        write_lane(self.home.root, "mine", lane_toml(argv=["claude"]).replace("local = true", "local = false"))
        environ = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.user), **KEYS}
        self.environment = base64.b64encode(b"\0".join(os.fsencode(f"{k}={v}") for k, v in environ.items())).decode()

    def ask(self, lane: str, verb: Verb, **more) -> Draft | Refused:
        given = {"task": "say hello", "lane": lane, "verb": verb, "cwd": str(self.cwd), "environment": self.environment}
        if lane in ("tokenrouter", "cc", "codexor"):
            given["model"] = "z-ai/glm-5.2"
        return draft(JobRequest(**{**given, **more}), self.home, LaneBook(self.home).registry())

    def agree(self) -> None:
        consents.grant(self.home, how="test", now=1.0)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("gated"))


@pytest.fixture
def agreed(machine):
    machine.agree()
    yield machine
    consents.revoke(machine.home)


LANES = [*CLOUD, "acp:gemini --acp", "mine"]


def verbs_of(machine, lane):
    found = LaneBook(machine.home).registry().get(lane)
    return [verb for verb in Verb if verb in found.verbs]


@pytest.mark.parametrize("lane", LANES)
def test_no_lane_without_consent(machine, lane):
    asked = 0
    for verb in verbs_of(machine, lane):
        found = machine.ask(lane, verb)
        assert isinstance(found, Refused), (lane, verb)
        if found.code is RefusalCode.CONSENT_NEEDED:
            asked += 1
        else:
            assert lane in NOT_READY, found
    assert asked or lane in NOT_READY
    assert entries(machine.home.jobs_dir) == []


@pytest.mark.parametrize("lane", [lane for lane in LANES if lane not in NOT_READY])
def test_no_lane_with_credentials_in_reach(agreed, lane):
    env = agreed.cwd / "deep" / "er" / ".env"
    env.parent.mkdir(parents=True, exist_ok=True)
    env.write_text("A=b\n")
    try:
        for verb in verbs_of(agreed, lane):
            found = agreed.ask(lane, verb)
            if lane == "tokenrouter":  # it has no hands: nothing but the text goes along
                assert isinstance(found, Draft)
                continue
            assert isinstance(found, Refused), (lane, verb)
            assert found.code is RefusalCode.WOULD_LEAK, found
            assert ".env" in found.message
    finally:
        env.unlink()
    secret = agreed.ask(lane, Verb.RUN, task="log in with ghp_" + "a1B2" * 9)
    assert isinstance(secret, Refused)
    assert secret.code is RefusalCode.WOULD_LEAK
    assert entries(agreed.home.jobs_dir) == []


def test_a_draft_that_did_not_pass_becomes_no_job(agreed):
    passed = agreed.ask("claude", Verb.RUN)
    assert isinstance(passed, Draft)
    with pytest.raises(PermissionError):
        create(dataclasses.replace(passed, permit=None), agreed.home, umask=0o022)
    assert entries(agreed.home.jobs_dir) == []


def test_a_dry_run_says_the_verdict_and_keeps_nothing(machine):
    request = JobRequest(task="x", lane="claude", cwd=str(machine.cwd), environment=machine.environment, cloud_ack=True)
    registry = LaneBook(machine.home).registry()
    plan = preview(request, machine.home, registry)
    assert not isinstance(plan, Refused)
    assert plan.gate_open
    assert plan.disclosure
    assert consents.read_consent(machine.home) is None
    shut = preview(request.model_copy(update={"cloud_ack": False}), machine.home, registry)
    assert not isinstance(shut, Refused)
    assert not shut.gate_open
    assert shut.gate.startswith("SHUT: the lane claude sends work to Anthropic")


def test_the_gate_is_asked_again_at_each_launch(agreed):
    found = agreed.ask("claude", Verb.RUN)
    assert isinstance(found, Draft)
    record, folder = create(found, agreed.home, umask=0o022)
    lane = builtin("claude")
    try:
        for attempt in (1, 2):
            permit = look_again(folder, Asks.job(record.model_copy(update={"attempt": attempt})), lane, agreed.home)
            assert not isinstance(permit, Refused), permit
            permit.demand(record.job_id, attempt)
        (agreed.cwd / ".env").write_text("A=b\n")
        late = look_again(folder, Asks.job(record.model_copy(update={"attempt": 3})), lane, agreed.home)
        assert isinstance(late, Refused)
        assert late.code is RefusalCode.WOULD_LEAK
        folder.file(GATE).write_text('{"folders": [], "trust_lane": "yes", "environment": 7, "scan_secs": "x"}')
        (agreed.cwd / ".env").unlink()
        assert not isinstance(look_again(folder, Asks.job(record), lane, agreed.home), Refused)
        folder.file(GATE).write_text("{damaged")
        (agreed.cwd / ".env").write_text("A=b\n")
        assert isinstance(look_again(folder, Asks.job(record), lane, agreed.home), Refused), (
            "then the strictest is assumed"
        )
        (agreed.cwd / ".env").unlink()
        consents.revoke(agreed.home)
        gone = look_again(folder, Asks.job(record), lane, agreed.home)
        assert isinstance(gone, Refused)
        assert gone.code is RefusalCode.CONSENT_NEEDED
    finally:
        (agreed.cwd / ".env").unlink(missing_ok=True)
        folder.remove()


def test_a_work_tree_of_its_own_is_searched_whole_at_the_launch(agreed, tmp_path: Path) -> None:
    found = agreed.ask("claude", Verb.EDIT)
    assert isinstance(found, Draft)
    record, folder = create(found, agreed.home, umask=0o022)
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    launched = record.model_copy(update={"attempt": 1, "worktree": str(tree), "cwd": str(tree / "sub")})
    try:
        for name in (".env", "sub/.env"):
            assert not isinstance(look_again(folder, Asks.job(launched), builtin("claude"), agreed.home), Refused)
            (tree / name).write_text("A=b\n")
            late = look_again(folder, Asks.job(launched), builtin("claude"), agreed.home)
            assert isinstance(late, Refused)
            assert (late.code, str(tree / name) in late.message) == (RefusalCode.WOULD_LEAK, True)
            (tree / name).unlink()
    finally:
        folder.remove()


@pytest.mark.parametrize("trusted", [False, True])
def test_what_came_into_the_folder_meanwhile_is_seen_at_the_launch(agreed, trusted: bool) -> None:
    found = agreed.ask("droid", Verb.RUN)
    assert isinstance(found, Draft)
    record, folder = create(found, agreed.home, umask=0o022)
    late = agreed.cwd / ".factory" / "settings.json"
    try:
        kept = folder.read_json(GATE)
        assert kept["trust_folder"] is False
        folder.write_json(GATE, kept | {"trust_folder": trusted})
        late.parent.mkdir()
        late.write_text('{"customModels": [{}]}')
        permit = look_again(folder, Asks.job(record.model_copy(update={"attempt": 1})), builtin("droid"), agreed.home)
        assert isinstance(permit, Refused) is not trusted
        if isinstance(permit, Refused):
            assert permit.code is RefusalCode.UNTRUSTED_FOLDER
    finally:
        late.unlink(missing_ok=True)
        late.parent.rmdir()
        folder.remove()


def test_trust_for_one_call_holds_at_its_launch(agreed):
    (agreed.cwd / ".env").write_text("A=b\n")
    try:
        found = agreed.ask("claude", Verb.RUN, trust_lane=True)
        assert isinstance(found, Draft)
        record, folder = create(found, agreed.home, umask=0o022)
        permit = look_again(folder, Asks.job(record.model_copy(update={"attempt": 1})), builtin("claude"), agreed.home)
        folder.remove()
        assert not isinstance(permit, Refused), permit
        assert "NOT searched" in permit.words
    finally:
        (agreed.cwd / ".env").unlink()
