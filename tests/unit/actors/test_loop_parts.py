"""The parts of a loop that need no supervisor: what its check consists of, what is refused, what a lap asks for."""

import os
from types import SimpleNamespace

import pytest
from outsourcerer.actors.check_files import ABSENT, NO_PART, changes, look_at_check, unbidden
from outsourcerer.actors.loop_desk import check_terms, raised
from outsourcerer.actors.loop_folder import LoopFolder
from outsourcerer.actors.loop_requests import everyone, request_for
from outsourcerer.messages.job import JobRequest
from outsourcerer.messages.loop import LoopEnd, LoopLimits, LoopRecord, LoopResume, LoopStep, LoopTerms
from outsourcerer.messages.refusals import Refused

LOOP = "loop-20261130-010203-0123456789ab"
JOB = "20261130-010203-0123456789ab"


def common(**more):
    return JobRequest(**{"verb": "edit", "task": "t", "cwd": "/w", **more})


def record(*steps, limits=None, **more):
    given = {"terms": {"shape": "verify", "check": "make"}, "limits": limits or {}, "verb": "edit", "cwd": "/w", **more}
    return LoopRecord.model_validate(
        {"loop_id": LOOP, "accepted_at": 1.0, "segment_began": 1.0, "steps": steps, **given}
    )


def step(role="build", **more):
    return LoopStep(**{"number": 2, "role": role, "lap": 1, "job_id": JOB, "began": 1.0, **more})


# --- the check's files


@pytest.fixture
def project(tmp_path):
    (tmp_path / "tests" / "__pycache__").mkdir(parents=True)
    for name in ("Makefile", "check.sh", "app.py", "tests/test_a.py", "tests/data.txt", "tests/__pycache__/x.pyc"):
        (tmp_path / name).write_text(name)
    os.mkfifo(tmp_path / "tests" / "pipe")
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest"}, "dependencies": {}}')
    return tmp_path


def there(look):
    return {path for path, word in look.items() if word not in (ABSENT, NO_PART)}


def test_files_of_a_check(project):
    assert there(look_at_check("make x", str(project))) == {"Makefile"}
    assert there(look_at_check("sh check.sh app.py", str(project), ("app.py", "none"))) == {"check.sh", "app.py"}
    assert there(look_at_check("pytest tests", str(project))) == {"tests/test_a.py", "tests/data.txt"}
    assert there(look_at_check("pytest -q", str(project))) == {"tests/test_a.py"}
    assert look_at_check("grep x app.py", str(project)) == {}
    assert look_at_check("make", str(project / "nowhere")) == {}


SCRIPTS = {
    "check.sh": '. "$(dirname "$0")/lib.sh"\nsource $HERE/more.sh  # and more\n./app --selftest\nbash inner/run it\n',
    "lib.sh": "sh deep.sh\n",
    "more.sh": "pytest -q\n",
    "deep.sh": "bash deeper.sh\n",
    "deeper.sh": "sh deepest.sh\n",
    "deepest.sh": "true\n",
    "app": "#!/bin/sh\nsh check.sh\n",
    "inner/run": "#!/bin/sh\nexit 0\n",
}


def test_scripts_are_followed_into_what_they_run(tmp_path):
    for name, text in SCRIPTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "test_x.py").write_text("")
    (tmp_path / "outside").symlink_to(tmp_path.parent)
    seen = there(look_at_check("sh check.sh", str(tmp_path)))
    # Two levels, no further; and what is run beside them is what the work is about.
    assert seen == {"check.sh", "lib.sh", "more.sh", "deep.sh", "inner/run", "test_x.py", "deeper.sh"} - {"deeper.sh"}
    before = look_at_check("sh check.sh", str(tmp_path))
    (tmp_path / "lib.sh").write_text("exit 0\n")
    assert changes(before, look_at_check("sh check.sh", str(tmp_path))) == ("deep.sh", "lib.sh")
    assert there(look_at_check("./app", str(tmp_path))) >= {"app", "check.sh", "lib.sh"}
    (tmp_path / "odd.sh").write_bytes(b"\xff\x00" * 100)
    (tmp_path / "python.sh").write_text("#!/usr/bin/env python3\nsh check.sh\n")
    assert there(look_at_check("sh odd.sh; ./python.sh; sh gone.sh", str(tmp_path))) == {"odd.sh", "python.sh"}


