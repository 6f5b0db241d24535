"""Which ids are given to the commands of loops and groups."""

import click
import pytest
from outsourcerer.cli.id_routing import is_other


def test_one_that_is_none_of_a_job_stands_alone():
    assert is_other(("loop-20261130",))
    assert not is_other(("20261130-01", "label"))
    assert not is_other(())
    with pytest.raises(click.UsageError, match="is a loop"):
        is_other(("20261130-01", "loop-20261130"))
