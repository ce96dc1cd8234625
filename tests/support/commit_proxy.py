"""A proxy before PostgreSQL that loses the answer to one COMMIT, on a Unix socket of its own."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support import postgres

PREPARED = re.compile(rb"(\w+)\0COMMIT\0")  # by its name a COMMIT is sent from then on
SYNC = b"S\0\0\0\4"  # makes the server answer a COMMIT in a pipeline, whose own Sync comes later
TERMINATE = b"X\0\0\0\4"  # the server closes the connection after everything before this


class CommitProxy:
    """Behaves as the server for a `Cluster`, whose processes all connect through it.

    `lose(text, reaches=…)` breaks the next connection that commits a transaction with this text in it: after the server
    has committed, if the COMMIT `reaches` it, else before. Either way the client can't know.
    """

    def __init__(self, server: postgres.Server) -> None:
        self._server = server
        self.folder = Path(tempfile.mkdtemp(prefix="executor-proxy-"))
        self._socket = f".s.PGSQL.{server.port}"
        self._text = b""
        self._reaches = False
        self.lost = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def client_url(self, database: str) -> str:
        return self._server.url(database).replace(self._server.folder.name, self.folder.name)

    def lose(self, text: str, *, reaches: bool) -> None:
        self.lost.clear()
        self._text, self._reaches = text.encode(), reaches

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self.folder)

    def _run(self) -> None:
        self._loop.run_until_complete(asyncio.start_unix_server(self._serve, self.folder / self._socket))
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            answers, requests = await asyncio.open_unix_connection(self._server.folder / self._socket)
            back = asyncio.ensure_future(copy(answers, writer))
            try:
                commit = await self._carry(reader, requests)
                back.cancel()
                await asyncio.wait([back])
                if commit:
                    await self._swallow(commit, answers, requests)
            finally:
                requests.close()
                writer.close()

    async def _carry(self, reader: asyncio.StreamReader, requests: asyncio.StreamWriter) -> bytes:
        """Until the connection ends, or the COMMIT comes whose answer is to be lost: that is returned."""
        is_marked, commits = False, {b"COMMIT"}
        while data := await reader.read(1 << 20):
            is_marked = is_marked or bool(self._text and self._text in data)
            commits.update(b"\0" + name + b"\0" for name in PREPARED.findall(data))
            if is_marked and any(commit in data for commit in commits):
                self._text = b""
                return data
            requests.write(data)
            await requests.drain()
        return b""

    async def _swallow(self, commit: bytes, answers: asyncio.StreamReader, requests: asyncio.StreamWriter) -> None:
        if self._reaches:
            requests.write(commit + SYNC + TERMINATE)
            await requests.drain()
            while await answers.read(1 << 20):  # also answers to earlier COMMITs, which say nothing about this one
                pass
        self.lost.set()


async def copy(answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await answers.read(1 << 20):
            writer.write(data)
            await writer.drain()
    writer.close()
