"""What a grant becomes on each road, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.claude import LANE as CLAUDE
from outsourcerer.lanes.contract import Host, Launch, Road, Task
from outsourcerer.lanes.grants import Caps, Granted, Server, Skill, SkillFile, grant
from outsourcerer.lanes.local import LANE as LOCAL
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Verb

ENTRY = b"---\nname: tidy\ndescription: Keeps things tidy.\n---\nSweep first.\n"
TIDY = Skill("tidy", (SkillFile("SKILL.md", ENTRY), SkillFile("scripts/run.sh", b"#!/bin/sh\n", executable=True)))
SERVER = Server("x", {"command": "/bin/x", "env": {"KEY": "sk-1"}})
PLACE = "@PLACE@"


def granted(*skills: Skill, servers: tuple[Server, ...] = (), lane=CLAUDE, **caps: int) -> Granted:
    made = grant(skills, servers, lane, Caps(**caps), PLACE)
    assert isinstance(made, Granted), made
    return made


def refused(*skills: Skill, servers: tuple[Server, ...] = (), lane=CLAUDE, **caps: int) -> Refused:
    made = grant(skills, servers, lane, Caps(**caps), PLACE)
    assert isinstance(made, Refused)
    assert made.code is RefusalCode.BAD_GRANT
    return made


def test_nothing_asked_is_nothing_given() -> None:
    assert granted() == Granted(place=PLACE)


def test_a_bundle_is_files_and_a_list_of_paths() -> None:
    made = granted(TIDY)
    assert {file.name: (file.content, file.executable) for file in made.files} == {
        "skills/tidy/SKILL.md": (ENTRY, False),
        "skills/tidy/scripts/run.sh": (b"#!/bin/sh\n", True),
    }
    assert "- tidy: @PLACE@/skills/tidy/SKILL.md (Keeps things tidy.)" in made.prompt
    assert "Sweep" not in made.prompt
    assert "tidy" in made.notices[0]


def test_text_is_the_files_themselves() -> None:
    made = granted(TIDY, lane=LOCAL)
    assert made.files == ()
    assert made.prompt.index("tidy/SKILL.md") < made.prompt.index("tidy/scripts/run.sh")
    assert "Sweep first." in made.prompt


def test_servers_are_one_strict_file_that_shows_no_key() -> None:
    made = granted(servers=(SERVER,))
    (file,) = made.files
    assert (file.name, made.servers) == ("mcp.json", ("x",))
    assert json.loads(file.content) == {"mcpServers": {"x": SERVER.config}}
    assert "sk-1" not in repr(made)
    assert "sk-1" not in repr(SERVER)


@pytest.mark.parametrize("verb", [Verb.RUN, Verb.EDIT])
def test_claude_gets_the_granted_servers_and_no_other(verb: Verb) -> None:
    task = Task(verb=verb, prompt="p", cwd="/w", servers=("x",))
    launch = CLAUDE.plan(task, Host(environment={}, executables={"claude": "/bin/claude"}))
    assert isinstance(launch, Launch)
    assert launch.argv[launch.argv.index("--mcp-config") + 1] == "{job}/mcp.json"
    assert "--strict-mcp-config" in launch.argv
    assert launch.argv[launch.argv.index("--allowedTools") + 1].endswith(",mcp__x")


def test_a_grant_joins_servers_that_are_let_in_anyway() -> None:
    host = Host(environment={"OSRC_CLAUDE_USER_CONFIG": "1"}, executables={"claude": "/bin/claude"})
    asked = CLAUDE.plan(Task(verb=Verb.RUN, prompt="p", cwd="/w", servers=("x",)), host)
    assert isinstance(asked, Launch)
    assert "--strict-mcp-config" not in asked.argv
    assert "{job}/mcp.json" in asked.argv


def test_what_can_not_be_honoured_is_refused() -> None:
    assert "MCP" in refused(servers=(SERVER,), lane=LOCAL).message
    assert "no road" in refused(TIDY, lane=replace(LOCAL, skills=Road.NONE)).message
    assert "OSRC_BUNDLE_MAX_BYTES" in (refused(TIDY, bundle=10).hint or "")
    assert "OSRC_WITH_MAX_BYTES" in (refused(TIDY, listing=10).hint or "")
    assert "OSRC_WITH_TEXT_MAX_BYTES" in (refused(TIDY, lane=LOCAL, text=10).hint or "")
    binary = Skill("b", (SkillFile("SKILL.md", ENTRY), SkillFile("a.png", b"\x89PNG\0")))
    assert "a.png" in refused(binary, lane=LOCAL).message
    assert granted(binary).files
    assert "SKILL.md" in refused(Skill("e", ())).message


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/./b", "a\nb", "a\x1b[0m", ""])
def test_a_file_name_that_leads_elsewhere_is_refused(path: str) -> None:
    refused(Skill("s", (SkillFile("SKILL.md", ENTRY), SkillFile(path, b""))))


@given(st.binary(max_size=200))
def test_no_front_matter_raises(content: bytes) -> None:
    granted(Skill("s", (SkillFile("SKILL.md", content),)))


@pytest.mark.parametrize("name", names())
def test_every_lane_that_takes_servers_heeds_them(name: str) -> None:
    lane = builtin(name)
    assert isinstance(lane.skills, Road)
    assert not lane.mcp or name in ("acp", "cc", "claude", "claudex", "copilot", "droid")
