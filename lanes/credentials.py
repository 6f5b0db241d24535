"""Which variables of a caller's environment are credentials, and which of them a lane's program takes as its own. Pure.

    names = withheld(environment, lane.own, model, passed)     # a delegate gets everything but these

A delegate obeys text that others wrote, so that it is given no key that its work does not need: not those of
other lanes, nor tokens for git hosts, package registries, clouds and databases. A name is judged by the tables
here and by its last words, a value under any name by the forms that only tokens have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

AWS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
GOOGLE_CLOUD = ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_API_KEY")
AZURE = ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_CLIENT_SECRET")

PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "alibaba": ("DASHSCOPE_API_KEY",),
    "amazon-bedrock": AWS,
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"),
    "azure": AZURE,
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "fireworks-ai": ("FIREWORKS_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
    "google-vertex": GOOGLE_CLOUD,
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "kimi-coding": ("KIMI_API_KEY",),
    "minimax": ("MINIMAX_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
    "nvidia": ("NVIDIA_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "opencode": ("OPENCODE_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITY_API_KEY",),
    "togetherai": ("TOGETHER_API_KEY",),
    "vercel": ("AI_GATEWAY_API_KEY",),
    "vercel-ai-gateway": ("AI_GATEWAY_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY", "ZHIPU_API_KEY"),
}
"""The word before the ``/`` of a model's name → the keys that a program with many providers takes for it."""


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration file of a program's, in the person's home."""

    file: str
    folder: str
    """With ``~``."""
    moved_by: str = ""
    """Variable that names another folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The credentials that a lane's program takes from its environment."""

    names: tuple[str, ...] = ()
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variable that, set to 1 or true, makes further ones its own: another way of being billed."""
    providers: bool = False
    """Whether it takes the key of whatever provider it is set up for: that of the model's, where the model names it."""
    configs: tuple[Config, ...] = ()
    """Where the person may have told it the names of further keys, as those of a provider of their own."""

    def told(self) -> tuple[str, ...]:
        """Return what a person is told of it, a name or a few words each."""
        further = tuple(f"{', '.join(names)} with {switch}=1" for switch, names in self.when.items())
        return (*self.names, *(("the key of the model's provider",) if self.providers else ()), *further)


