"""The documentation against the program."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import outsourcerer
import pytest
from outsourcerer.cli.table import COMMANDS
from outsourcerer.lanes.contract import Host, Lane, Launch, Task
from outsourcerer.lanes.custom import EnvRow, LaneFile, load
from outsourcerer.messages.vocabulary import Effort
from outsourcerer.state.views import job_object

ROOT = Path(outsourcerer.__path__[0])
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return [body for kind, body in _FENCED.findall(page(name)) if kind == language]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_made_parts_are_up_to_date(generate: ModuleType) -> None:
    assert [path.name for path in generate.stale()] == [], "run make docs"


def test_every_made_part_has_a_place(generate: ModuleType) -> None:
    used = set(re.findall(r"<!-- begin ([a-z-]+) -->", "".join(path.read_text("utf-8") for path in generate.pages())))
    assert used == set(generate.PARTS)


def test_a_stale_part_is_noticed(generate: ModuleType) -> None:
    stale = "<!-- begin exit-codes -->\n| 0 | all is well |\n<!-- end exit-codes -->\n"
    assert "refused or failed" in generate.made(stale)
    with pytest.raises(KeyError):
        generate.made("<!-- begin nothing-makes-this -->\n<!-- end nothing-makes-this -->\n")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in _LINK.findall(_FENCED.sub("", text)):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        found = path if not target else (path.parent / target).resolve()
        assert found.exists(), f"{path.name}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{path.name}: {link}"


def slug(heading: str) -> str:
    """A heading's anchor, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_code_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = [body for _, body in _FENCED.findall(text)] + re.findall(r"`([^`\n]+)`", _FENCED.sub("", text))
    words = {word for part in code for word in re.findall(r"(?:^|[\s(`$])osrc ([a-z][a-z-]*)\b", part)}
    assert words - set(COMMANDS) == set()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_are_named_are_there(name: str) -> None:
    named = set(re.findall(r"`((?:actors|cli|docs|lanes|messages|state|tests)/[a-z_/]*(?:\.[a-z]+)?)`", page(name)))
    assert len(named) > 10
    assert [one for one in sorted(named) if not (ROOT / one).exists()] == []


def test_toml_lanes_load_and_plan() -> None:
    examples = blocks("docs/lanes.md", "toml")
    assert len(examples) == 2
    host = Host(environment={}, executables={"my-agent": "/usr/bin/my-agent"})
    for example in examples:
        lane = load("mine", example.encode(), "mine.toml")
        assert isinstance(lane, Lane), lane
        for verb in lane.verbs:
            launch = lane.plan(Task(verb=verb, prompt="Hello.", cwd="/", effort=Effort.LOW), host)
            assert isinstance(launch, Launch), launch
            assert launch.argv[:2] == ("/usr/bin/my-agent", "run")
            assert launch.stdin == b"Hello."


def test_the_full_example_names_every_key() -> None:
    example = blocks("docs/lanes.md", "toml")[0]
    for model in (LaneFile, EnvRow):
        for key in model.model_fields:
            assert re.search(rf"^(\[?{key}\]?|{key} = .*)", example, re.MULTILINE), key


def test_the_job_object_has_the_keys_that_are_documented() -> None:
    found = re.search(r"<!-- job object.*?-->\n```json\n(.*?)```", page("docs/orchestrators.md"), re.DOTALL)
    assert found is not None
    shown = json.loads(found[1])
    real = job_object({}, "/home/you/.outsourcerer", 0.0)
    assert set(shown) == set(real)
    assert set(shown["progress"]) == set(real["progress"])
    assert set(shown["cost"]) == set(real["cost"])


def test_every_json_example_is_json() -> None:
    for example in blocks("docs/orchestrators.md", "json"):
        whole = example.strip()
        for text in whole.splitlines() if whole.startswith('{"schema_version": "1", "seq"') else [whole]:
            assert json.loads(text)["schema_version"] == "1"


def test_the_readme_has_two_commands_first() -> None:
    first = blocks("README.md", "sh")[0]
    assert [line.split("#")[0].strip() for line in first.strip().splitlines()] == ["make demo", "make test"]
