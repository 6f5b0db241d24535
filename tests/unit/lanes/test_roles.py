"""Role files, task lists and routes: what is ours is understood or named, what is others' is left alone."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.pacing import read_caps
from outsourcerer.lanes.roles import (
    Role,
    RoleError,
    compose,
    fill,
    parse_role,
    parse_route,
    parse_subs,
    parse_tasks,
    terms,
)

CLAUDE_AGENT = """---
name: code-reviewer
description: Use this agent when code was written. Examples:

<example>
Context: it was written.
user: "model: review it"
</example>
model: inherit
tools: Read, Grep, Bash(git *)
color: {blue
hooks:
  PreToolUse:
    - model: nonsense
---

You review code.
"""


def test_an_agent_of_another_program_is_run_as_it_is():
    role = parse_role("code-reviewer", CLAUDE_AGENT)
    assert role.text == "You review code."
    assert (role.model, role.effort, role.tier, role.lane) == (None, None, None, None)
    assert role.description.startswith("Use this agent when")


@pytest.mark.parametrize(
    ("front", "model", "effort"),
    [
        ("model: opus\neffort: HIGH", "opus", "high"),
        ('model: "gpt-5.5"  # the large one\nreasoning: low', "gpt-5.5", "low"),
        ("Model: 'sonnet'\nmodel: opus", "sonnet", None),
        ("model: [gpt-5, opus]\nreasoning-effort: max", "gpt-5", "max"),
        ("model:\n  - opus\n  - sonnet", "opus", None),
        ("model:\neffort:", None, None),
        ("model: glm-5 # cheap", "glm-5", None),
        ("model: >-\n  opus", "opus", None),
        ("model: ~\neffort: auto", None, None),
    ],
)
def test_a_value_may_be_written_in_many_ways(front, model, effort):
    role = parse_role("one", f"\ufeff---\r\n{front}\n---\nText.")
    assert (role.model, role.effort, role.text) == (model, effort, "Text.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\neffort: turbo\n---\nx", "its effort is 'turbo': one of minimal"),
        ("---\ntier: best\n---\nx", "its tier is 'best'"),
        ("---\nlane: My Lane!\n---\nx", "its lane is 'My Lane!'"),
        ("---\nmodel: opus\n\nno end", "does not end"),
        (f"---\nmodel: {'x' * 2000}\n---\nx", "can't be a model's name"),
    ],
)
def test_what_means_nothing_is_named(text, words):
    with pytest.raises(RoleError, match=r"^its ") as told:
        parse_role("one", text)
    assert words in str(told.value)


@pytest.mark.parametrize("text", ["---\n\nA rule at the top.", "plain", "", "---", "--- \n# a title\nand more"])
def test_a_text_without_front_matter_is_all_text(text):
    assert parse_role("one", text).text == text.strip("\n")


@given(st.text(alphabet=st.sampled_from(list("-model: effort\n[]{}'\"|>#,\r\t\u20ac\x00")), max_size=400))
def test_any_text_is_a_role_or_is_named(text):
    for candidate in (text, f"---\n{text}", f"---\n{text}\n---\n{text}", "---\nmodel: " + "[" * 5000 + text):
        with contextlib.suppress(RoleError):
            role = parse_role("any", candidate)
            assert role.model is None or role.model.isprintable()


def test_tasks_are_one_a_line():
    found = parse_tasks("\n# a remark\nfirst\n  second \n\n{not json\n", "job")
    assert [(one.label, one.text) for one in found] == [
        ("job-01", "first"),
        ("job-02", "second"),
        ("job-03", "{not json"),
    ]
    assert [one.label for one in parse_tasks("x\n" * 100)][::99] == ["task-001", "task-100"]


def test_tasks_are_json_objects_where_the_first_line_is_one():
    found = parse_tasks('{"task": "a\\nb", "label": "one", "model": "opus", "tier": "mid"}\n{"task": "c"}\n')
    assert found == [Role(label="one", text="a\nb", model="opus", tier="mid"), Role(label="task-02", text="c")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plain", "line 2 is no JSON object"),
        ('{"task": "x", "modle": "y"}', "line 2 has the unknown key 'modle'"),
        ('{"task": "x", "model": 3}', "line 2: model is to be a text"),
        ('{"task": " "}', "line 2: task is to be a text"),
        ('{"task": "x", "effort": "turbo"}', "line 2: its effort is 'turbo'"),
    ],
)
def test_a_json_line_that_is_none_is_named(line, words):
    with pytest.raises(RoleError, match="line 2") as told:
        parse_tasks(f'{{"task": "x"}}\n{line}')
    assert words in str(told.value)


def test_a_member_is_put_together_in_order():
    text = compose(
        Role(label="r", text="You review {WHAT}."), preamble="Be brief.", shared=["House rules."], task="Go."
    )
    assert text == "Be brief.\n\nHouse rules.\n\nYou review {WHAT}.\n\n## Task\n\nGo."
    assert fill(text, parse_subs(["WHAT=a {b} = c"])).splitlines()[4] == "You review a {b} = c."
    with pytest.raises(RoleError, match="no text"):
        compose(Role(label="r", text=" \n"), preamble="Be brief.")


@pytest.mark.parametrize("word", ["", "x", "=y", "9=x", "a b=c"])
def test_a_substitution_that_is_none_is_named(word):
    with pytest.raises(RoleError, match="is no substitution"):
        parse_subs([word])


@pytest.mark.parametrize("word", ["", "x", "a=", "=m", "a=m,,b=m"])
def test_a_route_that_is_none_is_named(word):
    with pytest.raises(RoleError, match="is no route"):
        parse_route(word)


def test_who_decides_the_model():
    """-m, then a route, then the front matter; its lane and tier go with its model."""
    own = Role(label="security-audit", text="x", model="opus", lane="claude", tier="frontier", effort="high")
    routes = parse_route("perf*=haiku, sec*=gpt-5.5 ,*=sonnet")
    none = {"model": False, "lane": False, "effort": False, "tier": False}
    assert terms(own, [], **none) == {"model": "opus", "lane": "claude", "tier": "frontier", "effort": "high"}
    assert terms(own, routes, **none) == {"model": "gpt-5.5", "effort": "high"}
    assert terms(own, routes, **{**none, "model": True, "effort": True}) == {}
    assert terms(own, [], **{**none, "lane": True}) == {"effort": "high"}
    assert terms(Role(label="x", text="x", tier="raw"), routes, **none) == {"model": "sonnet", "tier": "raw"}


@pytest.mark.parametrize("words", ["devin", "devin=", "=2", "devin=0", "devin=x", "devin=99999999"])
def test_a_bound_of_a_lane_that_is_none_is_named(words):
    with pytest.raises(ValueError, match="is no bound"):
        read_caps(words)