_ALL_PROVIDERS = tuple(dict.fromkeys(name for names in PROVIDERS.values() for name in names))
NONE = Own()
CLAUDE = Own(
    names=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    when={
        "CLAUDE_CODE_USE_BEDROCK": AWS,
        "CLAUDE_CODE_USE_VERTEX": GOOGLE_CLOUD,
        "CLAUDE_CODE_USE_FOUNDRY": ("ANTHROPIC_FOUNDRY_API_KEY", *AZURE),
    },
)
CODEX = Own(
    names=("CODEX_API_KEY",),
    configs=(Config("config.toml", "~/.codex", "CODEX_HOME"),),
)
GEMINI = Own(
    names=("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTIGRAVITY_API_KEY"), when={"GOOGLE_GENAI_USE_VERTEXAI": GOOGLE_CLOUD}
)
QWEN = Own(
    names=("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "DASHSCOPE_API_KEY"),
    configs=(Config("settings.json", "~/.qwen"),),
)
COPILOT = Own(
    names=(
        *("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
        *("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"),
    )
)
"""GitHub's tokens are its sign-in: what it runs there can use them too."""
DROID = Own(
    names=("FACTORY_API_KEY",), configs=(Config("settings.json", "~/.factory"), Config("config.json", "~/.factory"))
)
CLINE = Own(names=("CLINE_API_KEY",))
CURSOR = Own(names=("CURSOR_API_KEY",))
DEVIN = Own(names=("DEVIN_API_KEY",))
LOCAL = Own(names=("OSRC_LOCAL_KEY",))
WARP = Own(names=("WARP_API_KEY",))
MANY = Own(providers=True)
HERMES = Own(providers=True, configs=(Config("config.yaml", "~/.hermes"),))
OPENCODE = Own(
    providers=True,
    configs=tuple(Config(name, "~/.config/opencode") for name in ("opencode.json", "opencode.jsonc", "config.json")),
)
PI = Own(providers=True, configs=(Config("models.json", "~/.pi/agent", "PI_CODING_AGENT_DIR"),))

PROGRAMS: Mapping[str, Own] = {
    "agy": GEMINI,
    "claude": CLAUDE,
    "claude-agent-acp": CLAUDE,
    "claude-code-acp": CLAUDE,
    "cline": CLINE,
    "codex": CODEX,
    # The adapter signs in by either key (its public description); Codex itself heeds only its own.
    "codex-acp": Own(names=("CODEX_API_KEY", "OPENAI_API_KEY"), configs=CODEX.configs),
    "copilot": COPILOT,
    "cursor-agent": CURSOR,
    "devin": DEVIN,
    "droid": DROID,
    "gemini": GEMINI,
    "goose": MANY,
    "hermes": HERMES,
    "opencode": OPENCODE,
    "oz": WARP,
    "pi": PI,
    "qwen": QWEN,
}
"""Program → its credentials, for lanes that are made of a command: ACP agents, and lanes of the person's own."""

KNOWN = frozenset(
    {
        *_ALL_PROVIDERS,
        *(name for own in PROGRAMS.values() for name in own.names),
        *("TOKENROUTER_API_KEY", "OSRC_LOCAL_KEY", "OSRC_CLAUDEX_TOKEN", "OSRC_SESSION_CLAIM_TOKEN"),
        *("DOCKER_AUTH_CONFIG", "MYSQL_PWD", "PGPASSWORD", "NPM_CONFIG__AUTH"),
    }
)
"""Names that are a credential's whatever stands in them."""

_LAST_WORDS = re.compile(
    r"(?:API_?KEYS?|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|ACCESS_KEY_ID|SECRET_KEY_BASE|(?:^|_)(?:KEY|PASS|PAT|AUTH|CREDENTIALS?|COOKIE))$"
)
_WORDS_WITHIN = re.compile(r"(?:API_?KEY|TOKEN|SECRET|PASSWORD|ACCESS_KEY|PRIVATE_KEY)_[A-Z0-9_]{1,64}$")
_LOOKS_SECRET = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[!-~]{12,}")
_TOKEN_FORMS = re.compile(
    r"(?:sk-|[sr]k_(?:live|test)_|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|hf_|gsk_|xai-|AIza|ya29\.)[-_.A-Za-z0-9]{20,4096}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[-_A-Za-z0-9]{10,4096}\.eyJ[-_A-Za-z0-9]{10,8192}\.[-_A-Za-z0-9]{0,4096}"
)
_PASSWORD_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^/\s:@]{0,200}:[^/\s@]{1,500}@")
_ROADS = re.compile(r"PROXY|INDEX|REGISTRY|REPOSITORY|CHANNEL|MIRROR")
"""Addresses by which programs reach the network or their packages: without them they would silently go elsewhere."""
_NO_VALUE = frozenset({"", "0", "1", "true", "false", "yes", "no", "on", "off"})


def is_credential(name: str, value: str) -> bool:
    """Whether a variable holds a credential, by its name or by the form of its value."""
    if value.lower() in _NO_VALUE:
        return False
    upper = name.upper()
    if upper in KNOWN or _TOKEN_FORMS.fullmatch(value):
        return True
    if value.startswith(("/", "~")):  # a file's name tells nothing that the file system does not
        return False
    if _LAST_WORDS.search(upper) or (_WORDS_WITHIN.search(upper) and _LOOKS_SECRET.fullmatch(value)):
        return True
    return _PASSWORD_IN_URL.match(value) is not None and not _ROADS.search(upper)


def own_names(own: Own, environment: Mapping[str, str], model: str | None = None) -> frozenset[str]:
    """Return the names that a lane's program takes as its own in this environment, for this model."""
    found = set(own.names)
    for switch, names in own.when.items():
        if environment.get(switch, "").lower() in ("1", "true"):
            found.update(names)
    if own.providers:
        provider, slash, _ = (model or "").partition("/")
        found.update(PROVIDERS.get(provider.lower(), ()) if slash else _ALL_PROVIDERS)
    return frozenset(found)


def withheld(
    environment: Mapping[str, str], own: Own, model: str | None = None, passed: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names of the credentials that a delegate is not given, sorted.

    ``passed`` are names that the person lets through all the same; one that ends with ``*`` stands for all that
    begin so.
    """
    through = own_names(own, environment, model) | frozenset(passed)
    starts = tuple(name[:-1] for name in through if name.endswith("*"))
    return tuple(
        sorted(
            name
            for name, value in environment.items()
            if name not in through and not (starts and name.startswith(starts)) and is_credential(name, value)
        )
    )


def named_in(text: str, names: Iterable[str]) -> frozenset[str]:
    """Return those of ``names`` that a configuration names as a key; a token there may be for something else."""
    keys = [name for name in names if name.upper().endswith("KEY")]
    return frozenset(name for name in keys if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text))


def of_command(words: Iterable[str]) -> Own:
    """Return the credentials of the first program that a command names and that is known, be it started by another."""
    for word in words:
        program = PurePosixPath(word).name.partition("@")[0]
        if program in PROGRAMS:
            return PROGRAMS[program]
    return NONE
