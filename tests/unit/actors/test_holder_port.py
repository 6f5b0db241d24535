"""A holder's door at a port: who has not proved to hold the token is not heard, and the token is never sent."""

import json
import socket
import threading

import pytest
from fakes.actors import eventually
from outsourcerer.actors.holder_door import Door
from outsourcerer.actors.holder_loop import SelectLoop
from outsourcerer.actors.holders import HolderRoad, knock, road_for
from outsourcerer.cli.loopback import connect_with
from outsourcerer.messages import loopback
from outsourcerer.messages.job import Identity
from outsourcerer.state.home import Home
from outsourcerer.state.session_folder import HolderRecord
from outsourcerer.state.settings import Settings

ME = Identity(pid=1, started=1, boot_id="b")


def ask(place, token, *lines):
    """What whoever holds the token is told to these lines, until the door closes."""
    with socket.socket(fileno=connect_with(loopback.door_port(place), token).detach()) as made:
        made.settimeout(20)
        made.sendall(b"\n".join((*lines, b"[]", b"")))  # no request: it is the last that is answered
        said = b""
        while data := made.recv(4096):
            said += data
    return [json.loads(line).get("op") for line in said.splitlines()][:-1]


@pytest.fixture
def served():
    """A door that is served in a thread, its address, and what it heard."""
    loop, heard = SelectLoop(), []

    def answer(op, request):
        heard.append((op, {name: value for name, value in request.items() if name != "op"}))
        return {"ok": True, "op": op}

    door = Door(loop, loopback.door(0), "right", answer)
    place = door.open()
    loop.open_to_threads()
    thread = threading.Thread(target=loop.run)
    thread.start()
    yield place, heard
    loop.tell(lambda: setattr(loop, "stopped", True))
    thread.join()
    door.close()
    with pytest.raises(ConnectionRefusedError):
        connect_with(loopback.door_port(place), b"right")


def holder(place, token="right"):
    return HolderRecord(attempt=1, holder=ME, delegate=None, socket=place, token=token)


def test_a_holder_of_the_token_is_answered_and_sends_it_to_nobody(served):
    place, heard = served
    assert knock(holder(place), "close", cause="enough")
    assert ask(place, b"right", b'{"op": "look"}', b'{"op": "state"}') == ["look", "state"]
    eventually(lambda: len(heard) == 3)
    assert sorted(heard, key=str) == [("close", {"cause": "enough"}), ("look", {}), ("state", {})]


@pytest.mark.parametrize(
    "said",
    [
        b'{"token": "right", "op": "close"}\n',
        b"\n",
        loopback.hello(b"n" * 31),
        loopback.hello(b"n" * 32) + b"0" * 64 + b"\n",
        b"x" * 70_000,
    ],
)
def test_who_does_not_prove_it_is_sent_away_unheard(served, said):
    place, heard = served
    with socket.create_connection((loopback.HOST, loopback.door_port(place))) as made:
        made.settimeout(20)
        told = b""
        try:
            made.sendall(said)
            while data := made.recv(4096):
                told += data
        except ConnectionError:
            pass
    assert (b"right" not in told, heard) == (True, [])
    with pytest.raises(ConnectionRefusedError, match="somebody else"):
        ask(place, b"wrong", b'{"op": "close"}')
    assert heard == []


def test_whoever_took_the_port_learns_and_gets_nothing():
    heard = bytearray()
    with socket.create_server((loopback.HOST, 0)) as server:

        def pretend():
            made, _ = server.accept()
            with made:
                heard.extend(made.recv(4096))
                made.sendall(b"0" * 64 + b" " + b"1" * 64 + b"\n")
                while data := made.recv(4096):
                    heard.extend(data)

        thread = threading.Thread(target=pretend)
        thread.start()
        assert knock(holder(loopback.door(server.getsockname()[1]), "secret"), "state")
        thread.join()
    assert heard.startswith(loopback.HELLO)
    assert (b"secret" in heard, b"state" in heard) == (False, False)


def test_addresses():
    assert loopback.door_port(loopback.door(7)) == 7
    assert [loopback.door_port(text) for text in ("tcp:", "tcp:0", "tcp:65536", "tcp:1:x", "tcp:٣", "/s")] == [None] * 6
    assert (loopback.is_port("tcp:0"), loopback.is_port("/tcp:0")) == (True, False)
    assert loopback.parse(loopback.address(7, "C:/t")) == (7, "C:/t")


def test_how_holders_are_reached_is_a_setting(tmp_path):
    home = Home(tmp_path)
    assert road_for(Settings.load({}, {})) == HolderRoad(plain=False, port=False)
    road = road_for(Settings.load({"OSRC_SPAWN": "plain", "OSRC_LOOPBACK": "1"}, {}))
    assert (road.plain, road.port, road.door(home, "s")) == (True, True, "tcp:0")
    assert HolderRoad(plain=False, port=False).door(home, "s").endswith(".sock")
