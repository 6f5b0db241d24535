"""The gate's rules: what passes, what does not, and that nobody makes a permit but the gate."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import pytest
from fakes.state import scratch_home
from outsourcerer.actors.gate import Dispatch, Passed, Scope, Senses, pass_gate, pass_rehearsal
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Verb
from outsourcerer.state import consent as consents
from outsourcerer.state.lane_posture import remember
from outsourcerer.state.settings import Settings

TOKEN = "ghp_" + "a1B2" * 9


def result(*found, complete=True, why=None, files=3):
    return SimpleNamespace(
        found=tuple(SimpleNamespace(path=path, kind=kind) for path, kind in found),
        complete=complete,
        why=why,
        files=files,
    )


class World:
    """One person's machine; ``ask`` sends something to the gate."""

    def __init__(self, folder) -> None:
        folder.chmod(0o700)
        self.home = scratch_home(folder)
        self.user = folder / "user"
        self.cwd = folder / "work"
        for place in (self.user, self.cwd):
            place.mkdir(mode=0o700)
        self.environment = {"HOME": str(self.user)}
        self.seen = result()
        self.scans = []

    def scan(self, roots, **terms):
        self.scans.append((tuple(roots), terms))
        return self.seen

    def ask(self, name="claude", text="say hello", environment=None, **more):
        environ = {**self.environment, **(environment or {})}
        given = {
            "subject": "job",
            "attempt": 1,
            "lane": builtin(name),
            "verb": Verb.RUN,
            "model": None,
            "scope": Scope(folders=(str(self.cwd),), texts=(text,)),
            "cwd": str(self.cwd),
            "home": self.home,
            "environment": environ,
            "settings": Settings.load(environ),
            **more,
        }
        return pass_gate(Dispatch(**given), Senses(scan=self.scan, wall=lambda: 1_800_000_000.0))

    def agree(self) -> None:
        consents.grant(self.home, how="osrc consent grant", now=1_800_000_000.0)

    def trust(self, value) -> None:
        folder = self.user / ".config" / "outsourcerer"
        folder.mkdir(parents=True, mode=0o700)
        (folder / "trusted-lanes.json").write_text(json.dumps(value))
        (folder / "trusted-lanes.json").chmod(0o600)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def refused(found, code, *words) -> Refused:
    assert isinstance(found, Refused), found.words
    assert found.code is code, found
    for word in words:
        assert word in f"{found.message} {found.hint}", found
    return found


# --- permits


def test_nobody_else_makes_a_permit():
    with pytest.raises(TypeError):
        Passed(object(), subject="job", attempt=1, cloud=False, words="")


def test_a_permit_is_for_one_launch(world):
    world.agree()
    permit = world.ask(subject="job-1", attempt=2)
    permit.demand("job-1", 2)
    for subject, attempt in (("job-1", 1), ("job-1", 3), ("job-2", 2)):
        with pytest.raises(PermissionError):
            permit.demand(subject, attempt)
    assert not world.ask(subject="job-1", attempt=0).allows("job-1", 0), "a look is no launch"
    with pytest.raises(AttributeError):
        permit.extra = 1


