"""Whole words of prose are swapped for neutral ones; code, names and everything else stay byte for byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.secrets.wording import Swap, guarded, sanitize
from outsourcerer.lanes.secrets.words import PLAIN, TECHNICAL

PROSE = "We attack the bug. KILL it! Destroyed, Battle-tested; then the army's war is over.\n"
CODE = """\
# Title

Run `kill -9 $PID` and see [how to kill](docs/kill.md), <kill attr="attack">, https://example.com/kill/attack?x=war.
The options --kill and -kill, paths /bin/kill and kill.py, names kill_all, kill() and os.kill, a skill and a warehouse.

```python
kill(attack)  # destroy
```

~~~~
war
```
war
~~~~

    kill everything

\tkill everything

text
    kill goes on here: a wrapped line of prose
"""


def test_words_are_swapped_and_capitals_kept():
    clean, swaps = sanitize(PROSE)
    assert clean == "We tackle the bug. STOP it! Removed, Well-tested; then the group's contest is over.\n"
    assert swaps[:2] == (Swap(1, "attack", "tackle"), Swap(1, "KILL", "STOP"))
    assert len(swaps) == 6


def test_code_names_and_addresses_stay():
    clean, swaps = sanitize(CODE)
    before, after = CODE.splitlines(), clean.splitlines()
    changed = {number + 1: line for number, line in enumerate(after) if line != before[number]}
    assert list(changed) == [3, 21]
    assert changed[3] == before[3 - 1].replace("[how to kill]", "[how to stop]")
    assert changed[21] == "    stop goes on here: a wrapped line of prose"
    assert {swap.line for swap in swaps} == {3, 21}


def test_front_matter_stays():
    text = "---\ntitle: kill\n---\nkill\n"
    assert sanitize(text)[0] == "---\ntitle: kill\n---\nstop\n"


def test_ordinary_words_of_computing_only_when_asked_for():
    text = "The spawned process died; its payload triggers a retry.\n"
    assert sanitize(text) == (text, ())
    assert sanitize(text, aggressive=True)[0] == "The started process ended; its content starts a retry.\n"


def test_the_guard_is_a_setting():
    assert guarded("kill it", guard=True, aggressive=False) == "stop it"
    assert guarded("kill it", guard=False, aggressive=True) == "kill it"


@pytest.mark.parametrize("aggressive", [False, True])
def test_no_word_that_stands_for_another_is_swapped_in_turn(aggressive: bool):
    words = {**PLAIN, **TECHNICAL} if aggressive else PLAIN
    assert [word for word in words if word != word.lower()] == []
    assert {word: new for word, new in words.items() if sanitize(new, aggressive=aggressive)[1]} == {}


@given(st.text(st.sampled_from("kil war\n`~#<>()[]-./_K\r\té\x0b"), max_size=120), st.booleans())
@settings(max_examples=100, deadline=None)
def test_once_is_enough_and_the_rest_is_untouched(text: str, aggressive: bool):
    clean, swaps = sanitize(text, aggressive=aggressive)
    assert sanitize(clean, aggressive=aggressive) == (clean, ())
    assert bool(swaps) == (clean != text)
    assert clean.count("\n") == text.count("\n")


def test_hostile_lines_are_read_in_linear_time():
    for unit in ("`", "<", "](", "kill ", "kill`", "https://", "battle-"):
        sanitize(unit * 200_000)


@pytest.mark.parametrize(
    "block",
    [
        "- item\n    ```sh\n    kill -9 1\n    ```\n",
        "- ```\n  kill it\n  ```\n",
        "10. item\n\n    - deeper\n      ~~~~\n      kill it\n      ~~~~\n",
        "> ```\n> kill it\n> ```\n",
        "> - ```\n>   kill it\n>   ```\n",
        "> says:\n>\n>     kill it\n",
        "# Title\n    kill it\n",
        "```\nx\n```\n    kill it\n",
        "<pre>\nkill it\n\nkill it\n</pre>\n",
        "<PRE>kill it</PRE>\n",
        "say <code>kill it</code> there\n",
        "Run this::\n\n   kill it\n\n   kill it\n",
        "   .. code-block:: sh\n      :linenos:\n\n      kill it\n",
    ],
)
def test_a_block_of_code_stays_wherever_it_stands_and_prose_behind_it_does_not(block: str):
    text, swaps = sanitize(f"{block}\nkill it\n")
    assert text == f"{block}\nstop it\n"
    assert len(swaps) == 1


def test_a_quotation_ends_its_own_fence_and_inline_code_opens_none():
    assert sanitize("> ```\n> kill\nkill\n")[0] == "> ```\n> kill\nstop\n"
    assert sanitize("```kill``` is code\nkill\n")[0] == "```kill``` is code\nstop\n"
    assert sanitize(".. note::\n\n   kill it\n")[0] == ".. note::\n\n   stop it\n"
