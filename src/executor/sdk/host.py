"""The whole product in this process: an event loop in a thread of its own serves the API, without a socket.

Requests take the same road as those of any other client, from the guard on. They come from any thread, or from any
event loop.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from executor.daemon import lock
from executor.errors import ExecutorError, RequestUnsent
from executor.sdk.flow import Reply, Request
from executor.sdk.message import encode, target
from executor.settings import Settings

if TYPE_CHECKING:
    from executor.surfaces.app import App

T = TypeVar("T")
MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of our own is created in it
MEMORY_ROOM = 1024 * 1024 * 1024
PREFIX = "executor-embedded-"
OLD_SECONDS = 60.0


class Host:
    """Starts at once; `ready` is done when it can be asked. `folder` is removed when it has ended."""

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        self.ready: Future[None] = Future()
        self._settings = replace(settings, port=0)  # no one listens, so no address of ours leads to someone else
        self._forget = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True) if folder else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app: App | None = None
        self._headers: dict[str, str] = {}
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._serve, name="executor", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have it done in the loop of the thread."""
        if self._loop is None or self._stopping is None or self._stopping.is_set():
            work.close()
            raise RequestUnsent("this Executor is closed", hint="open another one")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def wait_until_ready(self) -> None:
        await asyncio.shield(asyncio.wrap_future(self.ready))

    def close(self) -> None:
        """Running work is parked. Closing again does nothing."""
        with suppress(Exception):
            self.ready.result()
        if self._loop is not None and self._stopping is not None:
            with suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._stopping.set)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    async def exchange(self, request: Request) -> Reply:
        start: dict[str, Any] = {}
        parts: list[bytes] = []

        async def send(message: Any) -> None:
            start.update(message)
            parts.append(message.get("body", b""))

        await self._call(request, send)
        return Reply(start["status"], _decode_headers(start["headers"]), b"".join(parts))

    async def open(self, request: Request) -> HostStream | Reply:
        stream = HostStream(asyncio.Queue(8))
        stream.task = asyncio.create_task(stream.carry(self._call(request, stream.messages.put)))
        start = await stream.messages.get()
        headers = _decode_headers(start["headers"])
        if headers.get("content-type", "").startswith("text/event-stream"):
            return stream
        parts = []
        while part := await stream.read():
            parts.append(part)
        return Reply(start["status"], headers, b"".join(parts))

    async def _call(self, request: Request, send: Any) -> None:
        if self._app is None:
            raise RequestUnsent("this Executor is not open", hint="open another one")
        body, headers = encode(request, self._headers)
        sent = False

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if sent:
                await asyncio.Event().wait()  # no one disconnects: who leaves cancels
            sent = True
            return {"type": "http.request", "body": body or b"", "more_body": False}

        await self._app(self._scope(request, headers, len(body or b"")), receive, send)

    def _scope(self, request: Request, headers: dict[str, str], length: int) -> dict[str, Any]:
        path, _, query = target("", request).partition("?")
        named = {**headers, "Host": f"127.0.0.1:{self._settings.port}", "Content-Length": str(length)}
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in named.items()],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", self._settings.port),
        }

    def _serve(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # noqa: BLE001 - raised where it was opened
            if not self.ready.done():
                self.ready.set_exception(error)
        finally:
            if self._forget is not None:
                self._forget()

    async def _live(self) -> None:
        from executor.daemon.wiring.executor import Executor
        from executor.identity.local_tokens import Tokens
        from executor.surfaces.app import App

        async with Executor.open_alone(self._settings) as executor:
            tokens = await asyncio.to_thread(Tokens.load_or_create, self._settings.data_dir)
            self._headers = {"Authorization": f"Bearer {tokens.operator}"}
            app = App(self._settings, tokens)
            await app.load(executor)
            self._app, self._stopping, self._loop = app, asyncio.Event(), asyncio.get_running_loop()
            self.ready.set_result(None)
            await self._stopping.wait()
            app.release()
            await app.close()


class HostStream:
    """What the API sends, at the pace of its reader."""

    def __init__(self, messages: asyncio.Queue[Any]) -> None:
        self.messages = messages
        self.task: asyncio.Task[None] | None = None
        self._is_over = False

    async def carry(self, answering: Coroutine[Any, Any, None]) -> None:
        """Whatever happens, its reader sees an end."""
        try:
            await answering
        finally:
            await self.messages.put({"body": b"", "more_body": False})

    async def read(self) -> bytes:
        while not self._is_over:
            message = await self.messages.get()
            self._is_over = not message.get("more_body", False)
            if message["body"]:
                body: bytes = message["body"]
                return body
        return b""

    async def close(self) -> None:
        """With room for the end that `carry` sends: no one reads what is left."""
        if self.task is not None:
            self.task.cancel()
        while not self.messages.empty():
            self.messages.get_nowait()


class BlockingHost:
    """As a transport of programs without an event loop, or of threads beside one."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def send(self, request: Request) -> Reply:
        return self._wait(self.host.exchange(request))

    def open(self, request: Request) -> BlockingHostStream | Reply:
        opened = self._wait(self.host.open(request))
        return opened if isinstance(opened, Reply) else BlockingHostStream(self, opened)

    def close(self) -> None:
        self.host.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = self.host.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


class BlockingHostStream:
    def __init__(self, transport: BlockingHost, stream: HostStream) -> None:
        self._transport = transport
        self._stream = stream

    def read(self) -> bytes:
        return self._transport._wait(self._stream.read())

    def close(self) -> None:
        with suppress(ExecutorError):
            self._transport._wait(self._stream.close())


class AwaitingHost:
    """As a transport of programs with an event loop of their own."""

    def __init__(self, host: Host) -> None:
        self.host = host

    async def send(self, request: Request) -> Reply:
        return await self._wait(self.host.exchange(request))

    async def open(self, request: Request) -> AwaitingHostStream | Reply:
        opened = await self._wait(self.host.open(request))
        return opened if isinstance(opened, Reply) else AwaitingHostStream(self, opened)

    async def close(self) -> None:
        await asyncio.to_thread(self.host.close)

    async def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            await self.host.wait_until_ready()
        except BaseException:
            work.close()
            raise
        return await asyncio.wrap_future(self.host.submit(work))


class AwaitingHostStream:
    def __init__(self, transport: AwaitingHost, stream: HostStream) -> None:
        self._transport = transport
        self._stream = stream

    async def read(self) -> bytes:
        return await self._transport._wait(self._stream.read())

    async def close(self) -> None:
        with suppress(ExecutorError):
            await self._transport._wait(self._stream.close())


def open_host(data_dir: str | Path | None, settings: Settings | None) -> Host:
    """In `data_dir`, or in memory. `settings` instead of those of the environment and the configuration file."""
    if settings is not None:
        return Host(settings)
    folder = None if data_dir is not None else _memory_folder()
    chosen = {"EXECUTOR_DATA_DIR": str(Path(data_dir or folder or "").absolute())}
    try:
        kept = {name: value for name, value in os.environ.items() if name != "EXECUTOR_STATE_DIR"}
        return Host(Settings.load({**kept, **chosen}), folder)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _memory_folder() -> Path:
    """In memory if the system has a file system there with some room, else where temporary files are."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_ROOM
    parent = MEMORY if roomy else Path(tempfile.gettempdir())
    for left in parent.glob(f"{PREFIX}*"):  # by programs that were killed
        with suppress(OSError):
            status = left.stat()
            is_old = status.st_uid == os.geteuid() and time.time() - status.st_mtime > OLD_SECONDS
            if is_old and not left.is_symlink() and lock.holder(left / "daemon.lock") is None:
                shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))


def _decode_headers(headers: Any) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
