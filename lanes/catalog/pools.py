"""Whose money or limit a run spends, as dated data."""

from __future__ import annotations

from ..contract import Billing

CLAUDE_PLAN = Billing(
    kind="plan", pool="claude", words="$0 cash, spends your Claude plan limits", plan="Claude", as_of="2026-11"
)
CLAUDE_KEY = Billing(
    kind="metered", pool="anthropic-api", words="metered cash on your Anthropic API key", as_of="2026-11"
)
CHATGPT_PLAN = Billing(
    kind="plan", pool="chatgpt", words="$0 cash, spends your ChatGPT plan limits", plan="ChatGPT", as_of="2026-11"
)
OPENAI_KEY = Billing(kind="metered", pool="openai-api", words="metered cash on your OpenAI API key", as_of="2026-11")
OPENROUTER = Billing(
    kind="metered",
    pool="openrouter",
    words="metered cash on your OpenRouter credits, measured where its receipts can be read, else estimated",
    as_of="2026-11",
)
ANTIGRAVITY_PLAN = Billing(
    kind="plan",
    pool="antigravity",
    words="$0 cash, spends your Antigravity plan limits",
    plan="Antigravity",
    as_of="2026-11",
)
GOOGLE_PLAN = Billing(
    kind="plan",
    pool="gemini-code-assist",
    words="$0 cash, spends your Gemini Code Assist limits",
    plan="Gemini Code Assist",
    as_of="2026-11",
)
GEMINI_KEY = Billing(kind="metered", pool="gemini-api", words="metered cash on your Gemini API key", as_of="2026-11")
GOOGLE_CLOUD = Billing(
    kind="metered", pool="google-cloud", words="metered cash on your Google Cloud project", as_of="2026-11"
)
OPENAI_COMPATIBLE_KEY = Billing(
    kind="metered",
    pool="openai-compatible",
    words="metered cash on your key at OPENAI_BASE_URL, if that service charges",
    as_of="2026-11",
)
FACTORY = Billing(
    kind="unknown",
    pool="factory",
    words="spends your Factory plan; a model of your own is billed by its provider",
    plan="Factory",
    as_of="2026-11",
)
COPILOT_PLAN = Billing(
    kind="plan",
    pool="copilot",
    words="$0 cash within your GitHub Copilot plan, spends its AI credits",
    plan="GitHub Copilot",
    as_of="2026-11",
)
OWN_PROVIDER = Billing(
    kind="unknown", pool="own-provider", words="billed by the provider that you set up in the CLI", as_of="2026-11"
)
DEVIN_PLAN = Billing(
    kind="plan", pool="devin", words="$0 cash, spends your Devin plan limits", plan="Devin", as_of="2026-11"
)
CURSOR_PLAN = Billing(
    kind="plan", pool="cursor", words="$0 cash, spends your Cursor plan limits", plan="Cursor", as_of="2026-11"
)
WARP = Billing(
    kind="unknown", pool="warp", words="depends on your Warp plan or your own keys", plan="Warp", as_of="2026-11"
)
CLAUDEX_PLAN = Billing(
    kind="plan",
    pool="chatgpt",
    words="$0 cash, spends your ChatGPT plan limits through your own proxy",
    plan="ChatGPT",
    as_of="2026-11",
)
TOKENROUTER = Billing(
    kind="metered",
    pool="tokenrouter",
    words="metered cash on your TokenRouter key, not measured; free promotions show only in its account",
    as_of="2026-11",
)
LOCAL = Billing(kind="free", pool="local", words="$0 cash + $0 plan", as_of="2026-11")
UNKNOWN = Billing(kind="unknown", pool="unknown", words="its cost is not known here", as_of="2026-11")
