"""The commands of claude and codex: what each verb, model and effort becomes."""

from __future__ import annotations

import itertools

import pytest
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, Task
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

PROGRAMS = {"claude": "/bin/claude", "codex": "/bin/codex"}


def host(*, root: bool = False, **environment: str) -> Host:
    return Host(environment=environment, executables=PROGRAMS, is_root=root)


def launch(lane: str, verb: Verb = Verb.RUN, where: Host | None = None, **fields) -> Launch:
    result = builtin(lane).plan(Task(verb=verb, prompt="do it", cwd="/w", **fields), where or host())
    assert isinstance(result, Launch), result
    return result


def flags(plan: Launch) -> str:
    return " ".join(plan.argv[1:])


OWN_SETTINGS = "--setting-sources=user --add-dir /w"
READS_CLAUDE_MD = {"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}
EMPTY_MCP = '--strict-mcp-config --mcp-config {"mcpServers":{}}'


def test_claude_read_only_is_a_wall_of_missing_tools() -> None:
    for verb in (Verb.RUN, Verb.EXPLORE):
        assert flags(launch("claude", verb)) == (
            f"-p --output-format stream-json --verbose {OWN_SETTINGS} {EMPTY_MCP}"
            ' --tools Read,Grep,Glob --allowedTools Read,Grep,Glob --settings {"disableAllHooks":true}'
        )


def test_claude_writes_with_the_tools_it_needs() -> None:
    assert "--permission-mode acceptEdits --allowedTools Read,Edit,Write,NotebookEdit,Bash,Grep,Glob" in flags(
        launch("claude", Verb.EDIT)
    )
    assert flags(launch("claude", Verb.EDIT, host(OSRC_ALLOWED_TOOLS="Read,Edit"))).endswith("--allowedTools Read,Edit")
    assert "OSRC" not in flags(launch("claude", Verb.RUN, host(OSRC_ALLOWED_TOOLS="Bash")))
    assert "Bash" not in flags(launch("claude", Verb.RUN, host(OSRC_ALLOWED_TOOLS="Bash")))


def test_claude_yolo_as_root_says_what_it_does() -> None:
    plan = launch("claude", Verb.YOLO, host(root=True))
    assert "--dangerously-skip-permissions" in plan.argv
    assert plan.env_set == {"IS_SANDBOX": "1"} | READS_CLAUDE_MD
    assert "root" in plan.notices[0]
    assert launch("claude", Verb.YOLO).env_set == READS_CLAUDE_MD
    assert launch("claude", Verb.EDIT, host(root=True)).env_set == READS_CLAUDE_MD


def test_claude_heeds_the_folders_settings_only_where_it_is_trusted() -> None:
    trusted = Host(environment={}, executables=PROGRAMS, trust_folder=True)
    assert "--setting-sources=user" not in launch("claude", where=trusted).argv
    inside = Host(environment={}, executables=PROGRAMS, project=("/w/sub", "/w"))
    assert "--add-dir /w/sub --add-dir /w " in flags(launch("claude", where=inside))


def test_claude_has_no_sandbox_for_research() -> None:
    result = builtin("claude").plan(Task(verb=Verb.RESEARCH, prompt="x", cwd="/"), host())
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.VERB_UNSUPPORTED
    assert "codex" in result.hint
    assert Verb.RESEARCH not in builtin("claude").verbs


def test_users_own_configuration_only_when_asked_for() -> None:
    assert EMPTY_MCP not in flags(launch("claude", Verb.RUN, host(OSRC_CLAUDE_USER_CONFIG="1")))
    assert "--ignore-user-config" in launch("codex").argv
    assert "--ignore-user-config" not in launch("codex", Verb.RUN, host(OSRC_CODEX_USER_CONFIG="1")).argv


@pytest.mark.parametrize(
    ("verb", "sandbox"),
    [
        (Verb.RUN, "-s read-only"),
        (Verb.EXPLORE, "-s read-only"),
        (Verb.RESEARCH, "-s workspace-write"),
        (Verb.EDIT, "-s workspace-write"),
        (Verb.YOLO, "--dangerously-bypass-approvals-and-sandbox"),
    ],
)
def test_codex_verbs_are_its_sandboxes(verb: Verb, sandbox: str) -> None:
    assert flags(launch("codex", verb)) == f"exec --json --skip-git-repo-check --ignore-user-config {sandbox} -"


def test_postures_are_the_words_people_see() -> None:
    assert builtin("claude").verbs[Verb.EDIT] is Posture.MUTATING
    assert builtin("codex").verbs[Verb.EDIT] is Posture.WORKSPACE_WRITE
    assert builtin("codex").verbs[Verb.RESEARCH] is Posture.SANDBOXED
    for name, verb in itertools.product(PROGRAMS, (Verb.RUN, Verb.EXPLORE)):
        assert builtin(name).verbs[verb] is Posture.READ_ONLY


def test_model_and_effort_are_passed_in_the_words_of_the_cli() -> None:
    assert "--model opus --effort xhigh" in flags(launch("claude", model="opus", effort=Effort.XHIGH))
    low = launch("claude", effort=Effort.MINIMAL)
    assert "--effort low" in flags(low)
    assert "minimal" in low.notices[0]
    assert '-m gpt-5.5 -c model_reasoning_effort="minimal"' in flags(
        launch("codex", model="gpt-5.5", effort=Effort.MINIMAL)
    )
    floored = launch("codex", model="gpt-6.2-sol", effort=Effort.MINIMAL)
    assert 'model_reasoning_effort="low"' in flags(floored)
    assert "minimal" in floored.notices[0]


def test_a_key_in_the_environment_is_who_pays_and_is_never_in_the_command() -> None:
    for lane, name, plans in (
        ("claude", "ANTHROPIC_API_KEY", "claude"),
        ("codex", "CODEX_API_KEY", "chatgpt"),
    ):
        plan = launch(lane, Verb.RUN, host(**{name: "sk-secret"}))
        assert plan.billing.kind == "metered"
        assert name in plan.notices[0]
        assert "sk-secret" not in repr(plan)
        assert launch(lane).billing.pool == plans


def test_the_prompt_goes_over_stdin_and_nested_session_variables_are_stripped() -> None:
    for lane in PROGRAMS:
        plan = launch(lane)
        assert plan.stdin == b"do it"
        assert "do it" not in flags(plan)
        assert {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "OSRC_MARK"} <= plan.env_strip
        assert not {"CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"} & plan.env_strip


def readiness(lane: str, output: bytes | None, *, credentials: tuple[str, ...] = (), **environment: str):
    return builtin(lane).probe(
        ProbeFacts(host=host(**environment), version_output=output, credentials=frozenset(credentials))
    )


def test_readiness_from_nothing_to_signed_in() -> None:
    absent = builtin("claude").probe(ProbeFacts(host=Host(environment={}, executables={})))
    assert (absent.level, "npm install" in absent.fix) == ("absent", True)
    installed = readiness("claude", b"2.1.332 (Claude Code)\n")
    assert (installed.level, installed.version, installed.tested) == ("installed", "2.1.332", True)
    assert installed.fix
    signed = readiness("codex", b"codex-cli 0.180.0\n", credentials=("~/.codex/auth.json",))
    assert (signed.level, signed.version, signed.tested, signed.fix) == ("signed-in", "0.180.0", False, None)
    assert readiness("claude", b"2.1.332", ANTHROPIC_API_KEY="sk-secret").level == "signed-in"
    assert "sk-secret" not in repr(readiness("claude", b"2.1.332", ANTHROPIC_API_KEY="sk-secret"))
    assert readiness("claude", b"2.1.332", CLAUDE_CODE_USE_BEDROCK="1").level == "signed-in"


def test_a_claude_that_was_only_started_is_not_called_signed_in() -> None:
    started, kept = "~/.claude.json", "~/.claude/.credentials.json"
    unseen = readiness("claude", b"2.1.332", credentials=(started,))
    assert (unseen.level, unseen.signed_in, unseen.version) == ("installed", None, "2.1.332")
    assert "can't be seen from here" in unseen.detail
    assert "sign in" in (unseen.fix or "")
    assert readiness("claude", b"2.1.332", credentials=(started, kept)).level == "signed-in"
    assert readiness("claude", b"2.1.332", credentials=(started,), ANTHROPIC_API_KEY="k").signed_in is True
    assert readiness("claude", b"1.0.3", credentials=(started,)).signed_in is None
    assert readiness("claude", b"2.1.332").signed_in is False


def test_an_old_or_wordless_program_is_only_installed() -> None:
    old = readiness("claude", b"1.0.3 (Claude Code)", ANTHROPIC_API_KEY="k")
    assert (old.level, old.tested) == ("installed", False)
    assert "older than 2.1.0" in old.detail
    assert readiness("claude", None).version is None
    assert readiness("codex", b"\xff\xfe garbage").level == "installed"
