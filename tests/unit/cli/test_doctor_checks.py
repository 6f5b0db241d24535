"""What ``osrc doctor`` sees beside lanes: other copies, keys, proxies, choices, parity, and what was left behind."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed
from fakes.state import record, scratch_home
from outsourcerer import __version__
from outsourcerer.cli.checks import installation
from outsourcerer.cli.checks.choices import agreed, limits, parity
from outsourcerer.cli.checks.installation import install
from outsourcerer.cli.checks.leftovers import leftovers
from outsourcerer.cli.checks.surroundings import images, keys, network, sockets
from outsourcerer.messages.facts import JobAccepted, LaneDown
from outsourcerer.messages.job import Identity
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.identity import identify
from outsourcerer.state.store import Store


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scratch user with an empty PATH and none of the caller's settings."""
    for name in list(os.environ):
        if name.startswith(("OSRC_", "XDG_", "CODEX_", "CLAUDE_", "FACTORY_")) or name.upper().endswith(
            ("_PROXY", "_KEY", "CERTS", "CERT_FILE", "BUNDLE")
        ):
            monkeypatch.delenv(name)
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "")
    return folder


def said(check, home) -> list[tuple[str, str]]:
    return [(one.level, one.text) for one in check(home)]


def program(folder: Path) -> Path:
    folder.mkdir()
    (folder / "osrc").write_text("#!/bin/sh\n")
    (folder / "osrc").chmod(0o755)
    return folder


def test_several_copies_are_named(person, tmp_path, monkeypatch):
    one, other = program(tmp_path / "a"), program(tmp_path / "b")
    (tmp_path / "c").symlink_to(one)
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (one, tmp_path / "c", other))))
    assert ("warn", f"2 programs are called osrc: {one}/osrc is taken, {other}/osrc is not") in said(install, None)


@pytest.mark.parametrize(
    ("versions", "level", "words"),
    [
        (["0.0.1", "0.0.9"], "warn", "the Claude Code plugin is of version 0.0.9"),
        ([__version__, "0.0.9"], "ok", "of the same version"),
        (["broken"], None, ""),
    ],
)
def test_a_plugin_of_another_version(person, versions, level, words):
    for version in versions:
        place = person / ".claude/plugins/cache/market/outsourcerer" / version / ".claude-plugin"
        place.mkdir(parents=True)
        text = "{" if version == "broken" else json.dumps({"version": version})
        (place / "plugin.json").write_text(text)
    found = [(one, text) for one, text in said(install, None) if "plugin" in text]
    assert [(one, words in text) for one, text in found] == ([(level, True)] if level else [])


def test_what_a_server_for_hosts_needs_is_said(person, monkeypatch):
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "mcp", None)
        found = next(one for one in install(person) if "package mcp" in one.text)
    assert (found.level, found.fix) == ("note", f"{shlex.quote(sys.executable)} -m pip install 'mcp>=2.2,<3'")
    assert not [one for one in install(person) if "package mcp" in one.text]


def test_an_installation_that_says_another_version(person, monkeypatch):
    monkeypatch.setattr(installation, "_metadata", lambda: "0.0.0")
    assert any(level == "warn" and "says version 0.0.0" in text for level, text in said(install, None))


def test_keys_by_name_and_never_by_value(person, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-hunter2")
    (person / ".env").write_text("GEMINI_API_KEY=hunter3\n")
    text = str([*keys(None), *images(None)])
    assert "OPENROUTER_API_KEY is set in the environment" in text
    assert "GEMINI_API_KEY is set in ~/.env" in text
    assert "the Gemini API, OpenRouter" in text
    assert "hunter" not in text


@pytest.mark.parametrize(
    ("environ", "level", "words"),
    [
        ({}, "ok", "no proxy"),
        ({"HTTPS_PROXY": "http://ada:hunter2@proxy:3128"}, "note", "HTTPS_PROXY is proxy:3128"),
        ({"https_proxy": "proxy:3128"}, "warn", "NO_PROXY does not name"),
        ({"https_proxy": "proxy:3128"}, "note", "if the proxy opens TLS"),
        ({"ALL_PROXY": "http://[", "NO_PROXY": "*"}, "note", "is no address"),
        ({"SSL_CERT_FILE": "/nowhere/ca.pem"}, "warn", "can't be read"),
    ],
)
def test_proxies_and_certificates(person, monkeypatch, environ, level, words):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    found = said(network, None)
    assert any(one == level and words in text for one, text in found), found
    assert "hunter2" not in str(found)


def test_a_proxy_that_spares_this_machine_is_fine(person, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "localhost, 127.0.0.1,.corp")
    assert not [text for level, text in said(network, None) if level == "warn"]


def test_by_what_the_supervisor_is_reached(person, tmp_path, monkeypatch):
    home = scratch_home(tmp_path)
    assert [level for level, _ in said(sockets, home)] == ["ok"]
    person.chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(person))
    assert [level for level, _ in said(sockets, home)] == ["note"]
    monkeypatch.setenv("OSRC_LOOPBACK", "1")
    assert [level for level, _ in said(sockets, home)] == ["ok"]
    (home.root / "supervisor.token").write_text("x")
    (home.root / "supervisor.token").chmod(0o644)
    assert [level for level, _ in said(sockets, home)] == ["warn"]


