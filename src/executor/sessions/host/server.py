"""The socket of an executor process: who may speak on it, and which methods there are."""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from executor.sessions.host.daemon_link import DaemonLink, timestamp
from executor.sessions.host.session import Session
from executor.sessions.host.terminals import Terminals
from executor.sessions.protocol.channel import SocketChannel
from executor.sessions.protocol.credentials import peer_uid
from executor.sessions.protocol.host_settings import HostSettings, digest
from executor.sessions.protocol.lines import INVALID_REQUEST, RpcError
from executor.sessions.protocol.messages import Pong
from executor.sessions.protocol.peer import Peer

MAX_CONNECTIONS = 32
SHUTDOWN_SECONDS = 90.0
SETTINGS_SECONDS = 60.0


class Server:
    """The first connection that shows the session's token is the daemon's: when it closes, this process ends."""

    def __init__(self, path: Path, say: Callable[[str], None], *, expects_settings: bool) -> None:
        self._path, self._say = path, say
        self._expects_settings, self._configured = expects_settings, asyncio.Event()
        self._settings: HostSettings | None = None
        self._peers: set[Peer] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._daemon: Peer | None = None
        self._session: Session | None = None
        self._terminals: Terminals | None = None
        self._listener = _bind(path)
        self._inode = path.stat().st_ino
        self.ended = asyncio.Event()
        self.clean = True

    def begin(self) -> None:
        self._accepting = asyncio.create_task(self._accept())

    def configure(self, settings: HostSettings) -> None:
        self._settings = settings
        self._configured.set()

    async def close(self) -> None:
        """Everything that was started here is ended first; the socket goes last."""
        self._accepting.cancel()
        parts = [part.close() for part in (self._session, self._terminals) if part is not None]
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                self.clean = all(await asyncio.gather(*parts))
        except TimeoutError:
            self.clean = False
        for peer in list(self._peers):
            peer.close("the executor process has ended")
        self._listener.close()
        if self._path.exists() and self._path.stat().st_ino == self._inode:
            self._path.unlink()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            if peer_uid(connection) not in (os.geteuid(), 0) or len(self._peers) >= MAX_CONNECTIONS:
                self._say(f"refused a connection of uid {peer_uid(connection)}")
                connection.close()
                continue
            task = asyncio.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        handlers: dict[str, Any] = {"ping": lambda _: _pong()}
        peer = Peer(SocketChannel(connection), handlers)
        for name, method in {
            "execute_prompt": lambda params: self._require_session().execute(params),
            "stop_task": self._stop_task,
            "spawn_terminal": lambda params: self._require_terminals().spawn(params),
            "terminate_terminal": lambda params: self._require_terminals().terminate(params),
            "shutdown": self._shutdown,
        }.items():
            handlers[name] = self._guard(peer, method)
        self._peers.add(peer)
        await peer.wait_closed()
        self._peers.discard(peer)
        if peer is self._daemon:
            self._say("the daemon closed the connection")
            self.ended.set()

    def _guard(self, peer: Peer, method: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
        async def admit_and_call(params: dict[str, Any]) -> Any:
            if self._expects_settings:
                async with asyncio.timeout(SETTINGS_SECONDS):
                    await self._configured.wait()
            self._admit(peer, params.get("session_token"))
            result = method(params)
            return await result if isinstance(result, Awaitable) else result

        return admit_and_call

    def _admit(self, peer: Peer, token: object) -> None:
        settings = self._settings
        known = settings["token_digest"] if settings else ""
        if not isinstance(token, str) or not known or not hmac.compare_digest(digest(token), known):
            raise RpcError(INVALID_REQUEST, "the session token is wrong")
        if self._daemon is None and settings is not None:
            self._daemon = peer
            link = DaemonLink(peer, token)
            self._session, self._terminals = Session(settings, link), Terminals(settings, link)
        elif peer is not self._daemon:
            raise RpcError(INVALID_REQUEST, "another connection holds this session")

    def _require_session(self) -> Session:
        assert self._session is not None  # noqa: S101 - `_admit` has run
        return self._session

    def _require_terminals(self) -> Terminals:
        assert self._terminals is not None  # noqa: S101 - `_admit` has run
        return self._terminals

    async def _stop_task(self, params: dict[str, Any]) -> Any:
        return await self._require_session().stop_task(str(params.get("task_id")), str(params.get("reason") or ""))

    def _shutdown(self, params: dict[str, Any]) -> dict[str, bool]:
        self._say(f"shutdown was requested: {str(params.get('reason') or 'no reason given')[:200]}")
        self.ended.set()
        return {"accepted": True}


def _pong() -> Pong:
    return {"pong": True, "timestamp": timestamp()}


def _bind(path: Path) -> socket.socket:
    """Only its owner may connect, from the first moment on. A socket that no one listens on is replaced."""
    listener = socket.socket(socket.AF_UNIX)
    if path.is_socket() and not _is_in_use(path):
        path.unlink()
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except BaseException:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.listen(MAX_CONNECTIONS)
    listener.setblocking(False)
    return listener


def _is_in_use(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True
