"""The commands of the lanes over gateways and proxies, and of the CLIs that were never seen."""

from __future__ import annotations

import pytest
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, Task, Wall
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

SECRET = "sk-secret"
SECRETS = {"OPENROUTER_API_KEY": SECRET, "OSRC_CLAUDEX_TOKEN": SECRET, "TOKENROUTER_API_KEY": SECRET}
PROGRAMS = {name: f"/bin/{name}" for name in ("claude", "codex", "devin", "cursor-agent", "hermes", "oz")}
LANES = ("cc", "codexor", "claudex", "tokenrouter", "devin", "cursor", "hermes", "warp")
UNSEEN = ("devin", "cursor", "hermes", "warp")


def host(**environment: str) -> Host:
    return Host(
        environment=environment,
        executables=PROGRAMS,
        secrets=SECRETS,
        server="http://127.0.0.1:8317",
        server_models=("gpt-5.6-sol",),
    )


def plan(lane: str, verb: Verb = Verb.RUN, where: Host | None = None, **fields) -> Launch | Refused:
    task = Task(verb=verb, prompt=fields.pop("prompt", "do it"), cwd="/w", **{"model": "some/model", **fields})
    return builtin(lane).plan(task, where or host())


def launch(lane: str, verb: Verb = Verb.RUN, where: Host | None = None, **fields) -> Launch:
    result = plan(lane, verb, where, **fields)
    assert isinstance(result, Launch), result
    return result


@pytest.mark.parametrize("lane", LANES)
def test_a_key_is_in_the_environment_of_the_delegate_and_nowhere_else(lane: str) -> None:
    result = launch(lane, effort=Effort.HIGH)
    assert SECRET not in " ".join(result.argv)
    assert SECRET not in repr(result)
    assert (SECRET in result.env_set.values()) is (lane not in UNSEEN)
    assert "CLAUDECODE" in result.env_strip


