"""aider: ``.aider.chat.history.md`` in the folder it works in. From its documentation; not seen with a real run.

``# aider chat started at ...`` begins a chat, ``#### `` lines are the person's, ``> `` lines the tool's own, and the
rest is what the model said. Nothing marks the end of an answer but the tool's own line that counts its tokens.
"""

from __future__ import annotations

from .tail import Speaker, Tail, Turn

_START = "# aider chat started at "


def line(tail: Tail, text: str) -> None:
    """Take one line."""
    if text.startswith(_START):
        tail.tools.clear()
        tail.turn = tail.speaker = tail.error = tail.asked = tail.first_user = None
        tail.when(text.removeprefix(_START).strip())
        tail.lines.clear()
    elif text.startswith("#### "):
        tail.user(text[5:])
    elif text.startswith("> "):
        _own(tail, text[2:])
    elif text.strip():
        tail.said(text, last=False)


def _own(tail: Tail, text: str) -> None:
    if text.startswith("Model: "):
        tail.named(model=text.removeprefix("Model: ").split(" ")[0])
    elif text.startswith("Tokens: ") and tail.speaker is Speaker.ASSISTANT:
        tail.ended()  # printed after each answer
    elif text.startswith("litellm.") and "Error" in text:
        tail.ended(Turn.FAILED, text)
    elif text.startswith("^C"):
        tail.ended(Turn.ABORTED)
    elif text.rstrip().endswith(("(Y)es/(N)o [Yes]:", "(Y)es/(N)o/(D)on't ask again [Yes]:")):
        tail.asks(text)
