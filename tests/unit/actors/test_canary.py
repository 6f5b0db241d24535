"""What the canary says of a program that stayed, lost an option, or is another version."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed
from fakes.programs import write_program
from outsourcerer.actors import canary
from outsourcerer.actors.canary import Sighting, look
from outsourcerer.actors.rehearsal import Rehearsal
from outsourcerer.actors.scripted_mishaps import Mishap
from outsourcerer.lanes.acp.lane import lane_of
from outsourcerer.lanes.contract import Host, Lane
from outsourcerer.lanes.option_words import used
from outsourcerer.lanes.registry import builtin
from outsourcerer.state.settings import Settings

CODEX = builtin("codex")
TESTED = CODEX.tested_versions[-1]
OPTIONS = used(CODEX, Host(environment={}, executables={"codex": "/opt/codex"}))[("exec",)]


def a_codex(folder: Path, *, version: str = f"codex-cli {TESTED}", lost: str = "", broken: str = "") -> dict[str, str]:
    """A program that answers ``--version`` and ``exec --help``, and anything else with exit code 9."""
    folder.mkdir(exist_ok=True)
    lines = "\n".join(f"  {option}" for option in sorted(OPTIONS - {lost}))
    (folder / "codex").write_text(
        "#!/bin/sh\n"
        f'[ "$*" = --version ] && {{ echo "{version}"; exit 0; }}\n{broken}\n'
        f'[ "$*" = "exec --help" ] && {{ cat <<-END\n{lines}\nEND\nexit 0; }}\nexit 9\n'
    )
    (folder / "codex").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder)}


def seen(environ: dict[str, str], lane: str = "codex") -> Sighting:
    return look(builtin(lane), environ, Settings.load({}, None))


def test_the_tested_version_with_all_of_its_options(tmp_path: Path) -> None:
    found = seen(a_codex(tmp_path / "bin"))
    assert (found.verdict, found.version, found.options, found.gone) == ("same", TESTED, len(OPTIONS), ())
    assert found.notes == ()


def test_an_option_that_is_gone_is_named_with_its_command(tmp_path: Path) -> None:
    found = seen(a_codex(tmp_path / "bin", lost="--json"))
    assert (found.verdict, found.gone) == ("changed", ("exec --json",))


@pytest.mark.parametrize(("version", "order"), [("999.0.0", "newer than"), ("0.1.0", "older than")])
def test_another_version_is_said_to_be_one(tmp_path: Path, version: str, order: str) -> None:
    found = seen(a_codex(tmp_path / "bin", version=version))
    assert (found.verdict, found.version) == ("untested", version)
    assert found.notes == (f"{version} is {order} {TESTED}, which was tested",)


def test_a_version_told_on_stderr_counts(tmp_path: Path) -> None:
    found = seen(a_codex(tmp_path / "bin", version=f'{TESTED}" >&2; : "'))
    assert (found.verdict, found.version) == ("same", TESTED)


def test_a_program_without_help_was_not_looked_at(tmp_path: Path) -> None:
    found = seen(a_codex(tmp_path / "bin", broken="exit 3"))
    assert (found.verdict, found.options) == ("unchecked", 0)
    assert found.notes == ("codex exec --help told nothing (exit 3)",)


@pytest.mark.parametrize("name", ["devin", "cursor", "hermes", "warp", "acp:agent --acp --quiet"])
def test_of_one_that_nobody_could_try_every_option_is_looked_up(tmp_path: Path, name: str) -> None:
    lane = lane_of(name.removeprefix("acp:")) if name.startswith("acp:") else builtin(name)
    assert isinstance(lane, Lane)
    assert lane.binary is not None
    options = used(lane, Host(environment={}, executables={lane.binary: f"/opt/{lane.binary}"}))
    ((command, words),) = options.items()
    lost, *others = sorted(words)
    asked = " ".join((*command, "--help"))
    write_program(
        tmp_path / lane.binary,
        f"import sys\nwords = ' '.join(sys.argv[1:])\n"
        f"print('1.2.3' if words == '--version' else {others!r} if words == {asked!r} else '')\n",
    )
    found = look(lane, {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}, Settings.load({}, None))
    assert (found.verdict, found.version, found.options) == ("changed", "1.2.3", len(words)), found
    assert found.gone == (" ".join((*command, lost)),)
    assert found.notes[0].startswith("no version of it was ever tested: ")


def test_what_is_not_there_and_what_has_no_program() -> None:
    nowhere = {"PATH": "/nowhere", "HOME": "/nowhere"}
    absent = seen(nowhere)
    assert absent.verdict == "absent"
    assert "fix: " in absent.notes[-1]
    assert seen(nowhere, "tokenrouter").verdict == "unchecked"


def test_the_command_says_it_and_exits_by_it(tmp_path: Path) -> None:
    home = tmp_path / "osrc"
    good, bad = a_codex(tmp_path / "good"), a_codex(tmp_path / "bad", lost="-s")
    done = osrc(home, "canary", "--json", **good)
    assert done.returncode == 0, done.stderr
    rows = {row["lane"]: row for row in parsed(done)["lanes"]}
    assert set(rows) == {"codex", "codexor"}
    assert rows["codex"]["verdict"] == "same"
    done = osrc(home, "canary", "codex", **bad)
    assert done.returncode == 1
    assert b"gone: exec -s" in done.stdout
    assert osrc(home, "canary", "claude", **good).returncode == 1
    assert parsed(osrc(home, "canary", "--json", "nosuch", **good))["error"]["code"] == "unknown_lane"


@pytest.mark.parametrize(
    ("spent", "verdict"), [(True, "same"), (None, "silent"), (False, "broken")], ids=["told", "silent", "misread"]
)
def test_a_program_that_tries_on_without_a_word_is_silent_not_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spent: bool | None, verdict: str
) -> None:
    def rehearse(_lane: Lane, _environment: Mapping[str, str], mishap: Mishap | None = None) -> Rehearsal:
        return Rehearsal(ok=spent if mishap is Mishap.SPENT_PLAN else True)

    monkeypatch.setattr(canary, "rehearse", rehearse)
    environ = a_codex(tmp_path)
    found = look(CODEX, environ, Settings.load(environ, None), turn=True, errors=True)
    assert (found.verdict, found.mishaps["spent-plan"]) == (verdict, spent)
