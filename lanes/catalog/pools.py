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
LOCAL = Billing(kind="free", pool="local", words="$0 cash + $0 plan", as_of="2026-11")
UNKNOWN = Billing(kind="unknown", pool="unknown", words="its cost is not known here", as_of="2026-11")