def test_a_rehearsal_is_one_only_on_this_machine(tmp_path):
    own = {"HOME": f"{tmp_path}/home", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    assert isinstance(pass_rehearsal("r", own, str(tmp_path)), Passed)
    refused(pass_rehearsal("r", {**own, "X": "https://evil.example"}, str(tmp_path)), RefusalCode.DENIED, "X names")
    refused(pass_rehearsal("r", {**own, "HOME": "/root"}, str(tmp_path)), RefusalCode.DENIED, "home")


# --- local


@pytest.mark.parametrize("name", ["local", "embedded"])
def test_what_stays_here_passes_unseen(world, name):
    passed = world.ask(name, text=TOKEN, environment={"OSRC_CLOUD_ACK": "0"})
    assert isinstance(passed, Passed)
    assert not passed.cloud
    assert passed.disclosure == ()
    assert world.scans == []


def test_local_on_another_machine_does_not(world):
    refused(world.ask("local", server="http://10.0.0.7:11434/v1"), RefusalCode.CONSENT_NEEDED, "10.0.0.7:11434")


# --- consent


def test_nothing_leaves_before_somebody_agreed(world):
    refused(world.ask(), RefusalCode.CONSENT_NEEDED, "claude", "Anthropic", "osrc consent grant", "--cloud-ack")
    world.agree()
    passed = world.ask()
    assert isinstance(passed, Passed)
    assert passed.cloud
    assert "consent of " in passed.words


@pytest.mark.parametrize(
    ("more", "how"),
    [({"cloud_ack": True}, "--cloud-ack"), ({"environment": {"OSRC_CLOUD_ACK": "1"}}, "environment OSRC_CLOUD_ACK")],
)
def test_an_agreement_with_the_call_is_kept_with_how(world, more, how):
    assert isinstance(world.ask(**more, keep=False), Passed)
    assert consents.read_consent(world.home) is None, "a look keeps nothing"
    assert isinstance(world.ask(**more), Passed)
    kept = consents.read_consent(world.home)
    assert kept is not None
    assert kept.how == how
    assert isinstance(world.ask(), Passed), "once, ever"


def test_no_for_this_call_outranks_everything(world):
    world.agree()
    found = world.ask(environment={"OSRC_CLOUD_ACK": "0"}, cloud_ack=True)
    refused(found, RefusalCode.DENIED, "refused here", "environment OSRC_CLOUD_ACK")


def test_a_delegate_agrees_to_nothing_and_trusts_nobody(world):
    deep = {"OUTSOURCERER_DEPTH": "1", "OUTSOURCERER_MAX_DEPTH": "2"}
    refused(world.ask(environment=deep, cloud_ack=True), RefusalCode.CONSENT_NEEDED)
    refused(world.ask(environment={**deep, "OSRC_CLOUD_ACK": "1"}), RefusalCode.CONSENT_NEEDED)
    world.agree()
    world.seen = result(("/w/.env", "environment file"))
    refused(world.ask(environment=deep, trust_lane=True), RefusalCode.WOULD_LEAK)


def test_consent_that_is_not_believed_is_none_and_said(world):
    consents.consent_file(world.home).write_text("yes")
    refused(world.ask(), RefusalCode.CONSENT_NEEDED, "not taken for consent")


@pytest.mark.parametrize("depth", ["1", "-1", "²", "x", "1" * 9])
def test_how_deep(world, depth):
    world.agree()
    refused(world.ask(environment={"OUTSOURCERER_DEPTH": depth}), RefusalCode.RECURSION)


# --- files


def test_credentials_in_the_folder_keep_the_work_here(world):
    world.agree()
    world.seen = result(*((f"/w/{n}/.env\x1b[31m\n", "environment file") for n in range(5)))
    found = refused(
        world.ask(),
        RefusalCode.WOULD_LEAK,
        "/w/0/.env",
        "(environment file)",
        "and 2 more",
        "--trust-lane claude",
        "--lane local",
    )
    assert "\x1b" not in found.message
    assert "\n" not in found.message
    assert world.scans[0][0] == (str(world.cwd),)


def test_a_search_that_does_not_end_refuses(world):
    world.agree()
    world.seen = result(complete=False, why="it took longer than 2 s")
    refused(world.ask(), RefusalCode.WOULD_LEAK, "could not be finished", "longer than 2 s", "OSRC_SECRET_SCAN_SECS")


def test_how_long_it_may_take_is_a_setting(world):
    world.agree()
    world.ask(environment={"OSRC_SECRET_SCAN_SECS": "7"})
    assert world.scans[0][1]["deadline_s"] == 7


def test_trust_for_this_call(world):
    world.agree()
    world.seen = result(("/w/.env", "environment file"))
    passed = world.ask(trust_lane=True)
    assert isinstance(passed, Passed)
    assert "files were NOT searched: --trust-lane claude was given" in passed.words
    assert passed.words in " ".join(passed.disclosure) or "NOT searched" in " ".join(passed.disclosure)
    refused(world.ask(trust_lane=True, text=TOKEN), RefusalCode.WOULD_LEAK, "secret value")


@pytest.mark.parametrize("word", ["claude", "ccnative"])
def test_a_trusted_lane_stands_the_search_down_and_nothing_else(world, word):
    world.trust({word: [str(world.cwd)]})
    world.seen = result(("/w/.env", "environment file"))
    refused(world.ask(), RefusalCode.CONSENT_NEEDED)
    world.agree()
    passed = world.ask()
    assert isinstance(passed, Passed)
    assert "NOT searched: claude is trusted here by" in passed.words
    refused(world.ask("codex"), RefusalCode.WOULD_LEAK)
    refused(world.ask(text=TOKEN), RefusalCode.WOULD_LEAK)
    refused(world.ask(environment={"OSRC_CLOUD_ACK": "0"}), RefusalCode.DENIED)


def test_trust_that_is_not_believed_is_said(world):
    world.agree()
    world.trust({"claude": "everything"})
    world.seen = result(("/w/.env", "environment file"))
    refused(world.ask(), RefusalCode.WOULD_LEAK, "trusted-lanes.json is not used")
    world.seen = result()
    passed = world.ask()
    assert isinstance(passed, Passed)
    assert "trusted-lanes.json is not used" in passed.words


@pytest.mark.parametrize("name", ["OSRC_TRUST_LANE", "OSRC_TRUST_LANE_ONCE", "OUTSOURCERER_TRUST_LANE", "OSRC_TRUSTED"])
def test_no_variable_gives_trust(world, name):
    world.agree()
    world.seen = result(("/w/.env", "environment file"))
    refused(world.ask(environment={name: "claude"}), RefusalCode.WOULD_LEAK)


def test_who_has_no_hands_reads_no_folder(world):
    world.agree()
    passed = world.ask("tokenrouter", scope=Scope(texts=("hello",)))
    assert isinstance(passed, Passed)
    assert world.scans == []
    assert "the text it is given, and nothing else" in " ".join(passed.disclosure)


def test_files_put_beside_it_are_looked_at_too(world):
    world.agree()
    scope = Scope(folders=(str(world.cwd),), texts=("x",), files=(("skills/s/.env", b"A=b"),))
    refused(world.ask(scope=scope), RefusalCode.WOULD_LEAK, "skills/s/.env")
    refused(
        world.ask(scope=dataclasses.replace(scope, files=(("skills/s/a.md", TOKEN.encode()),))), RefusalCode.WOULD_LEAK
    )


# --- words


def test_a_secret_in_the_text_stays_here_and_is_not_shown(world):
    world.agree()
    found = refused(
        world.ask(text=f"use {TOKEN} to push"), RefusalCode.WOULD_LEAK, "1 secret value", "OSRC_SECRET_ALLOW_VALUE=1"
    )
    assert TOKEN not in repr(found)
    passed = world.ask(text=f"use {TOKEN} to push", environment={"OSRC_SECRET_ALLOW_VALUE": "1"})
    assert isinstance(passed, Passed)
    assert "ALLOWED by environment OSRC_SECRET_ALLOW_VALUE" in passed.words
    assert TOKEN not in repr((passed.words, passed.disclosure))


def test_a_dispatch_does_not_show_what_it_carries(world):
    scope = Scope(texts=(TOKEN,), files=(("a", TOKEN.encode()),))
    assert TOKEN not in repr(scope)


# --- other walls


@pytest.mark.parametrize("verb", list(Verb))
@pytest.mark.parametrize("place", [".claude", ".codex/x", ".config/app", "state"])
def test_protected_folders(world, verb, place):
    world.agree()
    cwd = world.home.root if place == "state" else world.user / place
    cwd.mkdir(parents=True, exist_ok=True)
    for name in ("claude", "local"):
        found = world.ask(name, verb=verb, cwd=str(cwd))
        if verb.read_only:
            assert isinstance(found, Passed)
        else:
            refused(found, RefusalCode.PROTECTED_PATH, "no job may change")


def test_a_protected_folder_of_one_s_own(world):
    world.agree()
    mine = {"OSRC_PROTECTED_PATHS": str(world.cwd)}
    refused(world.ask(verb=Verb.EDIT, environment=mine), RefusalCode.PROTECTED_PATH)
    assert isinstance(world.ask(verb=Verb.EDIT), Passed)


def test_what_an_organisation_forbids_is_not_asked_again(world):
    world.agree()
    assert isinstance(world.ask("devin", verb=Verb.RESEARCH), Passed)
    remember(world.home, "devin")
    refused(world.ask("devin", verb=Verb.RESEARCH), RefusalCode.DENIED, "osrc posture reset")
    assert isinstance(world.ask("devin"), Passed)
    remember(world.home, "codex")
    assert isinstance(world.ask("codex", verb=Verb.RESEARCH), Passed), "only where others may forbid it"


# --- what is told


def test_what_a_person_is_told(world):
    world.agree()
    (world.user / ".claude").mkdir()
    (world.user / ".claude" / "CLAUDE.md").write_text("rules")
    passed = world.ask(verb=Verb.EDIT, model="anthropic/claude:free")
    assert isinstance(passed, Passed)
    words = "\n".join(passed.disclosure)
    assert words.startswith("cloud: claude (claude, anthropic/claude:free) sends to Anthropic\n"), words
    for word in (
        f"works in {world.cwd}",
        "changed in place",
        "~/.claude/CLAUDE.md (look into them: less ~/.claude/CLAUDE.md)",
        "MAY be used for training",
        "3 files searched, no credential file",
        "no secret in the text",
        "consent of",
    ):
        assert word in words, words
    assert "changed in place" not in "\n".join(world.ask().disclosure)


def test_a_work_tree_of_its_own_is_said_to_be_what_is_changed(world):
    world.agree()
    words = "\n".join(world.ask(verb=Verb.EDIT, tree="/srv/tree").disclosure)
    assert "works in /srv/tree; files are changed in that work tree of its own" in words
