"""A result that can't be read is not one that is empty."""

import os

import pytest
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.following import read_result
from outsourcerer.cli.postmortem import classify

DONE = {"state": "done"}


@pytest.mark.parametrize(
    ("has_result", "label"),
    [
        (True, ("REUSE-OUTPUT", "completed")),
        (False, ("REAL-FAIL", "empty-output")),
        (None, ("REAL-FAIL", "unreadable-output")),
    ],
)
def test_classify_tells_unreadable_from_empty(has_result, label):
    assert classify(DONE, ended=True, has_result=has_result) == label


def test_a_pipe_in_place_of_the_result_is_said_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "last.txt")
    with pytest.raises(CliError, match="not a regular file"):
        read_result({"result_path": str(tmp_path / "last.txt")})