def test_what_a_person_guards_is_known_wherever_it_is(project):
    place = project / "work"
    place.mkdir()
    for guard in ("../tests", str(project / "tests"), ".."):
        before = look_at_check("grep x ../app.py", str(place), (guard,))
        (project / "tests" / "data.txt").write_text(guard)
        after = look_at_check("grep x ../app.py", str(place), (guard,))
        assert changes(before, after) == (str(project / "tests" / "data.txt"),)
    assert look_at_check("grep -r x ../tests", str(place)) == {}


def test_a_change_is_seen_and_a_dependency_is_none(project):
    before = look_at_check("npm test; pytest tests", str(project))
    (project / "package.json").write_text('{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}')
    (project / "tests" / "test_new.py").write_text("")
    assert changes(before, look_at_check("npm test; pytest tests", str(project))) == ()
    (project / "package.json").write_text('{"scripts": {"test": "true"}}')
    (project / "tests" / "test_a.py").unlink()
    (project / "tests" / "conftest.py").write_text("")
    found = changes(before, look_at_check("npm test; pytest tests", str(project)))
    assert found == ("package.json", "tests/conftest.py", "tests/test_a.py")


@pytest.mark.parametrize(
    ("command", "path", "text", "seen"),
    [
        ("make x", "GNUmakefile", "x:\n\ttrue\n", True),
        ("just x", "Justfile", "x:\n\ttrue\n", False),  # there was none: making one may be the work
        ("python -m pytest tests", "pytest.py", "", True),
        ("python3.12 -m unittest", "unittest/__init__.py", "", True),
        ("python -m app", "app/__main__.py", "", False),
        ("pytest tests", "pytest.py", "", False),
        ("pytest tests", "pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--co'\n", True),
        ("pytest tests", "pyproject.toml", "[project]\nname = 'x'\n", False),
        ("pytest tests", "setup.cfg", "[tool:pytest]\naddopts = --co\n", True),
        ("pytest tests", "setup.cfg", "[metadata]\nname = x\n", False),
        ("pytest tests", "setup.cfg", "no section = at all", True),
        ("pytest tests", "tox.ini", "[pytest]\naddopts = --co\n", True),
        ("make x", "tox.ini", "[pytest]\n", False),
        ("make -C tests x", "tests/GNUmakefile", "x:\n", False),  # there was none
        ("cd tests && pytest", "tests/pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--co'\n", True),
        ("cd tests && python -m pytest", "tests/pytest.py", "", True),
        ("make x", "pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--co'\n", False),
    ],
)
def test_what_a_new_file_puts_in_the_place_of_the_check(project, command, path, text, seen):
    before = look_at_check(command, str(project))
    (project / path).parent.mkdir(exist_ok=True)
    (project / path).write_text(text)
    after = look_at_check(command, str(project))
    assert changes(before, after) == ((path,) if seen else ())
    assert unbidden(command, after, [path]) == ({path} if seen else set())


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cd web && sh t.sh", "web/t.sh"),
        ("cd ./web/ || exit 1; timeout 5 bash ./t.sh", "web/t.sh"),
        ("cd web; cd ../lib && ./t.sh", "lib/t.sh"),
        ("(cd web && make x) && sh t.sh", "t.sh"),
        ("sh -ec 'cd web && sh t.sh'", "web/t.sh"),
        ("cd web && npm test", "web/package.json"),
        ("npm --prefix web test", "web/package.json"),
        ("make -C web x", "web/Makefile"),
        ("gmake --directory=web x", "web/Makefile"),
        ("make -C web x", "web/GNUmakefile"),
        ("make -Cweb -f rules.mk x", "web/rules.mk"),
        ("cd web && python -m pytest", "web/pytest.py"),
        ("cd web && pytest", "web/pyproject.toml"),
        ("cd web && pytest tests", "web/tests/data.txt"),
    ],
)
def test_a_check_that_is_run_elsewhere(tmp_path, command, path):
    made = ["t.sh", "web/t.sh", "lib/t.sh", "web/Makefile", "web/rules.mk", "web/package.json", "web/tests/data.txt"]
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    before = look_at_check(command, str(tmp_path))
    scripts = '"scripts": {"test": "true"}'
    text = {"web/package.json": f"{{{scripts}}}", "web/pyproject.toml": "[tool.pytest]\nx = 1\n"}.get(path, "true")
    (tmp_path / path).write_text(text)
    after = look_at_check(command, str(tmp_path))
    assert changes(before, after) == (path,)
    assert unbidden(command, after, [path]) == (set() if path in made else {path})
    others = [name for name in made if name.endswith("t.sh") and name != path]
    for name in others:
        (tmp_path / name).write_text("other work")
    assert changes(after, look_at_check(command, str(tmp_path))) == ()


