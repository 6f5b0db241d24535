"""What a loop's delegates are told, and what is read in their answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes import loop_prompts as prompts
from outsourcerer.lanes.check_words import parts_of, script_parts


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="`a\n ", max_size=60))
def test_nothing_gets_out_of_its_fence(text):
    lines = prompts.fenced(text).split("\n")
    assert lines[0] == lines[-1]
    assert len(lines[0]) >= 3
    assert lines[0] not in {line.strip() for line in lines[1:-1]}


def test_a_long_text_keeps_its_ends():
    told = prompts.fenced("first " + "x" * 1000 + " last", 100)
    assert "first " in told
    assert " last" in told
    assert len(told) < 200


def test_a_builder_is_told_the_task_the_goal_and_what_failed():
    told = prompts.build("fix {it} $now %s", check="make test", failure="exit 1\n2 failed", changed=("Makefile",))
    assert told.startswith("fix {it} $now %s\n")
    assert "make test" in told
    assert "2 failed" in told
    assert "Makefile. Put them back" in told
    assert "plan" not in told
    planned = prompts.build("t", check="c", plan="first this", advice="that is missing")
    assert "first this" in planned
    assert "that is missing" in planned


def test_others_are_told_what_they_need():
    assert "known thing" in prompts.find("look", ["known thing"])
    assert "NO FINDINGS" in prompts.find("look", [])
    told = prompts.write("t", rubric="be brief", before="old", critique="too long", failure="exit 1")
    assert [word in told for word in ("be brief", "old", "too long", "exit 1")] == [True] * 4
    assert "SCORE: N" in prompts.judge("t", rubric="r", answer="SCORE: 100")
    debate = prompts.debate("t", turn=2, others=[("a", "plan of a")])
    assert "plan of a" in debate
    assert "whole plan again" in debate
    assert "plan of b" in prompts.decide("t", [("b", "plan of b")])
    assert "VERDICT" in prompts.advise("t", plan="p", diff="+line")


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("fine\nSCORE: 85", 85.0),
        ("**SCORE: 85/100**\n", 85.0),
        ("> `SCORE`: 7.5 / 100", 7.5),
        ("SCORE: 10\nbut on reflection\nSCORE: 20\nbye", 20.0),
        ("SCORE: 101", None),
        ("SCORE: high", None),
        ("I would not say SCORE: 90 yet", None),
        ("", None),
        ("score: 90", None),
    ],
)
def test_a_score(answer, score):
    assert prompts.score_in(answer) == score


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("VERDICT: AS PLANNED", True),
        ("**VERDICT: NOT AS PLANNED**", False),
        ("VERDICT: AS PLANNED\nno wait\nVERDICT: NOT AS PLANNED.", False),
        ("the VERDICT: AS PLANNED would be wrong", None),
        ("", None),
    ],
)
def test_a_verdict(answer, verdict):
    assert prompts.verdict_in(answer) is verdict


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("FINDING: a.py:1 bad\n- FINDING: b", ["a.py:1 bad", "b"]),
        ("FINDING: A.py:1 — Bad!\nFINDING: a.py:1 bad", ["A.py:1 — Bad!"]),
        ("NO FINDINGS", []),
        ("**NO NEW FINDINGS.**", []),
        ("NO FINDINGS\nFINDING: but this", ["but this"]),
        ("all good", None),
        ("FINDING:", None),
    ],
)
def test_findings(answer, found):
    assert prompts.findings_in(answer) == found


@pytest.mark.parametrize("piece", ["*", "SCORE: ", "FINDING: ", "`", " ", "> "])
def test_long_lines_are_taken(piece):
    text = piece * 50_000
    prompts.score_in(text), prompts.verdict_in(text), prompts.findings_in(text)


@pytest.mark.parametrize(
    ("command", "words", "file"),
    [
        ("make -s test", {"make"}, "Makefile"),
        ("sh -e run.sh && pytest tests/ -q", {"run.sh", "tests/"}, "pytest.ini"),
        ("A=b ./check.sh | tee x", {"./check.sh"}, None),
        ("timeout 5 go/x.sh", {"go/x.sh"}, None),
        ("(cd sub; ./go) && ./x", {"sub/go", "./x"}, None),
        ("cd a && cd b\nbash -e run", {"a/b/run"}, None),
        ("make -C sub -f ci.mk test", {"sub/ci.mk"}, "sub/GNUmakefile"),
        ("npm --prefix=js test", set(), "js/package.json"),
        ("sh -ec 'cd a; sh run'", {"a/run"}, None),
        ('test "$(sh run; echo $?)" = 0', {"run"}, None),
        ("test `sh run` = 0", {"run"}, None),
        ('D=a; sh "$D/run"; sh $PWD/b', {"a/run", "./b"}, None),
        ("timeout -k 1 5m env A=b sh run", {"run"}, None),
        ("true # don't\nsh run", {"run"}, None),
        ("[ $# -eq 0 ] && sh tests/run.sh", {"tests/run.sh"}, None),
        ("sh ${0#x}/lib.sh && sh b.sh", {"lib.sh", "b.sh"}, None),
        ("sh a#b.sh; sh '#c.sh'; sh \\#d", {"a#b.sh", "#c.sh", "#d"}, None),
        ("python -m pytest", set(), "conftest.py"),
        ("npm test", set(), "package.json"),
        ("python3 check_it.py", {"check_it.py"}, None),
        ("'unclosed ./a.sh", {"./a.sh"}, None),
        ("", set(), None),
    ],
)
def test_what_a_check_consists_of(command, words, file):
    found = parts_of(command)
    assert words <= set(found.words)
    assert file is None or file in found.files


@pytest.mark.parametrize("command", ["true # sh run", "true;# sh run", "# sh run", "(true)# sh run"])
def test_a_comment_is_no_part(command):
    assert "run" not in parts_of(command).words


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("cd build; make; cd ..; sh t.sh", {"t.sh"}),
        ("(pushd build; make; popd); sh t.sh", {"t.sh"}),
        ("( cd build\nmake )\nsh t.sh", {"t.sh"}),
        ("cd build || exit 1; sh t.sh", {"build/t.sh"}),
        ("x && cd build && sh t.sh", {"build/t.sh"}),
        ("x && cd build && make; sh t.sh", {"t.sh", "build/t.sh"}),
        ("pushd build; make; popd; sh t.sh", {"t.sh", "build/t.sh"}),
        ("cd build > log; make; cd - ; sh t.sh", {"t.sh", "build/t.sh"}),
        ("cd build; cd ..; cd -; sh t.sh", {"t.sh", "build/t.sh"}),
        ("f() { cd build; make; }; sh t.sh", {"t.sh", "build/t.sh"}),
        ("if x; then cd build; else make; fi; sh t.sh", {"t.sh", "build/t.sh"}),
        ("if x; then make; else cd build; fi; sh t.sh", {"t.sh"}),
        ("cd build | cat; sh t.sh", {"t.sh", "build/t.sh"}),
        ("cd build & sh t.sh", {"t.sh", "build/t.sh"}),
        ("x || cd build; sh t.sh", {"t.sh", "build/t.sh"}),
        ("case $1 in a) cd build;; esac; sh t.sh", {"t.sh", "build/t.sh"}),
        ("cd build; popd; sh -c 'sh t.sh'", {"t.sh", "build/t.sh"}),
    ],
)
def test_a_folder_that_may_be_another_hides_no_judge(text, places):
    found = parts_of(text)
    assert {word for word in found.words if word.endswith("t.sh") and " " not in word} == places
    assert {word for word in found.scripts if " " not in word} == places


@pytest.mark.parametrize(
    "text",
    [
        "cd build\nmake\ncd -\nsh tests/run.sh",
        "pushd build\nmake\npopd\nsh tests/run.sh",
        "( cd build\nmake\n)\nsh tests/run.sh",
        "f() {\n  cd build\n  make\n}\nsh tests/run.sh",
        "cd build\ncd ../tests\ncd ..\nsh tests/run.sh",
        'cd "$(dirname "$0")/.."\nsh tests/run.sh',
    ],
)
def test_in_a_script_a_word_is_looked_for_also_as_it_is_written(text):
    found = script_parts(text)
    assert "tests/run.sh" in found.words
    assert "tests/run.sh" in found.scripts


@pytest.mark.parametrize("command", ["python main.py", "grep -q done app.py", "diff out.txt in.txt", "node app.js"])
def test_what_it_is_about_is_not_its_judge(command):
    found = parts_of(command)
    assert len([word for word in found.words if "." in word]) == 0
    assert found.files == ()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_command_is_taken(command):
    parts_of(command)
