"""The egress proxy with a resolver that records what it is asked, and hosts on loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from executor.sessions.egress.host_list import read_hosts
from executor.sessions.egress.proxy import EgressProxy
from executor.sessions.noted_events import NotedEvents
from executor.sessions.party import SessionParty
from executor.sessions.socket_folder import SocketFolder
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import tenancy
from tests.sessions.database import open_database

SECONDS = 60


@dataclass
class Names:
    """A name server: every answer is in `answers`, every question in `asked`."""

    answers: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def look_up(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        found = self.answers.get(host)
        if not found:
            raise OSError("no such name")
        return found.pop(0) if len(found) > 1 else found[0]


@dataclass
class Host:
    """What is at the other end: keeps what it gets, and answers once."""

    port: int = 0
    got: bytearray = field(default_factory=bytearray)
    connections: int = 0
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            first = await reader.read(65536)
            self.got += first
            writer.write(self.answer)
            await writer.drain()
            writer.write_eof() if writer.can_write_eof() else None
            while more := await reader.read(65536):
                self.got += more
        except OSError:
            pass
        finally:
            writer.close()


@dataclass
class Place:
    proxy: EgressProxy
    names: Names
    host: Host
    noted: NotedEvents
    database: Database
    workspace_id: str

    @property
    def party(self) -> SessionParty:
        return SessionParty("ses_1", self.workspace_id, "act_1")

    async def open(self, *allow: str, deny: Sequence[str] = ()) -> Path:
        """`PORT` in an entry is that of the host."""
        hosts = read_hosts([one.replace("PORT", str(self.host.port)) for one in allow], deny)
        return await self.proxy.open(self.party, hosts)

    async def decisions(self) -> list[tuple[str, str, Any]]:
        await self.noted.flush()
        found = await self.database.read(lambda c: events.after(c, self.workspace_id, types=("egress.*",)))
        return [(one.type, one.data["host"], one.data.get("reason")) for one in found]


@asynccontextmanager
async def listening(host: Host, context: ssl.SSLContext | None = None) -> AsyncIterator[Host]:
    server = await asyncio.start_server(host.serve, "127.0.0.1", 0, ssl=context)
    host.port = server.sockets[0].getsockname()[1]
    yield host
    server.close()


async def open_place(folder: Path, host: Host, *, allow_private: bool) -> Place:
    database = open_database(folder)
    made = await database.write(tenancy.provision)
    noted, names = NotedEvents(database), Names({"good.example": [["127.0.0.1"]]})
    proxy = EgressProxy(SocketFolder(folder / "s"), noted, allow_private=allow_private, lookup=names.look_up)
    return Place(proxy, names, host, noted, database, made.workspace.id)


async def close_place(place: Place) -> None:
    await place.proxy.close()
    await place.noted.close()
    await place.database.close()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """Private addresses are allowed, so that hosts can be on loopback."""
    async with listening(Host()) as host:
        place = await open_place(tmp_path, host, allow_private=True)
        yield place
        await close_place(place)


@pytest.fixture
async def public_place(tmp_path: Path) -> AsyncIterator[Place]:
    async with listening(Host()) as host:
        place = await open_place(tmp_path, host, allow_private=False)
        yield place
        await close_place(place)


async def exchange(socket: Path, request: bytes, then: bytes = b"") -> bytes:
    """Everything that comes back. `then` is sent once the head of an answer is there."""
    reader, writer = await asyncio.open_unix_connection(str(socket))
    async with asyncio.timeout(SECONDS):
        writer.write(request)
        received = b""
        if then:
            received = await reader.readuntil(b"\r\n\r\n")
            writer.write(then)
        with suppress(ConnectionResetError):
            received += await reader.read()
    writer.close()
    return received


def client_hello(name: str | None) -> bytes:
    """As a TLS client sends it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()
