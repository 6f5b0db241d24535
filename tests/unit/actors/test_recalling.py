"""A later supervisor knows the values again that an earlier one's delegates were given."""

import subprocess
import sys
from dataclasses import replace

import pytest
from outsourcerer.actors import redaction
from outsourcerer.actors.recalling import recall
from outsourcerer.actors.redaction import clean
from outsourcerer.lanes.registry import builtin
from outsourcerer.state.errors import StateError

VALUE = "zq9-plain-looking-7w"
LANE = replace(builtin("claude"), secrets=("MY_OWN_WORD",))


class Folder:
    def __init__(self, content: object) -> None:
        self.content = content

    def read_json(self, _name: str) -> object:
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_memory", redaction._Memory())


@pytest.mark.parametrize("name", ["GH_TOKEN", "MY_OWN_WORD"])
def test_from_a_launch_that_waits(name):
    recall(Folder({"env": {name: VALUE, "PLAIN": "harmless-word-1"}}), LANE, None, {})
    assert clean(f"it is {VALUE}, harmless-word-1") == "it is [redacted:known], harmless-word-1"


@pytest.mark.skipif(sys.platform != "linux", reason="its environment is read from /proc")
def test_from_the_environment_of_what_runs():
    script = "print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", script],
        env={"GH_TOKEN": VALUE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as running:
        running.stdout.readline()  # it has begun: until then the environment is its parent's
        recall(Folder(None), LANE, running.pid, {})
        running.communicate(b"\n")
    assert clean(f"it is {VALUE}") == "it is [redacted:known]"


def test_from_where_it_was_found_at_first(tmp_path):
    (tmp_path / ".env").write_text(f"MY_OWN_WORD={VALUE}\n")
    recall(Folder(None), LANE, None, {"HOME": str(tmp_path), "DB_PASSWORD": "other-looking-88"})
    assert clean(f"{VALUE} other-looking-88") == "[redacted:known] [redacted:known]"


@pytest.mark.parametrize("content", [None, {}, {"env": []}, {"env": {"A": 1}}, StateError("state_damaged", "broken")])
def test_nothing_to_be_found_is_no_error(content, tmp_path):
    recall(Folder(content), LANE, 2**22 + 5, {"HOME": str(tmp_path)})
    assert clean(f"it is {VALUE}") == f"it is {VALUE}"
