"""Whom the heartbeat wakes: what a launch brings, what is kept, and what is never written."""

import json
import os

import pytest
from fakes.state import refusal_of, scratch_home
from outsourcerer.state.heartbeat_file import Arming, armed_by, joined, read_arming, replaced, write_arming
from outsourcerer.state.settings import Settings


def arming(**environ):
    return armed_by(Settings.load(environ), {"PATH": "/bin", "LC_ALL": "C", "API_KEY": "secret", "HOME": "/h"})


def test_what_a_caller_s_environment_says():
    found = arming(OSRC_HEARTBEAT_WAKE="notify", OSRC_HEARTBEAT_CADENCE="60", OSRC_HEARTBEAT_WAKE_DIGEST="0")
    assert (found.wake, found.cadence_s, found.digest, found.sinks) == ("notify", 60.0, False, ("command",))
    assert found.environment == {"PATH": "/bin", "LC_ALL": "C", "HOME": "/h"}
    assert arming().sinks == ()


@pytest.mark.parametrize(
    "environ",
    [
        {"OSRC_HEARTBEAT_SINK": "relative/file"},
        {"OSRC_HEARTBEAT_SINK": "-"},
        {"OSRC_HEARTBEAT_WEBHOOK": "http://example.com/x"},
        {"OSRC_HEARTBEAT_WEBHOOK": "ftp://example.com/x"},
        {"OSRC_HEARTBEAT_WEBHOOK": "https://"},
        {"OSRC_HEARTBEAT_WEBHOOK": "https://[broken"},
        {"OSRC_HEARTBEAT_WAKE": "  "},
    ],
)
def test_a_sink_that_can_t_be_one_is_refused_with_what_helps(environ):
    refused = refusal_of(lambda: arming(**environ))
    assert refused is not None
    assert "OSRC_HEARTBEAT" in refused.refusal.hint


@pytest.mark.parametrize("address", ["https://example.com/x", "http://127.0.0.1:9/x", "http://[::1]/"])
def test_an_address_that_can_be_posted_to(address):
    assert arming(OSRC_HEARTBEAT_WEBHOOK=address).sinks == ("webhook",)


def test_it_is_kept_without_the_key(tmp_path):
    home = scratch_home(tmp_path)
    given = arming(
        OSRC_HEARTBEAT_WAKE="a 'b' $c", OSRC_HEARTBEAT_WEBHOOK="https://h/x", OSRC_HEARTBEAT_WEBHOOK_SECRET="whsec_key1"
    )
    write_arming(home, given)
    assert b"whsec_key1" not in (home.root / "heartbeat.json").read_bytes()
    assert (home.root / "heartbeat.json").stat().st_mode & 0o777 == 0o600
    kept = read_arming(home)
    assert kept == Arming(**{**{name: getattr(given, name) for name in Arming.__slots__}, "webhook_secret": None})
    assert kept.webhook_signed
    again = joined(kept, arming(OSRC_HEARTBEAT_WEBHOOK_SECRET="whsec_key1"))
    assert again.webhook_secret == "whsec_key1", "the next launch brings it"


def test_a_launch_adds_its_sinks_and_a_start_replaces_them():
    known, brought = Arming(wake="one", desktop=True), Arming(wake="two", sink="/f")
    assert joined(known, brought).sinks == ("command", "file", "desktop")
    assert joined(known, brought).wake == "two"
    assert joined(known, Arming()) is known
    assert replaced(known, brought).sinks == ("command", "file")
    assert replaced(known, Arming()) is known


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"wake": 3}',
        json.dumps({"wake": "x", "cadence_s": -1, "wake_timeout_s": 1, "environment": {}}).encode(),
        json.dumps({"wake": "x", "cadence_s": 1, "wake_timeout_s": 1, "environment": {"a": 1}}).encode(),
        b"[" * 100_000,
    ],
)
def test_what_can_t_be_read_is_nothing(tmp_path, data):
    home = scratch_home(tmp_path)
    (home.root / "heartbeat.json").write_bytes(data)
    assert read_arming(home) is None


def test_a_fifo_in_its_place_is_not_waited_for(tmp_path):
    home = scratch_home(tmp_path)
    os.mkfifo(home.root / "heartbeat.json")
    assert read_arming(home) is None
