"""Which variables are credentials, and whose."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes import credentials
from outsourcerer.lanes.credentials import Own, is_credential, named_in, of_command, own_names, withheld
from outsourcerer.lanes.registry import builtin, names

TOKEN = "a1b2c3d4e5f6g7h8"

CREDENTIALS = {
    **dict.fromkeys(
        [
            *("OPENAI_API_KEY", "MY_APIKEY", "GH_TOKEN", "GITHUB_TOKEN", "NPM_TOKEN", "CI_JOB_TOKEN", "AWS_SECRET_ACCESS_KEY"),
            *("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "STRIPE_SECRET", "PGPASSWORD", "DB_PASSWORD", "SMTP_PASS", "HF_TOKEN"),
            *("SECRET_KEY_BASE", "JIRA_PAT", "NPM_CONFIG__AUTH", "npm_config_//registry.example/:_authToken", "DEPLOY_KEY"),
            *("OSRC_LOCAL_KEY", "OSRC_CLAUDEX_TOKEN", "OSRC_SESSION_CLAIM_TOKEN", "VSCODE_GIT_IPC_AUTH_TOKEN", "SESSION_COOKIE"),
            *("OPENAI_API_KEY_WORK", "GITHUB_TOKEN_2", "ANTHROPIC_FOUNDRY_API_KEY"),
        ],
        TOKEN,
    ),
    "GOOGLE_APPLICATION_CREDENTIALS": "/home/ada/key.json",
    "DATABASE_URL": "postgres://ada:hunter2@db.example/app",
    "PLAIN_NAME": "ghp_" + "a1" * 18,
    "OTHER_NAME": "sk-proj-" + "a1" * 20,
}  # fmt: skip
ORDINARY = {
    "PATH": "/usr/bin",
    "HOME": "/home/ada",
    "PWD": "/home/ada",
    "OLDPWD": "/",
    "SSH_AUTH_SOCK": "/run/agent",
    "XAUTHORITY": "/home/ada/.Xauthority",
    "GIT_ASKPASS": "/usr/bin/askpass",
    "TOKENIZERS_PARALLELISM": "false",
    "MAX_THINKING_TOKENS": "8000",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "32000",
    "OPENAI_TOKEN_LIMIT": "4000",
    "DISABLE_AUTH": "1",
    "SSH_KEY": "~/.ssh/id_ed25519",
    "HTTPS_PROXY": "http://ada:hunter2@proxy.example:3128",
    "PIP_INDEX_URL": "https://ada:hunter2@packages.example/simple",
    "ANTHROPIC_BASE_URL": "https://api.example",
    "DATABASE_URL": "postgres://db.example/app",
    "OPENAI_API_KEY": "",
    "KEYBOARD": "us",
    "OSRC_JOB_ID": "j-1",
    "LANG": "C.UTF-8",
    "npm_config_user_agent": "npm/10.0.0",
}


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_credential_is_known_by_its_name_or_form(name):
    assert is_credential(name, CREDENTIALS[name])


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_variable_is_none(name):
    assert not is_credential(name, ORDINARY[name])


@given(st.text(max_size=300), st.text(max_size=300))
@settings(max_examples=60)
def test_no_name_and_no_value_is_too_odd(name, value):
    assert isinstance(is_credential(name, value), bool)


def test_a_long_value_costs_linear_time():
    for text in ("a" * 1_000_000, "eyJ" + "a.eyJ" * 200_000, "x://" + ":" * 1_000_000, "a1 " * 300_000):
        is_credential("MY_TOKEN_X", text)
        is_credential("PLAIN", text)


@pytest.mark.parametrize("name", names())
def test_a_lane_takes_its_own_and_no_other(name):
    lane = builtin(name)
    caller = {**dict.fromkeys(credentials.KNOWN, TOKEN), "MY_COMPANY_TOKEN": TOKEN, "PATH": "/usr/bin"}
    held = withheld(caller, lane.own)
    assert set(lane.own.names).isdisjoint(held)
    assert "MY_COMPANY_TOKEN" in held
    assert "PATH" not in held
    assert set(caller) - {"PATH"} - own_names(lane.own, caller) == set(held)
    assert ("GH_TOKEN" in held) is (name != "copilot")


def test_a_billing_switch_brings_its_keys():
    caller = {"AWS_SECRET_ACCESS_KEY": TOKEN, "ANTHROPIC_API_KEY": TOKEN}
    assert withheld(caller, credentials.CLAUDE) == ("AWS_SECRET_ACCESS_KEY",)
    assert withheld({**caller, "CLAUDE_CODE_USE_BEDROCK": "1"}, credentials.CLAUDE) == ()
    assert withheld({**caller, "CLAUDE_CODE_USE_BEDROCK": "0"}, credentials.CLAUDE) == ("AWS_SECRET_ACCESS_KEY",)


def test_a_named_provider_narrows_the_keys_of_a_program_with_many():
    caller = {"OPENAI_API_KEY": TOKEN, "ANTHROPIC_API_KEY": TOKEN, "GH_TOKEN": TOKEN}
    assert withheld(caller, credentials.PI) == ("GH_TOKEN",)
    assert withheld(caller, credentials.PI, "anthropic/claude-sonnet-5") == ("GH_TOKEN", "OPENAI_API_KEY")
    assert withheld(caller, credentials.PI, "mine/model") == ("ANTHROPIC_API_KEY", "GH_TOKEN", "OPENAI_API_KEY")
    assert withheld(caller, credentials.PI, "a-model") == ("GH_TOKEN",)


def test_the_person_lets_more_through():
    caller = {"GH_TOKEN": TOKEN, "NPM_TOKEN": TOKEN, "NPM_CONFIG__AUTH": TOKEN}
    assert withheld(caller, credentials.NONE, passed=("GH_TOKEN",)) == ("NPM_CONFIG__AUTH", "NPM_TOKEN")
    assert withheld(caller, credentials.NONE, passed=("NPM_*",)) == ("GH_TOKEN",)
    assert withheld(caller, credentials.NONE, passed=("*",)) == ()


def test_a_configuration_names_keys_and_only_keys():
    config = 'env_key = "MY_HOST_KEY"\ntoken = "${GH_TOKEN}" other = "XMY_PART_KEY"'
    assert named_in(config, ("MY_HOST_KEY", "GH_TOKEN", "MY_PART_KEY")) == {"MY_HOST_KEY"}


@pytest.mark.parametrize(
    ("command", "own"),
    [
        (("gemini", "--acp"), credentials.GEMINI),
        (("/opt/bin/qwen", "--acp"), credentials.QWEN),
        (("npx", "-y", "@scope/claude-agent-acp@latest"), credentials.CLAUDE),
        (("my-agent",), credentials.NONE),
        ((), credentials.NONE),
    ],
)
def test_an_agents_program_tells_whose_keys_it_takes(command, own):
    assert of_command(command) is own


def test_what_is_told_names_keys_and_switches():
    own = Own(names=("A_KEY",), when={"USE_B": ("B_KEY", "C_KEY")}, providers=True)
    assert own.told() == ("A_KEY", "the key of the model's provider", "B_KEY, C_KEY with USE_B=1")
