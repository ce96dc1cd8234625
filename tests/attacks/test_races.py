"""Keys that are rotated while calls use them, artifacts that are deleted while they are read, names that turn inside.

The last with a name server of the test's own: every look-up is a real query, and every answer may differ.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpcore2
import pytest

from executor.daemon.wiring.executor import Executor
from executor.errors import EgressRefused, ExecutorError, NotFound
from executor.network.private_access import PUBLIC
from executor.settings import Settings
from executor.sources.mcp.sessions.allowance import Allowance
from executor.sources.mcp.transports.http_connections import GuardedBackend
from executor.sources.source_request import SourceRequest
from executor.storage.executions import artifacts
from tests.attacks.test_network import caught, connect
from tests.execution.conftest import ExecutorHarness
from tests.sources.upstream import Upstream, as_json
from tests.sources.upstream import serving as serving_upstream
from tests.support.connection_harness import ConnectionHarness, value
from tests.support.protected_service import ProtectedService, running
from tests.surfaces.api.daemon_server import running_daemon

# -- keys -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def service() -> Iterator[ProtectedService]:
    with running() as server:
        yield server


@pytest.fixture
async def connection_harness(tmp_path: Path, service: ProtectedService) -> AsyncIterator[ConnectionHarness]:
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(tmp_path / "state")}
    executor = await Executor.open(Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"}))
    connection_harness = ConnectionHarness(executor, service)
    await connection_harness.add_source()
    yield connection_harness
    await executor.close()


async def test_108_keys_are_rotated_while_calls_resolve_their_credentials(
    connection_harness: ConnectionHarness,
) -> None:
    """Defence: sealing anew is one transaction, and a value is unsealed by the key that its own row names."""
    await connection_harness.connect("token", {"token": "first-of-all"})
    code = "return (await tools.guarded.use.bearer({})).headers.authorization.length"
    secrets, by = connection_harness.executor.secrets, connection_harness.executor.tenancy.operator

    async def rotate() -> None:
        for _ in range(5):
            await secrets.rotate_key(workspace_id=connection_harness.workspace_id, by=by)

    async def call() -> None:
        for _ in range(5):
            assert value(await connection_harness.run(code)) > 0

    await asyncio.gather(rotate(), *(call() for _ in range(4)), rotate())
    sent = {one["headers"].get("authorization") for one in connection_harness.service.calls}
    assert sent == {"Bearer first-of-all"} and len(connection_harness.service.calls) == 20


# -- artifacts --------------------------------------------------------------------------------------------------------


async def test_109_an_artifact_deleted_after_it_was_looked_up_is_gone_and_not_empty(
    connection_harness: ConnectionHarness,
) -> None:
    """Defence: `artifacts.content` gives everything that was asked for, or says that it is gone."""
    await connection_harness.run("return 'x'.repeat(400_000)")
    database = connection_harness.executor.database
    (found, *_) = await database.read(lambda c: artifacts.page(c, connection_harness.workspace_id))
    assert len(await database.read(lambda c: artifacts.content(c, found))) == found.size
    await database.write(lambda c: artifacts.delete(c, found) and None)
    for span in ((0, None), (0, 1), (found.size - 1, found.size)):
        with pytest.raises(NotFound):
            await database.read(lambda c, s=span: artifacts.content(c, found, *s))


def test_109_readers_of_an_artifact_get_all_of_it_or_a_refusal(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        for _ in range(3):
            view = daemon.execute("return 'x'.repeat(600_000)", role="operator", wait=60)
            (one,) = daemon.get(f"/v1/artifacts?execution={view['executionId']}").json["items"]
            path, deleted = f"/v1/artifacts/{one['id']}", threading.Event()

            def read(path: str = path, deleted: threading.Event = deleted) -> set[tuple[int, int]]:
                found, after = set(), 0
                while after < 2:
                    after += deleted.is_set()
                    answer = daemon.get(f"{path}/content")
                    found.add((answer.status, len(answer.body) if answer.status == 200 else 0))
                return found

            with ThreadPoolExecutor(4) as pool:
                readers = [pool.submit(read) for _ in range(4)]
                assert daemon.request("DELETE", path).status == 200
                deleted.set()
                seen = set().union(*(reader.result(60) for reader in readers))
            assert seen <= {(200, one["size"]), (404, 0)} and (404, 0) in seen


# -- names ------------------------------------------------------------------------------------------------------------

Answers = Callable[[int], list[str]]


class NameServer:
    """Real, on loopback: says of every name what `answers` says to the query of this number."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.queries = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                query, client = self.socket.recvfrom(512)
            except OSError:
                return
            self.queries += 1
            records = b""
            for text in self.answers(self.queries):
                family = socket.AF_INET6 if ":" in text else socket.AF_INET
                data = socket.inet_pton(family, text)
                kind = 28 if family == socket.AF_INET6 else 1
                records += struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(data)) + data  # kept for 0 seconds
            head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, len(self.answers(self.queries)), 0, 0)
            self.socket.sendto(head + query[12:] + records, client)

    async def look_up(self, host: str, port: int, **_: Any) -> list[Any]:
        """In place of the system's resolver, which asks the name server that the machine is set up with."""
        name = b"".join(bytes([len(part)]) + part.encode() for part in host.split(".")) + b"\0"
        query = b"\0\1" + struct.pack("!HHHHH", 0x0100, 1, 0, 0, 0) + name + struct.pack("!HH", 1, 1)

        def ask() -> bytes:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.settimeout(60)
                client.sendto(query, self.socket.getsockname())
                return client.recv(4096)

        return read_answer(await asyncio.to_thread(ask), len(query), port)

    def close(self) -> None:
        self.socket.close()


