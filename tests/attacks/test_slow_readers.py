"""Readers that take large answers slowly hold little of the daemon, and nobody else waits for them."""

from __future__ import annotations

import hashlib
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from executor.surfaces.http import deliveries
from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.api.identities import Caller, agent, create_key, expect_created, operator

LIMIT = 60.0
SIZE = 5_000_000  # more than the kernel takes for a reader who reads nothing: 4 MiB on Linux
READERS = 8


@pytest.fixture(scope="module")
def large(daemon: Daemon) -> tuple[str, bytes]:
    """The address of an answer of five megabytes, and the answer."""
    caller = agent(daemon, "writes much")
    code = f"let text = ''; for (let i = 0; text.length < {SIZE}; i++) text += i + ' '; return text"
    path = f"/v1/executions/{expect_created(caller.post('/v1/executions', {'code': code}))['executionId']}"
    return path, operator(daemon).get(path).body


@pytest.fixture
def small_deliveries(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[deliveries.Deliveries]:
    """Room for two of them in memory."""
    monkeypatch.setattr(deliveries, "MOST_HELD", 2 * SIZE + 1_000_000)
    under_way = daemon.front.deliveries
    wait_for(lambda: under_way.held == under_way.spilled_bytes == 0, LIMIT)
    yield under_way
    wait_for(lambda: under_way.held == under_way.spilled_bytes == 0, LIMIT)


def slow_reader(caller: Caller, path: str, stack: ExitStack) -> socket.socket:
    """Asks, and takes nothing of the answer."""
    reader = stack.enter_context(socket.socket())
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.settimeout(LIMIT)
    reader.connect(("127.0.0.1", caller.daemon.port))
    reader.sendall(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{caller.daemon.port}\r\n"
        f"Authorization: Bearer {caller.token}\r\nConnection: close\r\n\r\n".encode()
    )
    return reader


def read_to_end(reader: socket.socket) -> bytes:
    received = bytearray()
    with suppress(ConnectionError):
        while data := reader.recv(65_536):
            received += data
    return bytes(received.partition(b"\r\n\r\n")[2])


def test_slow_readers_hold_bounded_memory_and_get_every_byte(
    daemon: Daemon, large: tuple[str, bytes], small_deliveries: deliveries.Deliveries
) -> None:
    path, answer = large
    with ExitStack() as stack:
        readers = [slow_reader(operator(daemon), path, stack) for _ in range(READERS)]
        wait_for(lambda: small_deliveries.held + small_deliveries.spilled_bytes >= READERS * SIZE, LIMIT)
        assert small_deliveries.held <= deliveries.MOST_HELD
        assert hashlib.sha256(operator(daemon).get(path).body).digest() == hashlib.sha256(answer).digest()
        assert daemon.get("/healthz").status == 200
        for reader in readers:
            assert json.loads(read_to_end(reader)) == json.loads(answer)


def test_when_the_room_for_slow_readers_is_full_the_slowest_is_dropped(
    daemon: Daemon,
    large: tuple[str, bytes],
    small_deliveries: deliveries.Deliveries,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(deliveries, "MOST_SPILLED", 4 * SIZE)
    path, answer = large
    with ExitStack() as stack, caplog.at_level(logging.WARNING):
        readers = [slow_reader(operator(daemon), path, stack) for _ in range(READERS)]
        wait_for(lambda: "dropped a slow reader" in caplog.text, LIMIT)
        assert operator(daemon).get(path).body == answer
        assert small_deliveries.spilled_bytes <= deliveries.MOST_SPILLED
        whole = [read_to_end(reader) == answer for reader in readers]
        assert 2 <= whole.count(True) < READERS
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("number", [1, 5], ids=["held", "spilled"])
def test_a_half_read_answer_is_broken_off_when_its_credential_ends(
    daemon: Daemon, large: tuple[str, bytes], small_deliveries: deliveries.Deliveries, number: int
) -> None:
    path, answer = large
    key = create_key(daemon, "read")
    with ExitStack() as stack:
        readers = [slow_reader(key, path, stack) for _ in range(number)]
        wait_for(lambda: small_deliveries.held + small_deliveries.spilled_bytes >= number * SIZE, LIMIT)
        newest = operator(daemon).get("/v1/keys").json["items"][-1]
        assert operator(daemon).delete(f"/v1/keys/{newest['id']}").status == 204
        for reader in readers:
            assert len(read_to_end(reader)) < len(answer)
