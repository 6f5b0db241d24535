"""The registry: lazy, alphabetical, and its refusals."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from outsourcerer.lanes.contract import Lane
from outsourcerer.lanes.registry import all_lanes, builtin, names
from outsourcerer.messages.refusals import RefusalCode, Refused

GOOD = b'argv = ["a"]\n[verbs]\nrun = "READ-ONLY"\n'


def test_the_built_in_lanes_are_in_order_and_what_their_rows_say() -> None:
    assert list(names()) == sorted(names())
    tiers = all_lanes({}).tiers()
    for name in names():
        lane = builtin(name)
        assert (lane.name, lane.source) == (name, "built-in")
        assert tiers[name] is lane.default_tier
    with pytest.raises(KeyError):
        builtin("nobody")


def test_importing_the_registry_loads_no_lane() -> None:
    code = (
        "import sys; from outsourcerer.lanes import registry; registry.names(); registry.Registry().tiers();"
        "bad = [m for m in sys.modules if m.startswith('outsourcerer.lanes.')"
        " and m.split('.')[2] in (*registry.names(), 'custom', 'catalog')]; sys.exit(str(bad) if bad else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_declared_lanes_are_found_by_the_name_of_their_file() -> None:
    registry = all_lanes({"/home/x/lanes.d/mine.toml": GOOD, "/home/x/lanes.d/bad.toml": b"argv = 3"})
    assert registry.names() == tuple(sorted((*names(), "mine")))
    assert registry.get("mine").source == "/home/x/lanes.d/mine.toml"
    [problem] = registry.problems
    assert problem.code is RefusalCode.BAD_CONFIG
    assert "bad.toml" in problem.message


def test_nobody_takes_a_built_in_name() -> None:
    registry = all_lanes({"claude.toml": GOOD}, {"codex": builtin("codex"), "x": 3})
    assert registry.custom == {}
    assert len(registry.problems) == 3


def test_a_package_may_announce_a_lane_and_a_file_outranks_it() -> None:
    plugin = replace(builtin("codex"), name="mine", summary="from a package", source="package")
    assert all_lanes({}, {"mine": plugin}).get("mine").summary == "from a package"
    assert all_lanes({"mine.toml": GOOD}, {"mine": plugin}).get("mine").summary != "from a package"


def test_an_unknown_lane_is_refused_with_the_nearest() -> None:
    refused = all_lanes({}).get("codx")
    assert isinstance(refused, Refused)
    assert "Did you mean codex?" in refused.message
    assert isinstance(all_lanes({}).get("claude"), Lane)
