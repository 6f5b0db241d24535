from __future__ import annotations

from dataclasses import replace

import pytest
from outsourcerer.lanes.contract import Host, Launch, Locality, ProbeFacts, ReadinessLevel, Stream, Task
from outsourcerer.lanes.local import LANE
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Verb

HOST = Host(environment={}, executables={}, python="/py", server="http://127.0.0.1:11434", server_models=("m1", "m2"))
TASK = Task(verb=Verb.RUN, prompt="hä?", cwd="/w")


def launch(task: Task = TASK, host: Host = HOST) -> Launch:
    planned = LANE.plan(task, host)
    assert isinstance(planned, Launch)
    return planned


def refusal(task: Task = TASK, host: Host = HOST) -> Refused:
    planned = LANE.plan(task, host)
    assert isinstance(planned, Refused)
    return planned


def test_the_prompt_goes_over_stdin_to_the_first_model() -> None:
    planned = launch()
    assert planned.argv[:4] == ("/py", "-P", "-m", "outsourcerer.actors.delegates.chat")
    assert set(planned.argv[4:]) == {"--base-url=http://127.0.0.1:11434/v1", "--model=m1", "--answer-s=900"}
    assert planned.stdin == "hä?".encode()


def test_a_model_that_looks_like_an_option_stays_a_value() -> None:
    assert "--model=--model" in launch(replace(TASK, model="--model")).argv


def test_research_is_refused_with_the_lane_that_can() -> None:
    refused = refusal(replace(TASK, verb=Verb.RESEARCH))
    assert Verb.RESEARCH not in LANE.verbs
    assert refused.code is RefusalCode.VERB_UNSUPPORTED
    assert "codex" in (refused.hint or "")


AGENTS = replace(HOST, executables={"claude": "/bin/claude", "codex": "/bin/codex"})


@pytest.mark.parametrize("verb", [Verb.EDIT, Verb.YOLO])
@pytest.mark.parametrize(("api", "program"), [("chat", "claude"), ("responses", "codex")])
def test_verbs_that_write_need_an_agent(verb: Verb, api: str, program: str) -> None:
    task, environment = replace(TASK, verb=verb), {"OSRC_LOCAL_API": api}
    refused = refusal(task, replace(HOST, environment=environment))
    assert refused.code is RefusalCode.LANE_NOT_READY
    assert program in refused.message
    planned = launch(task, replace(AGENTS, environment=environment))
    assert f"--vehicle={program}" in planned.argv
    assert planned.argv[planned.argv.index("--") + 1] == f"/bin/{program}"
    assert planned.stdin == "hä?".encode()
    assert "ANTHROPIC_*" in planned.env_strip
    assert LANE.works is not None
    assert LANE.works(verb, AGENTS)


def test_reading_verbs_are_text_unless_an_agent_is_asked_for() -> None:
    assert LANE.works is not None
    assert not LANE.works(Verb.RUN, AGENTS)
    asked = replace(AGENTS, environment={"OSRC_LOCAL_AGENTIC": "1", "OSRC_LOCAL_TOOLS": "Read,Bash"})
    assert LANE.works(Verb.RUN, asked)
    planned = launch(host=asked)
    assert planned.argv[planned.argv.index("--tools") + 1] == "Read,Grep,Glob"  # a setting can't widen a promise
    edit = launch(replace(TASK, verb=Verb.EDIT), asked)
    assert edit.argv[edit.argv.index("--tools") + 1] == "Read,Bash"


def test_a_key_and_a_proxy_stay_where_they_belong() -> None:
    environment = {"OSRC_LOCAL_KEY": "sk-1", "OSRC_LOCAL_API": "responses", "NO_PROXY": "corp"}
    planned = launch(replace(TASK, verb=Verb.EDIT), replace(AGENTS, environment=environment))
    assert not any("sk-1" in item for item in planned.argv)
    assert any('env_key = "OSRC_LOCAL_KEY"' in item for item in planned.argv)
    assert planned.env_set["NO_PROXY"].startswith("corp,127.0.0.1")


