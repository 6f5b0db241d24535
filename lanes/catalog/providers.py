"""Words for lanes: what the predecessor called them, and lanes that are known but not here yet."""

from __future__ import annotations

from collections.abc import Mapping

SYNONYMS: Mapping[str, str] = {
    "claude-code": "claude",
    "anthropic": "claude",
    "ccnative": "claude",
    "cc-native": "claude",
    "cc": "claude",
    "cx": "codex",
    "cxnative": "codex",
    "cx-native": "codex",
    "openai-codex": "codex",
    "chatgpt": "codex",
    "factory": "droid",
    "github-copilot": "copilot",
    "copilot-cli": "copilot",
    "pi-coding-agent": "pi",
    "gm": "gemini",
    "agy": "gemini",
    "antigravity": "gemini",
    "google": "gemini",
    "ollama": "local",
    "lmstudio": "local",
    "lms": "local",
}
"""Word → the lane of ours that it means."""

CHANGED: Mapping[str, str] = {
    "cc": "cc is Claude Code on your own sign-in here; Claude Code over OpenRouter is not available in this version.",
}
"""Words that used to mean something else as a provider; said as a notice."""

ABSENT: Mapping[str, str] = {
    "openrouter": "OpenRouter",
    "or": "OpenRouter",
    "ccor": "Claude Code over OpenRouter",
    "codexor": "Codex over OpenRouter",
    "devin": "Devin",
    "dv": "Devin",
    "gi": "the Gemini API",
    "ci": "Codex images",
    "cursor": "Cursor",
    "hermes": "Hermes",
    "warp": "Warp",
    "cline": "Cline",
    "opencode": "OpenCode",
    "claudex": "Claudex",
    "tokenrouter": "TokenRouter",
    "qwen": "Qwen Code",
}
"""Word → name of a lane that this version does not have."""
