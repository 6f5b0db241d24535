"""What the shell is offered: what is alive in the state home, and nothing where that can't be read."""

from pathlib import Path

import click
import pytest
from fakes.state import GROUP, NOW, job_id, scratch_home
from outsourcerer.cli.app import cli
from outsourcerer.cli.completing import complete
from outsourcerer.cli.options import Globals, Live
from outsourcerer.cli.table import COMMANDS
from outsourcerer.messages.group import FanoutAccepted, GroupMember, GroupRecord
from outsourcerer.messages.loop import LoopAccepted, LoopRecord
from outsourcerer.messages.session import SessionAccepted, SessionRecord
from outsourcerer.state.store import Store

LOOP = "loop-20261130-124501-000000000001"
SESSION = "20261130-124501-000000000001"


@pytest.fixture
def context(tmp_path):
    home = scratch_home(tmp_path)
    members = (GroupMember(job_id=job_id(1), label="m", lane="claude"),)
    group = GroupRecord(group_id=GROUP, label="nightly", verb="run", cwd="/w", most=2, members=members, accepted_at=NOW)
    session = SessionRecord(
        session_id=SESSION, name="fix", lane="claude", vehicle="claude", transport="native", cwd="/w", accepted_at=NOW
    )
    store = Store.open(home.database, now=NOW)
    store.append([FanoutAccepted(group_id=GROUP, record=group)], NOW)
    loop = LoopRecord(
        loop_id=LOOP, terms={"shape": "sweep"}, limits={}, verb="run", cwd="/w", accepted_at=NOW, segment_began=NOW
    )
    store.append([LoopAccepted(loop_id=LOOP, record=loop)], NOW)
    store.append([SessionAccepted(session_id=SESSION, record=session)], NOW)
    store.commit()
    store.close()
    (home.root / "models.local").write_text("fastest|z-ai/glm-5.3-air|cc|budget\n")
    made = click.Context(cli)
    made.ensure_object(Globals).home = str(home.root)
    return made


@pytest.mark.parametrize(
    ("kind", "begin", "expected"),
    [
        ("group", "", [GROUP, "nightly"]),
        ("group", "night", ["nightly"]),
        ("loop", "loop-", [LOOP]),
        ("session", "f", ["fix"]),
        ("session", "g", []),
        ("model", "fast", ["fastest"]),
        ("lane", "opencode", ["opencode"]),
        ("host", "c", ["codex", "cursor", "copilot", "cline"]),
        ("host", "a", ["antigravity", "all"]),
        ("setting", "max_j", ["max_jobs"]),
        ("verb", "e", ["explore", "edit"]),
        ("topic", "ex", ["explore", "explain", "exit-codes"]),
        ("nothing-of-the-kind", "", []),
    ],
)
def test_what_there_is(context, kind, begin, expected):
    assert complete(kind, context, begin) == expected


def test_a_damaged_home_completes_nothing(context):
    Path(context.obj.home, "state.db").write_bytes(b"no database")
    assert [complete(kind, context, "") for kind in ("group", "session", "job")] == [[], [], []]


def test_every_value_that_the_shell_could_complete_is_completed():
    """By what it stands for in the help, so that a new command has it without a thought."""
    kinds = {}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        for parameter in command.params:
            if isinstance(parameter.type, Live):
                kinds.setdefault(parameter.type.kind, set()).add(name)
    assert {"run", "edit", "bg"} <= kinds["lane"] & kinds["model"]
    assert "import" in kinds["dir"]
    assert "parity" in kinds["host"]
    assert (kinds["verb"], kinds["topic"]) == ({"bg"}, {"help"})
    assert set(COMMANDS) == kinds["lane"]  # --provider is everywhere
