"""The CLI's own HTTP: strict in what it sends, and stricter in what it accepts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from executor.surfaces.http.client import Answer, Connection, WireError, encode_request


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server that reads a request, answers with these bytes one after the other, and closes."""
    seen: list[bytes] = []

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            for answer in answers:
                seen.append(peer.recv(65536))
                peer.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], seen
        thread.join(120)


def ask(*answers: bytes) -> list[Answer]:
    with answering(*answers) as (port, _):
        connection = Connection("127.0.0.1", port, 10)
        try:
            return [connection.request("GET", "/", {}, None, seconds=60) for _ in answers]
        finally:
            connection.close()


def test_requests_share_a_connection_and_say_what_they_carry() -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with answering(whole, b"HTTP/1.1 404 Not Found\r\ncontent-length:0\r\nConnection: Close\r\n\r\n") as (port, seen):
        connection = Connection("127.0.0.1", port, 10)
        first = connection.request("POST", "/a?b=%20", {"Accept": "x"}, b"[1]", seconds=60)
        assert connection.is_open
        second = connection.request("GET", "/", {}, None, seconds=60)
        assert not connection.is_open
        connection.close()
    assert (first, second) == (Answer(200, b"{}"), Answer(404, b""))
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    assert seen[0] == b"POST /a?b=%20 HTTP/1.1\r\n" + host + b"Accept: x\r\nContent-Length: 3\r\n\r\n[1]"
    assert seen[1] == b"GET / HTTP/1.1\r\n" + host + b"\r\n"


def test_an_answer_without_a_length_ends_with_the_connection_or_has_no_body() -> None:
    assert ask(b"HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\nwhy") == [Answer(400, b"why")]
    assert ask(b"HTTP/1.1 204 No Content\r\n\r\n") == [Answer(204, b"")]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n folded: header\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"x%d: y\r\n" % n for n in range(200)) + b"Content-Length: 0\r\n\r\n",
    ],
)
def test_an_answer_that_our_daemon_would_not_give_is_refused(answer: bytes) -> None:
    with pytest.raises(WireError):
        ask(answer)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/a b", {}),
        ("/a\r\nHost: evil", {}),
        ("/ä", {}),
        ("a", {}),
        ("/", {"Authorization": "Bearer x\r\nX: y"}),
        ("/", {"Authorization": "Bearer ä"}),
    ],
)
def test_nothing_that_could_end_a_line_early_is_sent(path: str, headers: dict[str, str]) -> None:
    with pytest.raises(WireError):
        encode_request("GET", path, headers, None)


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


def follow_lines(answer: bytes) -> list[bytes]:
    with answering(answer) as (port, _):
        connection = Connection("127.0.0.1", port, 10)
        try:
            lines = connection.follow("POST", "/", {}, b"{}", seconds=60)
            assert not isinstance(lines, Answer)
            assert not connection.is_open
            return list(lines)
        finally:
            connection.close()


def test_a_stream_of_events_is_read_line_by_line_however_it_is_cut() -> None:
    assert follow_lines(STREAM + b"6\r\nevent:\r\nb\r\n a\ndata: b\n\r\n0\r\n\r\n") == [b"event: a", b"data: b"]


@pytest.mark.parametrize("rest", [b"5\r\nab", b"zz\r\nab\r\n", b"-1\r\n", b"2\r\nabcd\r\n", b""])
def test_a_broken_stream_is_an_error(rest: bytes) -> None:
    with pytest.raises(WireError):
        follow_lines(STREAM + rest)


def test_what_is_no_stream_is_an_answer_also_to_who_would_follow() -> None:
    with answering(b"HTTP/1.1 409 No\r\nContent-Length: 2\r\n\r\n{}") as (port, _):
        connection = Connection("127.0.0.1", port, 10)
        assert connection.follow("POST", "/", {}, b"{}", seconds=60) == Answer(409, b"{}")
        connection.close()