@pytest.mark.parametrize("command", ["pushd web; make x; popd; make x && pytest; sh t.sh", "sh all.sh"])
def test_a_folder_that_may_be_another_raises_no_false_alarm(tmp_path, command):
    (tmp_path / "web").mkdir()
    (tmp_path / "t.sh").write_text("true\n")
    (tmp_path / "all.sh").write_text("( cd web\nmake x\n)\npytest\nsh t.sh\n")
    before = look_at_check(command, str(tmp_path))
    added = ["Makefile", "web/Makefile", "web/t.sh", "pyproject.toml", "web/pyproject.toml", "web/setup.cfg"]
    for name in added:
        (tmp_path / name).write_text("[project]\n")
    after = look_at_check(command, str(tmp_path))
    assert changes(before, after) == ()
    assert unbidden(command, after, added) - {"Makefile", "web/Makefile"} == set()
    (tmp_path / "t.sh").write_text("exit 0\n")
    assert changes(before, look_at_check(command, str(tmp_path))) == ("t.sh",)


def test_of_a_pyproject_only_what_pytest_is_told_counts(project):
    path = project / "pyproject.toml"
    path.write_text("[project]\ndependencies = []\n[tool.pytest.ini_options]\naddopts = '-q'\n")
    before = look_at_check("pytest", str(project))
    path.write_text("[project]\ndependencies = ['a']\n[tool.pytest.ini_options]\naddopts = '-q'\n")
    assert changes(before, look_at_check("pytest", str(project))) == ()
    path.write_text("[tool.pytest.ini_options]\naddopts = '-q --co'\n")
    assert changes(before, look_at_check("pytest", str(project))) == ("pyproject.toml",)
    path.unlink()
    assert changes(before, look_at_check("pytest", str(project))) == ("pyproject.toml",)


# --- what is refused


@pytest.mark.parametrize(
    ("terms", "more", "word"),
    [
        ({"shape": "verify"}, {}, "needs --check"),
        ({"shape": "escalate", "check": " ", "models": ("a", "b")}, {}, "needs --check"),
        ({"shape": "verify", "check": "make"}, {"verb": "run"}, "changes nothing"),
        ({"shape": "optimize", "judge": "j"}, {}, "needs --rubric"),
        ({"shape": "optimize", "rubric": "r"}, {}, "needs --rubric"),
        ({"shape": "optimize", "rubric": "r", "judge": "m"}, {"model": "m"}, "its own work"),
        ({"shape": "escalate", "check": "make", "models": ("a",)}, {}, "1 models; it takes 2 to 4"),
        ({"shape": "council", "check": "make", "models": tuple("abcdef")}, {}, "6 models; it takes 2 to 5"),
        ({"shape": "escalate", "check": "make", "models": ("a", "a")}, {}, "named twice"),
        ({"shape": "verify", "check": "curl -H 'x: sk-ant-api03-" + "aB3" * 30 + "AA'"}, {}, "secret"),
        ({"shape": "sweep"}, {"verb": "explore", "worktree": True}, "no work tree"),
    ],
)
def test_a_loop_that_could_not_end_honestly_is_refused(terms, more, word):
    found = check_terms(LoopTerms(**terms), common(**more))
    assert isinstance(found, Refused)
    assert word in found.message


@pytest.mark.parametrize(
    ("ended", "limits", "asked", "expected"),
    [
        ("max_turns", {}, {}, "give a higher --max than 6"),
        ("max_turns", {}, {"laps": 6}, "give a higher --max than 6"),
        ("max_turns", {}, {"laps": 3}, "--max 3 is lower than it was (6)"),
        ("max_turns", {}, {"laps": 9}, LoopLimits(laps=9)),
        ("max_time", {"seconds": 60}, {"seconds": 30}, "--max-minutes 0.5 is lower than it was (1)"),
        ("max_time", {"seconds": 60}, {"seconds": 90}, LoopLimits(seconds=90)),
        ("max_usd", {"usd": 1}, {"laps": 9}, "give a higher --max-usd than 1"),
        ("max_usd", {"plan_percent": 50}, {"plan_percent": 80}, LoopLimits(plan_percent=80)),
        ("max_usd", {"plan_percent": 50, "usd": 1}, {}, "a higher --max-usd than 1 or a higher --max-plan than 50"),
        ("blocked", {}, {}, LoopLimits()),
        ("blocked", {}, {"usd": 5}, "--max-usd was not bounded before"),
        ("canceled", {"usd": 1}, {"usd": 5}, LoopLimits(usd=5)),
        ("success", {}, {"laps": 9}, "has succeeded"),
        (None, {}, {"laps": 9}, "has not ended"),
    ],
)
def test_bounds_are_only_raised(ended, limits, asked, expected):
    known = record(limits=limits, end=LoopEnd(ended) if ended else None)
    found = raised(known, LoopResume(loop_id=LOOP, **asked))
    if isinstance(expected, str):
        assert isinstance(found, Refused)
        assert expected in found.message
    else:
        assert found == expected


