"""`EgressProxy`: a socket for each session that may reach a few hosts, and for nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from executor.errors import Conflict, EgressRefused
from executor.sessions.egress.connection import AgentConnection, close
from executor.sessions.egress.host_list import HostList
from executor.sessions.egress.relay import Traffic
from executor.sessions.egress.request_head import MAX_HEAD
from executor.sessions.egress.resolver import Lookup, Resolver, look_up
from executor.sessions.noted_events import NotedEvents
from executor.sessions.party import SessionParty
from executor.sessions.private_socket import bind_private, is_from
from executor.sessions.socket_folder import SocketFolder

MOST_CONNECTIONS = 128  # of one session, at once
BACKLOG = 64

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenSession:
    party: SessionParty
    hosts: HostList
    peer_uid: int
    folder: Path
    server: asyncio.Server | None = None
    traffic: Traffic = field(default_factory=Traffic)
    connections: dict[asyncio.Task[None], AgentConnection] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / "egress.sock"


class EgressProxy:
    """`lookup` resolves names, in a thread: the system's resolver unless a test records the names."""

    def __init__(
        self, sockets: SocketFolder, noted: NotedEvents, *, allow_private: bool = False, lookup: Lookup = look_up
    ) -> None:
        self._sockets = sockets
        self._noted = noted
        self._resolver = Resolver(lookup, allow_private=allow_private)
        self._open: dict[str, OpenSession] = {}
        self._opening = asyncio.Lock()
        self._is_cleared = False

    async def open(self, party: SessionParty, hosts: HostList, *, peer_uid: int | None = None) -> Path:
        """The Unix socket of an HTTP proxy (CONNECT, and plain HTTP with absolute URLs).

        For a session that is open, the list is replaced: connections that it no longer allows end at once.
        """
        uid = os.geteuid() if peer_uid is None else peer_uid
        async with self._opening:
            session = self._open.get(party.session_id) or await self._begin(party, hosts, uid)
        if (session.party, session.peer_uid) != (party, uid):
            raise Conflict(f"the session {party.session_id} is open for another user", hint="close it first")
        session.hosts = hosts
        for task, connection in list(session.connections.items()):
            if connection.wanted is not None and not allows(hosts, connection.wanted.host, connection.wanted.port):
                task.cancel()
        return session.path

    async def close_session(self, session_id: str) -> None:
        """Its connections end at once."""
        session = self._open.pop(session_id, None)
        if session is None:
            return
        if session.server is not None:
            session.server.close()
        tasks = list(session.connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        shutil.rmtree(session.folder, ignore_errors=True)

    async def close(self) -> None:
        for session_id in list(self._open):
            await self.close_session(session_id)
        self._resolver.close()
        await asyncio.to_thread(self._sockets.close)

    async def _begin(self, party: SessionParty, hosts: HostList, uid: int) -> OpenSession:
        if not self._is_cleared:
            await asyncio.to_thread(self._sockets.clear)
            self._is_cleared = True
        session = OpenSession(party, hosts, uid, await asyncio.to_thread(self._sockets.create, uid))
        bound = bind_private(session.path, uid)

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._accept(session, reader, writer)

        session.server = await asyncio.start_unix_server(accept, sock=bound, limit=MAX_HEAD, backlog=BACKLOG)
        self._open[party.session_id] = session
        return session

    async def _accept(self, session: OpenSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected = writer.get_extra_info("socket")
        task = asyncio.current_task()
        if task is None or not is_from(connected, session.peer_uid) or len(session.connections) >= MOST_CONNECTIONS:
            await close(writer)
            return

        def note_decision(allowed: bool, host: str, port: int, reason: str) -> None:
            type = "egress.allowed" if allowed else "egress.refused"
            why = {"reason": reason} if reason else {}
            self._noted.note(session.party, type, host=host, port=port, **why)

        connection = AgentConnection((reader, writer), session.hosts, self._resolver, session.traffic, note_decision)
        session.connections[task] = connection
        try:
            await connection.serve()
        except asyncio.CancelledError:
            writer.transport.abort()
        except Exception:
            logger.exception("egress.failed")
        finally:
            session.connections.pop(task, None)


def allows(hosts: HostList, host: str, port: int) -> bool:
    try:
        hosts.find(host, port)
    except EgressRefused:
        return False
    return True
