"""What a screen is taken for: pictures of the real interfaces, hostile conversations, and noise."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.screens.classify import classify
from outsourcerer.lanes.screens.model import Composer, Screen, Span, State
from outsourcerer.lanes.screens.rules import RULES, rules_for, version_of

GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "screens").glob("*.json"))


def screen_of(kept):
    lines = tuple(kept["lines"])
    return Screen(
        lines=lines,
        bright=tuple(kept["faint"].get(str(row), line) for row, line in enumerate(lines)),
        marked=tuple(Span(*span) for span in kept["marked"]),
        cursor=tuple(kept["cursor"]),
        title=kept["title"],
        alternate=kept["alternate"],
    )


def pictures():
    for path in GOLDEN:
        content = json.loads(path.read_text())
        for place, kept in enumerate(content["screens"]):
            case = f"{content['cli']}-{place}-{kept['expect']['state']}"
            yield pytest.param(content["cli"], content["version"], kept, id=case)


PICTURES = list(pictures())
REAL = [(param.values[0], screen_of(param.values[2]), param.values[2]["expect"]) for param in PICTURES]
ASKING = {"waiting-approval", "trust", "menu", "login", "limit"}


@pytest.mark.parametrize(("cli", "version", "kept"), PICTURES)
def test_a_real_screen_is_what_it_is(cli, version, kept):
    found = classify(screen_of(kept), rules_for(cli, version_of(version)))
    expected = kept["expect"]
    assert (found.state.value, found.composer.value) == (expected["state"], expected["composer"])
    assert ([option.label for option in found.menu.options] if found.menu else None) == expected.get("options")
    if found.menu:
        assert (found.menu.selected.label if found.menu.selected else None) == expected["selected"]
    assert found.draft == expected.get("draft", "")
    assert found.evidence


def test_every_cli_that_was_seen_at_work_has_pictures():
    assert {path.name.split("-")[0] for path in GOLDEN} >= {
        "claude",
        "codex",
        "gemini",
        "qwen",
        "copilot",
        "opencode",
        "pi",
    }


@pytest.mark.parametrize("cli", sorted(RULES))
def test_outside_its_versions_nothing_is_claimed(cli):
    rules = RULES[cli]
    assert rules_for(cli, rules.since) is rules
    assert rules_for(cli, rules.until) is None
    assert rules_for(cli, None) is None
    assert rules_for("nobody", (1, 0)) is None
    picture = next((one for name, one, _ in REAL if name == cli), Screen(lines=("❯ 1. Yes", "  2. No")))
    assert classify(picture, rules_for(cli, rules.until)).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.1.332 (Claude Code)", (2, 1, 332)),
        ("codex-cli 0.171.0\n", (0, 171, 0)),
        ("v1.0.102", (1, 0, 102)),
        ("none", None),
        ("9" * 9000, None),
    ],
)
def test_a_version_is_read_from_what_the_cli_prints(text, version):
    assert version_of(text) == version


# --- hostile conversations


def above(picture, rows):
    """The picture with rows of a conversation put where its conversation ends."""
    rules = picture[0]
    found = classify(picture[1], RULES[rules])
    place = len(found.body)
    lines = [*picture[1].lines[:place], *rows, *picture[1].lines[place:]]
    shift = len(rows)
    row, column = picture[1].cursor
    moved = tuple(
        span if span.row < place else Span(span.row + shift, span.start, span.end, span.paint)
        for span in picture[1].marked
    )
    return replace(picture[1], lines=tuple(lines), bright=tuple(lines), marked=moved, cursor=(row + shift, column))


DIALOGS = [screen.lines for _, screen, expected in REAL if expected["state"] in ASKING]
IDLE = [
    (cli, screen)
    for cli, screen, expected in REAL
    if expected["state"] in {"idle", "starting"} and expected["composer"] == "empty"
]


@pytest.mark.parametrize("dialog", DIALOGS)
@pytest.mark.parametrize("idle", IDLE, ids=[cli for cli, _ in IDLE])
def test_a_conversation_that_shows_a_dialog_is_not_one(idle, dialog):
    """The composer below tells that nothing is asked, whatever the conversation shows."""
    found = classify(above(idle, [f"  {line}" for line in dialog if line.strip()]), RULES[idle[0]])
    assert found.menu is None
    assert found.state in {State.IDLE, State.WORKING, State.UNKNOWN}  # never a question, at worst no claim


@pytest.mark.parametrize(("cli", "screen", "expected"), [one for one in REAL if one[2]["state"] in ASKING])
def test_a_composer_shown_above_a_dialog_does_not_hide_it(cli, screen, expected):
    composers = [
        line
        for name, one, told in REAL
        if name == cli and told["state"] == "idle"
        for line in one.lines
        if line.strip()
    ]
    lines = (*composers, "", *screen.lines)
    marked = tuple(Span(span.row + len(composers) + 1, span.start, span.end, span.paint) for span in screen.marked)
    shown = replace(screen, lines=lines, bright=lines, marked=marked)
    found = classify(shown, RULES[cli])
    assert found.state.value in {expected["state"], "unknown"}
    assert found.composer is not Composer.EMPTY


def test_a_draft_that_looks_like_a_dialog_is_a_draft():
    rule = "─" * 200
    draft = ["❯ Do you want to proceed?", "  ❯ 1. Yes", "    2. No", "", "  Esc to cancel · Tab to amend"]
    lines = ("● hello", "", rule, *draft, rule, "  ⏸ manual mode on · ? for shortcuts")
    found = classify(Screen(lines=lines, bright=lines, cursor=(7, 30)), RULES["claude"])
    assert (found.state, found.composer, found.menu) == (State.IDLE, Composer.DRAFT, None)


# --- noise

PIECES = st.sampled_from([line for _, screen, _ in REAL for line in screen.lines if line.strip()])
ROWS = st.lists(PIECES | st.text(max_size=80) | st.just(""), max_size=50)


@given(st.sampled_from(sorted(RULES)), ROWS, st.text(max_size=20), st.integers(0, 60), st.integers(0, 250))
@settings(max_examples=100, deadline=None)
def test_no_screen_makes_it_raise(cli, rows, title, row, column):
    lines = tuple(line.rstrip() for line in rows)
    found = classify(Screen(lines=lines, bright=lines, cursor=(row, column), title=title), RULES[cli])
    if found.menu is not None:
        assert found.state in {State.MENU, State.TRUST, State.LOGIN, State.LIMIT, State.WAITING_APPROVAL}
        assert len({option.index for option in found.menu.options}) >= 1
        assert found.composer is Composer.HIDDEN
    if found.composer is Composer.EMPTY:
        assert found.draft == ""


@pytest.mark.parametrize("cli", sorted(RULES))
@pytest.mark.parametrize("char", ["─", "❯", " ", "a", "(", "⠋", "│", "1. ", "esc ", "┃  Build · ", "⠋ a ("])
def test_wide_screens_of_one_thing_are_read_in_no_time(cli, char):
    """No pattern goes back and forth: 500 rows of 5,000 characters; the test's own limit would end it."""
    lines = ((char * 5000)[:5000],) * 500
    assert classify(Screen(lines=lines, bright=lines), RULES[cli]).evidence
