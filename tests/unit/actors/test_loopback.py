"""A supervisor on a port: who holds the token comes in, nobody else does, and a stranger on the port learns nothing."""

import contextlib
import socket
import threading

import pytest
from fakes.state import scratch_home
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors import loopback
from outsourcerer.cli.client import Connection, NoConnectionError
from outsourcerer.cli.loopback import connect
from outsourcerer.messages.loopback import HOST, TOKEN_FILE, address, admits, answer, hello, nonce_of, parse, proven

TOKEN, ONE, OTHER = b"t" * 32, b"1" * 32, b"2" * 32


@pytest.mark.parametrize(
    "text", ["/run/x.sock", "tcp:", "tcp:80", "tcp:0:/x", "tcp:99999:/x", "tcp:8e:/x", "tcp:-1:/x"]
)
def test_what_is_no_address(text):
    assert parse(text) is None


def test_an_address_leads_back():
    assert parse(address(4711, "/home/a:b/token")) == (4711, "/home/a:b/token")


def test_both_sides_prove_themselves():
    assert nonce_of(hello(ONE)) == ONE
    said = proven(TOKEN, ONE, answer(TOKEN, ONE, OTHER))
    assert said is not None
    assert admits(TOKEN, ONE, OTHER, said)
    assert proven(b"x" * 32, ONE, answer(TOKEN, ONE, OTHER)) is None, "a server of another token"
    assert not admits(b"x" * 32, ONE, OTHER, said), "a client of another token"
    assert not admits(TOKEN, ONE, ONE, said), "said again in another conversation"
    echoed = answer(TOKEN, ONE, OTHER).strip().partition(b" ")[2]
    assert not admits(TOKEN, ONE, OTHER, echoed), "the server's own proof sent back"


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=80))
def test_whatever_is_sent_is_no_proof(line):
    assert proven(TOKEN, ONE, line) is None
    assert not admits(TOKEN, ONE, OTHER, line)
    assert nonce_of(line) is None


@pytest.fixture
def port(tmp_path):
    """An open port; what the server thought of each client, in order."""
    home = scratch_home(tmp_path)
    listener, where, token = loopback.open_port(home, 8)
    thought = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    admitted = False
                    with contextlib.suppress(OSError):
                        admitted = loopback.admit(client, token)
                    thought.append(admitted)
                    if admitted:
                        client.sendall(b"frames")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield home, where, thought
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(120)


def test_who_holds_the_token_comes_in(port):
    home, where, thought = port
    assert (home.root / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    made = connect(*parse(where))
    try:
        assert made.recv(6) == b"frames"
    finally:
        made.close()
    assert thought == [True]


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\n", b"x" * 300, hello(ONE) + b"0" * 64 + b"\n"])
def test_who_does_not_is_told_nothing(port, said):
    _, where, thought = port
    with socket.create_connection((HOST, parse(where)[0]), timeout=20) as stranger:
        heard = b""
        with contextlib.suppress(OSError):  # it may be gone before all is said
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            while data := stranger.recv(4096):
                heard += data
    assert b"frames" not in heard
    connect(*parse(where)).close()
    assert thought[0] is False


def test_a_stranger_on_the_port_gets_no_request(port):
    home, _, _ = port
    stranger = socket.create_server((HOST, 0))
    heard = []

    def listen():
        client, _ = stranger.accept()
        with client:
            heard.append(client.recv(4096))
            client.sendall(b"00 11\n")
            client.settimeout(20)
            heard.append(client.recv(4096))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    with pytest.raises(NoConnectionError, match="somebody else"):
        Connection(address(stranger.getsockname()[1], str(home.root / TOKEN_FILE)))
    thread.join(120)
    stranger.close()
    token = (home.root / TOKEN_FILE).read_bytes()
    assert heard[0].startswith(b"osrc-loopback-1 ")
    assert token not in heard[0]
    assert heard[1:] == [b""]


@pytest.mark.parametrize("token", [None, b"zz", b"\xff"])
def test_a_token_that_can_t_be_read(port, token):
    home, where, _ = port
    (home.root / TOKEN_FILE).unlink()
    if token is not None:
        (home.root / TOKEN_FILE).write_bytes(token)
    with pytest.raises(NoConnectionError, match="port"):
        Connection(where)