def test_claude_code_is_led_to_openrouter_and_nothing_leads_it_away() -> None:
    result = launch("cc", where=host(ANTHROPIC_BASE_URL="http://x", OSRC_OPENROUTER_URL="http://127.0.0.1:1/"))
    assert result.env_set["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert result.env_set["ANTHROPIC_API_KEY"] == ""
    models = {value for name, value in result.env_set.items() if name.endswith("MODEL")}
    assert models == {"some/model"}
    assert {"ANTHROPIC_*", "CLAUDE_CODE_OAUTH_TOKEN", "OPENROUTER_API_KEY"} <= result.env_strip
    assert "--setting-sources=" in result.argv
    assert launch("cc").env_set["ANTHROPIC_BASE_URL"] == "https://openrouter.ai/api"
    assert "--setting-sources=user" in launch("cc", where=host(OSRC_CLAUDE_USER_CONFIG="1")).argv


@pytest.mark.parametrize(
    ("effort", "tokens"),
    [
        (Effort.MINIMAL, "0"),
        (Effort.LOW, "4096"),
        (Effort.MEDIUM, "10000"),
        (Effort.HIGH, "24000"),
        (Effort.XHIGH, "32000"),
        (Effort.MAX, "48000"),
    ],
)
def test_effort_is_thinking_tokens_over_openrouter(effort: Effort, tokens: str) -> None:
    result = launch("cc", effort=effort)
    assert result.env_set["MAX_THINKING_TOKENS"] == tokens
    assert tokens in result.notices[0]
    assert "MAX_THINKING_TOKENS" not in launch("cc").env_set


def test_codex_is_led_to_openrouter() -> None:
    words = " ".join(launch("codexor", effort=Effort.LOW).argv)
    assert '-c model_provider="openrouter"' in words
    assert 'model_providers.openrouter.base_url="https://openrouter.ai/api/v1"' in words
    assert 'model_providers.openrouter.env_key="OPENROUTER_API_KEY"' in words
    assert 'model_providers.openrouter.wire_api="responses"' in words
    assert 'shell_environment_policy.exclude=["OPENROUTER_API_KEY"]' in words
    assert "--ignore-user-config" in words
    assert '-c model_reasoning_effort="low"' in words
    assert "-s read-only" in words


@pytest.mark.parametrize("lane", ["cc", "codexor"])
@pytest.mark.parametrize("url", ["http://example.org", "ftp://127.0.0.1", "http://u:p@127.0.0.1"])
def test_a_key_goes_encrypted_or_stays_here(lane: str, url: str) -> None:
    result = plan(lane, where=host(OSRC_OPENROUTER_URL=url))
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.BAD_CONFIG


@pytest.mark.parametrize("lane", ["cc", "codexor", "claudex", "tokenrouter"])
def test_without_its_key_a_lane_says_what_is_missing(lane: str) -> None:
    bare = Host(environment={}, executables=PROGRAMS, server="http://127.0.0.1:1", server_models=("m",))
    result = plan(lane, where=bare)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.LANE_NOT_READY
    assert result.hint
    readiness = builtin(lane).probe(ProbeFacts(host=bare, version_output=b"2.1.332"))
    assert readiness.level in ("absent", "installed")
    assert readiness.fix


def test_read_only_over_a_gateway_is_the_same_wall() -> None:
    for lane in ("cc", "claudex"):
        assert "--tools Read,Grep,Glob" in " ".join(launch(lane).argv)
        assert Verb.RESEARCH not in builtin(lane).verbs
        assert builtin(lane).wall is Wall.OWN
    assert builtin("codexor").verbs[Verb.RESEARCH] is Posture.SANDBOXED


@pytest.mark.parametrize("model", ["opus", "claude-sonnet-5", "Claude-X", "anthropic/x", "haiku"])
def test_no_claude_model_goes_through_somebody_elses_proxy(model: str) -> None:
    result = plan("claudex", model=model)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.LANE_CONFLICT


def test_the_proxy_is_used_where_it_answers() -> None:
    result = launch("claudex", effort=Effort.MINIMAL, model=None)
    assert result.env_set["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8317"
    assert result.env_set["ANTHROPIC_MODEL"] == "gpt-5.6-sol"
    assert result.env_set["CLAUDE_CODE_ALWAYS_ENABLE_EFFORT"] == "1"
    assert "minimal" in result.notices[0]
    silent = Host(environment={}, executables=PROGRAMS, secrets=SECRETS, server="http://127.0.0.1:8317")
    assert isinstance(plan("claudex", where=silent, model="gpt-5.5"), Refused)
    assert builtin("claudex").probe(ProbeFacts(host=silent)).level == "absent"
    assert builtin("claudex").probe(ProbeFacts(host=host())).level == "answering"


def test_tokenrouter_wants_a_model_and_answers_in_text_only() -> None:
    result = launch("tokenrouter", where=host(OSRC_TOKENROUTER_TIMEOUT="30"))
    assert "--key-env=TOKENROUTER_API_KEY" in result.argv
    assert "--base-url=https://api.tokenrouter.com/v1" in result.argv
    assert "--answer-s=30" in result.argv
    missing = plan("tokenrouter", model=None)
    assert isinstance(missing, Refused)
    assert "-m" in missing.hint
    assert plan("tokenrouter", Verb.EDIT).code is RefusalCode.VERB_UNSUPPORTED


@pytest.mark.parametrize("lane", UNSEEN)
def test_what_was_never_seen_says_so(lane: str) -> None:
    row = builtin(lane)
    assert row.tested_versions == ()
    assert "never run with the real program" in row.summary
    assert row.wall is Wall.OURS
    ready = row.probe(ProbeFacts(host=host(), version_output=b"v1.2.3", status_output=b"Logged in as me"))
    assert "never tested" in ready.detail
    assert ready.tested is False
    signed_out = row.probe(ProbeFacts(host=host(), version_output=b"v1.2.3", status_output=b"You are not logged in"))
    assert (signed_out.level, bool(signed_out.fix)) == ("installed", True)
    absent = row.probe(ProbeFacts(host=Host(environment={}, executables={})))
    assert (absent.level, absent.fix) == ("absent", row.install)
    assert isinstance(plan(lane, where=Host(environment={}, executables={})), Refused)


@pytest.mark.parametrize("lane", UNSEEN)
@pytest.mark.parametrize("prompt", ["-rf /", "{job}/x", "a\nb", "x" * 200_000])
def test_a_prompt_is_never_an_option_and_never_too_long(lane: str, prompt: str) -> None:
    result = launch(lane, prompt=prompt)
    assert all(len(item) < 20_000 for item in result.argv)
    if prompt.startswith("-"):
        bare = [item for item in result.argv if item == prompt]
        assert not bare or result.argv[result.argv.index(prompt) - 1] == "--"
    carried = [*(file.content for file in result.files), result.stdin or b"", *(item.encode() for item in result.argv)]
    assert any(prompt.encode() in item for item in carried)
    if prompt == "{job}/x" and lane != "devin":
        assert result.files == ()  # with a file beside it, {job} would be filled in


def test_deepseeks_effort_is_part_of_its_id_on_devin() -> None:
    for effort, suffix in ((None, "high"), (Effort.LOW, "low"), (Effort.MEDIUM, "high"), (Effort.MAX, "max")):
        result = launch("devin", model="deepseek-v4-pro", effort=effort)
        assert f"deepseek-v4-pro-{suffix}" in result.argv
    assert "deepseek-v4-pro-low" in launch("devin", model="deepseek-v4-pro-low", effort=Effort.MAX).argv
    assert "small model" in launch("devin", Verb.EDIT, model="swe-1.7").notices[0]
    assert launch("devin", model="swe-1.7").notices == ()


def test_warps_profile_and_harness() -> None:
    words = launch("warp", Verb.EDIT, host(OSRC_WARP_PROFILE="p1", OSRC_WARP_HARNESS="codex"))
    assert {"--profile=p1", "--harness", "codex"} <= set(words.argv)
    assert words.notices == ()
    assert "default profile" in launch("warp", Verb.EDIT).notices[0]
