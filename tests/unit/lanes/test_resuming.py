"""Which lanes take up a conversation by its id, and how their commands say it."""

from __future__ import annotations

import pytest
from outsourcerer.lanes.contract import Host, Launch, Task
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages.refusals import Refused
from outsourcerer.messages.vocabulary import Verb

ID = "0198c0de-0000-7000-8000-000000000001"
PROGRAMS = {lane.binary: f"/opt/{lane.binary}" for lane in map(builtin, names()) if lane.binary}
WORDS = {
    "claude": ("-r", ID),
    "cc": ("-r", ID),
    "codex": ("resume", ID),
    "codexor": ("resume", ID),
    "gemini": ("-r", ID),
    "qwen": ("-r", ID),
    "opencode": ("-s", ID),
    "copilot": (f"--resume={ID}",),
    "pi": ("--session", ID),
}


def host(**programs: str | None) -> Host:
    return Host(
        environment={}, executables={**PROGRAMS, "agy": None, **programs}, secrets={"OPENROUTER_API_KEY": "sk-or-1234"}
    )


def task(verb: Verb = Verb.RUN, conversation: str | None = ID) -> Task:
    return Task(verb=verb, prompt="go on", cwd="/", model=None, conversation=conversation)


def test_the_lanes_that_can_are_these_and_every_other_says_why() -> None:
    assert {name for name in names() if builtin(name).resume} == set(WORDS)
    assert all(len(builtin(name).no_resume) > 10 for name in names())


@pytest.mark.parametrize("name", WORDS)
def test_the_id_stands_in_the_command_once_in_the_words_of_the_lane(name: str) -> None:
    lane = builtin(name)
    for verb in (Verb.RUN, Verb.EDIT):
        new, again = lane.plan(task(verb, None), host()), lane.plan(task(verb), host())
        assert isinstance(new, Launch)
        assert isinstance(again, Launch)
        words = WORDS[name]
        places = [at for at in range(len(again.argv)) if again.argv[at : at + len(words)] == words]
        assert len(places) == 1
        rest = again.argv[: places[0]] + again.argv[places[0] + len(words) :]
        assert rest == new.argv, "nothing but the conversation may change: not what it may do"
        assert not any(ID in item for item in new.argv)


def test_codex_says_it_behind_every_option() -> None:
    launch = builtin("codex").plan(task(), host())
    assert isinstance(launch, Launch)
    assert launch.argv[-3:] == ("resume", ID, "-")


def test_antigravity_refuses() -> None:
    assert isinstance(builtin("gemini").plan(task(), host(agy="/opt/agy")), Refused)
    assert isinstance(builtin("gemini").plan(task(conversation=None), host(agy="/opt/agy")), Launch)
