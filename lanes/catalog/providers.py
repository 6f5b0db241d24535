"""Words for lanes: what the predecessor called them, and lanes that are known but not here yet."""

from __future__ import annotations

from collections.abc import Mapping

SYNONYMS: Mapping[str, str] = {
    "claude-code": "claude",
    "anthropic": "claude",
    "ccnative": "claude",
    "cc-native": "claude",
    "ccor": "cc",
    "or": "cc",
    "openrouter": "cc",
    "cc-openrouter": "cc",
    "claude-openrouter": "cc",
    "codex-openrouter": "codexor",
    "codex-or": "codexor",
    "cxor": "codexor",
    "cx": "codex",
    "dv": "devin",
    "cognition": "devin",
    "cursor-agent": "cursor",
    "oz": "warp",
    "nous": "hermes",
    "cxnative": "codex",
    "cx-native": "codex",
    "openai-codex": "codex",
    "chatgpt": "codex",
    "factory": "droid",
    "github-copilot": "copilot",
    "copilot-cli": "copilot",
    "pi-coding-agent": "pi",
    "qwen-code": "qwen",
    "opencode-ai": "opencode",
    "zen": "opencode",
    "gm": "gemini",
    "agy": "gemini",
    "antigravity": "gemini",
    "google": "gemini",
    "ollama": "local",
    "lmstudio": "local",
    "lms": "local",
}
"""Word → the lane of ours that it means."""

ABSENT: Mapping[str, str] = {
    "gi": "the Gemini API",
    "ci": "Codex images",
}
"""Word → name of a lane that this version does not have."""