def test_a_server_that_speaks_claudes_dialect_needs_no_translator() -> None:
    environment = {"OSRC_LOCAL_ANTHROPIC_URL": "http://127.0.0.1:9/v1"}
    planned = launch(replace(TASK, verb=Verb.EDIT), replace(AGENTS, environment=environment))
    assert "--direct" in planned.argv
    assert planned.env_set["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
    environment = {"OSRC_LOCAL_ANTHROPIC_URL": "http://10.0.0.1/v1"}
    assert refusal(replace(TASK, verb=Verb.EDIT), replace(AGENTS, environment=environment)).code is RefusalCode.DENIED


def test_the_first_line_chooses_the_parser_however_it_is_cut() -> None:
    lines = b'{"type": "vehicle", "vehicle": "codex"}\n{"type":"thread.started","thread_id":"t"}\n'
    for cut in range(len(lines)):
        parser = LANE.parser(TASK)
        events = [*parser.feed(b"w", Stream.ERR), *parser.feed(lines[:cut]), *parser.feed(lines[cut:])]
        assert [event.kind for event in events] == ["conversation_started"]
    text = LANE.parser(TASK)
    assert [event.kind for event in text.feed(b'{"type":"start","model":"m"}\n')] == ["model_observed"]
    silent = LANE.parser(TASK)
    assert [event.kind for event in silent.finish(ExitStatus(code=1))] == ["turn_ended"]


def test_no_server_is_refused_with_what_to_do() -> None:
    refused = refusal(host=replace(HOST, server=None, server_models=()))
    assert refused.code is RefusalCode.LANE_NOT_READY
    assert "OSRC_LOCAL_URL" in (refused.hint or "")


def test_a_server_without_models_needs_a_name() -> None:
    host = replace(HOST, server_models=())
    assert refusal(host=host).code is RefusalCode.LANE_NOT_READY
    assert "--model=x" in launch(replace(TASK, model="x"), host).argv


def test_a_server_elsewhere_is_refused_unless_allowed() -> None:
    host = replace(HOST, server="http://10.0.0.5:11434/v1")
    assert refusal(host=host).code is RefusalCode.DENIED
    planned = launch(host=replace(host, environment={"OSRC_LOCAL_ALLOW_REMOTE": "1"}))
    assert "--allow-remote" in planned.argv
    assert "not on this machine" in planned.notices[0]


def test_credentials_in_the_address_never_reach_argv() -> None:
    refused = refusal(host=replace(HOST, server="http://me:secret@127.0.0.1/v1"))
    assert "secret" not in refused.model_dump_json()


@pytest.mark.parametrize(
    ("text", "seconds"), [("60", "60"), ("x", "900"), ("-1", "900"), ("nan", "900"), ("inf", "900")]
)
def test_the_generation_limit_is_a_setting(text: str, seconds: str) -> None:
    assert f"--answer-s={seconds}" in launch(host=replace(HOST, environment={"OSRC_LOCAL_GEN_TIMEOUT": text})).argv


def test_readiness() -> None:
    levels = {
        "none": LANE.probe(ProbeFacts(host=replace(HOST, server=None))).level,
        "empty": LANE.probe(ProbeFacts(host=replace(HOST, server_models=()))).level,
        "full": LANE.probe(ProbeFacts(host=HOST)).level,
    }
    assert levels == {
        "none": ReadinessLevel.ABSENT,
        "empty": ReadinessLevel.INSTALLED,
        "full": ReadinessLevel.ANSWERING,
    }


def test_it_is_local_free_and_has_no_tools() -> None:
    assert (LANE.locality, LANE.billing.kind, LANE.agentic) == (Locality.LOCAL, "free", False)


def test_a_prompt_that_no_program_would_read_whole_is_refused() -> None:
    assert refusal(replace(TASK, prompt="a\0b")).code is RefusalCode.BAD_TASK
