"""What anybody can do to the daemon before they have said who they are: with bytes, over real sockets."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from executor.daemon.server import http_protocol
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import agent, operator, signed_in

LIMIT = 60.0
MUCH = 32 * 1024 * 1024  # what an attacker would like to have kept
PIECE = 64 * 1024


@contextmanager
def connect(daemon: Daemon) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=LIMIT) as connection:
        yield connection


def head(daemon: Daemon, line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", f"Host: 127.0.0.1:{daemon.port}", *headers, "", ""]).encode()


def receive(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    assert data, "the connection was closed"
    return data


def answer(connection: socket.socket) -> bytes:
    """Everything until it is closed. A client that still sends may be reset; what came before counts."""
    answered = b""
    with suppress(ConnectionError):
        while data := connection.recv(65_536):
            answered += data
    return answered


def pour(connection: socket.socket, piece: bytes) -> int:
    """How many bytes the daemon took before it had enough."""
    poured = 0
    with suppress(ConnectionError):
        while poured < MUCH:
            poured += connection.send(piece)
    return poured


ENDLESS = {
    "many headers": b"X-Some-Header: " + b"a" * 1000 + b"\r\n",
    "one header": b"a" * PIECE,
    "tiny headers": b"a:b\r\n" * 10_000,
    "a header's name": b"n" * PIECE,
}


@pytest.mark.parametrize("before", ["first", "second"])
@pytest.mark.parametrize("endless", ENDLESS)
def test_endless_headers_are_refused_early(daemon: Daemon, endless: str, before: str) -> None:
    with connect(daemon) as connection:
        if before == "second":
            connection.sendall(head(daemon, "GET /healthz"))
            while not receive(connection).endswith(b'{"ok":true}'):
                pass
        begun = head(daemon, "GET /healthz")[:-2]
        connection.sendall(begun if endless != "one header" else begun + b"X-Long: ")
        assert pour(connection, ENDLESS[endless]) < MUCH
        assert answer(connection)[:13] in (b"HTTP/1.1 431 ", b"")


TOO_MUCH = [["A: b"] * 201, ["A: " + "b" * 70_000], [f"A{n}: {'b' * 700}" for n in range(100)]]


@pytest.mark.parametrize("headers", TOO_MUCH, ids=["number", "one", "together"])
def test_headers_beyond_the_bounds_answer_431_as_a_problem(daemon: Daemon, headers: list[str]) -> None:
    with connect(daemon) as connection:
        connection.sendall(head(daemon, "GET /healthz", *headers))
        answered = answer(connection)
    assert answered.startswith(b"HTTP/1.1 431 ")
    problem = json.loads(answered.partition(b"\r\n\r\n")[2])
    assert (problem["status"], problem["code"]) == (431, "headers_too_large")
    assert problem["hint"]


def test_many_headers_within_the_bounds_are_read(daemon: Daemon) -> None:
    with connect(daemon) as connection:
        many = [f"A{n}: {'b' * 250}" for n in range(190)]
        connection.sendall(head(daemon, "GET /healthz", "Connection: close", *many))
        assert answer(connection).startswith(b"HTTP/1.1 200 ")


def test_an_endless_address_is_refused(daemon: Daemon) -> None:
    with connect(daemon) as connection:
        connection.sendall(b"GET /")
        assert pour(connection, b"a" * PIECE) < MUCH
        assert answer(connection)[:13] in (b"HTTP/1.1 414 ", b"HTTP/1.1 431 ", b"")
    with connect(daemon) as connection:
        connection.sendall(head(daemon, f"GET /{'a' * 20_000}"))
        assert answer(connection).startswith(b"HTTP/1.1 414 ")


CODE = b'{"code": "return 1"}'
CHUNK = b"%x\r\n%s\r\n0\r\n" % (len(CODE), CODE)


def send_chunked(daemon: Daemon, trailers: list[str], *headers: str) -> bytes:
    """A whole request whose trailers say what its headers did not."""
    sent = head(daemon, "POST /v1/executions", "Transfer-Encoding: chunked", "Connection: close", *headers)
    return sent + CHUNK + "".join(f"{line}\r\n" for line in trailers).encode() + b"\r\n"


def status_of(daemon: Daemon, request: bytes) -> int:
    with connect(daemon) as connection:
        connection.sendall(request)
        return int(answer(connection).split(b" ", 2)[1])


JSON = "Content-Type: application/json"


def test_a_trailer_is_never_a_header(daemon: Daemon) -> None:
    token = f"Authorization: Bearer {daemon.tokens.operator}"
    cookie, origin = f"Cookie: {signed_in(daemon).cookie}", f"Origin: {daemon.url}"
    assert status_of(daemon, send_chunked(daemon, [], JSON, token)) == 201
    assert status_of(daemon, send_chunked(daemon, [token], JSON)) == 401
    assert status_of(daemon, send_chunked(daemon, [JSON], token)) == 415
    assert status_of(daemon, send_chunked(daemon, [], JSON, cookie, origin)) == 201
    assert status_of(daemon, send_chunked(daemon, [origin], JSON, cookie)) == 403
    assert status_of(daemon, send_chunked(daemon, ["X-Executor-Workspace: ws_elsewhere"], JSON, token)) == 201


FRAMING = {"value": b"0\r\nX-Trailer: ", "lines": b"0\r\n", "extension": b"5;extension="}


@pytest.mark.parametrize("framing", FRAMING.values(), ids=FRAMING)
def test_endless_trailers_and_chunk_extensions_are_cut_off(daemon: Daemon, framing: bytes) -> None:
    piece = b"X-Trailer: a\r\n" * 5_000 if framing == b"0\r\n" else b"a" * PIECE
    token = f"Authorization: Bearer {daemon.tokens.operator}"
    with connect(daemon) as connection:
        connection.sendall(head(daemon, "POST /v1/executions", "Transfer-Encoding: chunked", JSON, token) + framing)
        assert pour(connection, piece) < MUCH


def test_endless_pipelined_requests_are_cut_off_and_others_are_served(daemon: Daemon) -> None:
    with connect(daemon) as connection:
        assert pour(connection, head(daemon, "GET /v1/status", "X: y") * 400) < MUCH
        assert daemon.get("/healthz").status == 200


def test_a_few_pipelined_requests_are_all_answered(daemon: Daemon) -> None:
    with connect(daemon) as connection:
        last = head(daemon, "GET /healthz", "Connection: close")
        connection.sendall(head(daemon, "GET /healthz") * 5 + last)
        assert answer(connection).count(b"HTTP/1.1 200 ") == 6


def test_a_client_that_takes_every_connection_keeps_no_one_out(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """`protocol.make_room`: silent connections, half heads and half bodies go before what is being answered."""
    monkeypatch.setattr(http_protocol, "most_connections", lambda: 30)
    half_body = head(daemon, "POST /v1/auth/sign-in", JSON, "Content-Length: 100") + b"{"
    with connect(daemon) as stream:
        token = f"Authorization: Bearer {daemon.tokens.operator}"
        stream.sendall(head(daemon, "GET /v1/events?live=true", token, "Accept: text/event-stream"))
        assert b": connected" in stream.recv(65_536) + stream.recv(65_536)
        attackers = []
        try:
            for number in range(90):
                one = socket.create_connection(("127.0.0.1", daemon.port), timeout=LIMIT)
                attackers.append(one)
                with suppress(ConnectionError):
                    one.sendall((b"", b"GET / HTTP/1.1\r\nHost: x\r\n", half_body)[number % 3])
                if number % 10 == 0:
                    assert daemon.get("/healthz").status == 200
            assert operator(daemon).get("/v1/auth/whoami").status == 200
            operator(daemon).post("/v1/executions", {"code": "console.log('STILL-SEEN')"})
            seen = b""
            while b"STILL-SEEN" not in seen:
                seen += stream.recv(65_536)
        finally:
            for one in attackers:
                one.close()


def test_a_client_that_goes_away_is_no_error_and_its_wait_ends(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    caller = agent(daemon, "fleeting")
    token = f"Authorization: Bearer {caller.token}"
    waits = daemon.app.state.streams.waits
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    slow = "await new Promise(done => setTimeout(done, 200000))"
    over_mcp = {**message, "params": {"name": "execute", "arguments": {"code": slow}}}
    bodies = {
        "/v1/executions": json.dumps({"code": slow, "wait": 600}).encode(),
        "/mcp": json.dumps(over_mcp).encode(),
    }
    with caplog.at_level(logging.WARNING):
        for path, body in bodies.items():
            version = ("MCP-Protocol-Version: 2025-11-25", "Accept: application/json, text/event-stream")
            sent = head(daemon, f"POST {path}", token, JSON, f"Content-Length: {len(body)}", *version)
            for cut in (0, 1, len(body) // 2):
                with connect(daemon) as connection:
                    connection.sendall(sent + body[:cut])
            before = waits.count
            with connect(daemon) as connection:
                connection.sendall(sent + body)
                wait_for(lambda before=before: waits.count == before + 1, LIMIT)
            wait_for(lambda before=before: waits.count == before, LIMIT)
        assert daemon.get("/healthz").status == 200
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    for one in operator(daemon).get("/v1/executions?status=running").json["items"]:
        operator(daemon).post(f"/v1/executions/{one['executionId']}/cancel")