def test_choices_that_were_made_and_that_were_not(person, tmp_path):
    home = scratch_home(tmp_path)
    assert [level for level, _ in said(agreed, home)] == ["note", "note"]
    (home.root / "mode").write_text("what\n")
    trusted = person / ".config" / "outsourcerer" / "trusted-lanes.json"
    trusted.parent.mkdir(parents=True)
    trusted.write_text("[]")
    assert [level for level, _ in said(agreed, home)] == ["note", "warn", "warn"]


def tell(home, *facts) -> None:
    store = Store.open(home.database, now=time.time())
    store.append(facts, time.time())
    store.commit()
    store.close()


def test_a_lane_that_is_down(person, tmp_path):
    home = scratch_home(tmp_path)
    assert said(limits, home)[0][0] == "note"
    down = LaneDown(key="pool:claude", lane="claude", until=time.time() + 3600, reason="spent", evidence="confirmed")
    tell(home, down)
    assert any("claude is down" in text for _, text in said(limits, home))


def test_a_process_of_a_job_that_ended_is_found_by_its_identity(person, tmp_path):
    home = scratch_home(tmp_path)
    me = Identity.model_validate(identify(os.getpid()))
    ended = {"state": JobState.DONE, "delegate": me, "worktree": str(tmp_path)}
    just = record(1).model_copy(update={**ended, "ended": time.time()})
    long_ago = record(2).model_copy(update={**ended, "ended": time.time() - 3600})
    reused = record(3).model_copy(
        update={**ended, "ended": 1.0, "delegate": me.model_copy(update={"started": me.started - 5000})}
    )
    tell(home, *(JobAccepted(job_id=one.job_id, record=one) for one in (just, long_ago, reused)))
    found = [text for level, text in said(leftovers, home) if "still runs" in text]
    assert found == [f"job {long_ago.job_id} has ended, and process {os.getpid()} of it still runs"]
    assert any("work trees of ended jobs" in text for _, text in said(leftovers, home))


def test_a_work_tree_of_no_job(person, tmp_path):
    home = scratch_home(tmp_path)
    trees = tmp_path / "repo" / ".outsourcerer" / "worktrees"
    (trees / "20260101-000000-000000000000").mkdir(parents=True)
    known = record(2).model_copy(update={"state": JobState.DONE, "ended": 1.0, "worktree": str(trees / "gone")})
    tell(home, JobAccepted(job_id=known.job_id, record=known))
    assert any(level == "warn" and "of a job that is not known" in text for level, text in said(leftovers, home))


def test_fix_mends_what_it_can_and_says_what(person, tmp_path):
    home = scratch_home(tmp_path)
    skill = person / ".claude" / "skills" / "mine"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("# mine")
    (person / ".factory").mkdir()
    where = {"HOME": str(person), "PATH": "/nowhere"}
    assert osrc(home.root, "parity", **where).returncode == 0
    (person / ".factory" / "skills" / "mine").unlink()
    home.spool_dir.mkdir(mode=0o700, exist_ok=True)
    (home.spool_dir / "old").write_text("task")
    os.utime(home.spool_dir / "old", (1.0, 1.0))
    sick = parsed(osrc(home.root, "doctor", "--json", **where))
    assert {row["section"] for row in sick["findings"] if row["level"] == "warn"} >= {"parity"}
    done = osrc(home.root, "doctor", "--fix", "--json", **where)
    assert b"parity with droid was repaired" in done.stderr
    assert b"1 tasks that were never taken were removed" in done.stderr
    assert ("ok", "droid: has what it was given") in [(row["level"], row["text"]) for row in parsed(done)["findings"]]
    assert (person / ".factory" / "skills" / "mine").is_symlink()
    assert not (home.spool_dir / "old").exists()
    assert [level for level, _ in said(parity, home)] == ["ok"]