# --- what a lap asks for


def test_every_kind_of_job_is_known_before_the_first():
    def kinds(shape, **more):
        terms = LoopTerms(shape=shape, **more)
        return [
            (name, one.model, one.verb.value, one.lane) for name, one, _ in everyone(terms, common(model="b", lane="l"))
        ]

    assert kinds("verify") == [("build b", "b", "edit", "l")]
    assert kinds("escalate", models=("x", "y")) == [("build x", "x", "edit", "l"), ("build y", "y", "edit", "l")]
    assert kinds("optimize", judge="j") == [("write b", "b", "edit", "l"), ("judge j", "j", "explore", None)]
    assert kinds("council", models=("x", "y"), judge="j") == [
        ("debate x", "x", "explore", None),
        ("debate y", "y", "explore", None),
        ("decide j", "j", "explore", None),
        ("build b", "b", "edit", "l"),
        ("advise j", "j", "explore", None),
    ]


def asked(known, one, before=None, timeout_s=None, **more):
    return request_for(known, common(**more), one, prompt="p", before=before, timeout_s=timeout_s)


def test_a_lap_is_an_ordinary_request():
    found = asked(record(label="mine"), step(), model="m", timeout_s=5.0, after=("x",))
    assert (found.job_id, found.task, found.label, found.after, found.worktree, found.model) == (
        JOB,
        "p",
        "verify mine: build 1",
        (),
        False,
        "m",
    )
    assert asked(record(), step(), timeout_s=30.0).timeout_s == 30.0
    assert (
        request_for(record(), common(timeout_s=10.0), step(), prompt="p", before=None, timeout_s=30.0).timeout_s == 10.0
    )


def test_later_laps_go_on_in_the_first_one_s_tree_and_in_its_conversation():
    first = step(number=1, ended=2.0, state="done", worktree="/t", cwd="/t/sub")
    assert asked(record(worktree=True), step()).worktree is True
    known = record(first, worktree=True, terms={"shape": "verify", "check": "c", "keep_conversation": True})
    found = asked(known, step(lap=2), before=first)
    assert (found.worktree, found.cwd, found.continues) == (False, "/t/sub", JOB)
    assert asked(known, step(lap=2), before=first.model_copy(update={"state": "failed"})).continues is None


# --- its folder


def test_findings_are_kept_once_whatever_is_repeated(tmp_path):
    folder = LoopFolder.of(SimpleNamespace(loop_dir=lambda loop_id: tmp_path / "loops" / loop_id), LOOP)
    folder.create("task", {"cwd": "/w"})
    assert folder.keep_findings(1, ["a.py:1 bad", "b"]) == 2
    assert folder.keep_findings(3, ["B!", "c"]) == 1
    assert folder.keep_findings(3, ["B!", "c"]) == 1  # a supervisor that was killed does it again
    assert folder.findings() == ["a.py:1 bad", "b", "c"]
    assert folder.findings(3) == ["a.py:1 bad", "b"]
    assert (folder.path / "findings.txt").read_text() == "a.py:1 bad\nb\nc\n"


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}', "\x00", '[{"step": "x"}]'])
def test_a_damaged_folder_is_taken_for_an_empty_one(tmp_path, text):
    folder = LoopFolder(tmp_path)
    for name in ("findings.json", "request.json", "record.json", "guard-0.json"):
        (tmp_path / name).write_text(text)
    assert (folder.findings(), folder.record(), folder.request()) == ([], None, None)
    assert folder.guard(0) in (None, {})
    assert folder.keep_findings(1, ["a"]) == 1