def read_answer(answer: bytes, at: int, port: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(struct.unpack("!H", answer[6:8])[0]):
        _, kind, _, _, size = struct.unpack("!HHHIH", answer[at : at + 12])
        data, at = answer[at + 12 : at + 12 + size], at + 12 + size
        family = socket.AF_INET6 if kind == 28 else socket.AF_INET
        text = socket.inet_ntop(family, data)
        found.append((family, socket.SOCK_STREAM, 6, "", (text, port) if kind == 1 else (text, port, 0, 0)))
    return found


REBINDING: dict[str, Answers] = {
    "inside at once": lambda query: ["127.0.0.1"],
    "inside from the second look-up on": lambda query: ["93.184.216.34"] if query == 1 else ["127.0.0.1"],
    "outside and inside at the same time": lambda query: ["93.184.216.34", "127.0.0.1"],
    "inside and outside at the same time": lambda query: ["127.0.0.1", "93.184.216.34"],
    "back and forth": lambda query: ["93.184.216.34"] if query % 2 else ["10.0.0.1"],
    "inside in the newer way": lambda query: ["::1"],
    "inside in both ways at once": lambda query: ["::ffff:127.0.0.1"],
    "inside through a gateway": lambda query: ["64:ff9b::7f00:1"],
    "metadata of a cloud": lambda query: ["169.254.169.254"],
}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving_upstream() as server:
        server.otherwise = as_json({"ok": True})
        yield server


@pytest.mark.parametrize("how", REBINDING)
async def test_108_a_live_name_server_that_turns_a_name_inside(
    harness: ExecutorHarness, upstream: Upstream, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `GuardedResolver` and `GuardedBackend`: one look-up a connection, and its answer alone is used."""
    names, used = NameServer(REBINDING[how]), []
    loop = asyncio.get_running_loop()

    async def start_connection(addr_infos: Any, **_: Any) -> Any:
        used.extend(info[4][0] for info in addr_infos)
        raise OSError("no network in tests")

    await connect(harness, upstream.url.replace("127.0.0.1", "rebind.example"))
    monkeypatch.setattr(loop, "getaddrinfo", names.look_up)
    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", start_connection)
    for _ in range(4):
        await caught(harness, "tools.net.use.plain({})")
    assert set(used) <= {"93.184.216.34"} and upstream.connections == 0
    assert names.queries >= 1  # an answer that was judged may be used for some seconds
    await reached_by_mcp(names, upstream, monkeypatch)
    with pytest.raises((ExecutorError, OSError)):
        port = upstream.server_address[1]
        request = SourceRequest(kind="mcp", location=f"http://rebind.example:{port}/mcp", namespace="m")
        await harness.executor.catalog.add_source(harness.executor.tenancy.workspace.id, request)
    assert upstream.connections == 0
    names.close()


async def reached_by_mcp(names: NameServer, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []

    async def connect_tcp(self: Any, host: str, *args: Any) -> Any:
        used.append(host)
        raise httpcore2.ConnectError("no network in tests")

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect_tcp)
    backend = GuardedBackend(PUBLIC, Allowance(1_000))
    for _ in range(4):
        before = names.queries
        with pytest.raises((EgressRefused, httpcore2.ConnectError)):
            await backend.connect_tcp("rebind.example", upstream.server_address[1])
        assert names.queries == before + 1
    assert set(used) <= {"93.184.216.34"}
