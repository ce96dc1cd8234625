"""S3 servers of other people, and a proxy before one that fails in the ways that stores and networks fail."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit

from executor.execution.artifacts.objects.location import Location
from tests.support import packages

Fault = Literal["", "refuse", "hang", "unavailable", "full", "cut_answers", "cut_uploads", "corrupt"]
KEYS = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}
BUCKET = "artifacts"
ANSWER = 20_000  # bytes after which an answer is cut or changed: no list or error has as many
UPLOADED = 10_000_000
ERRORS = {"unavailable": (503, "SlowDown"), "full": (507, "QuotaExceeded")}


@contextmanager
def serving_moto() -> Iterator[str]:
    """moto, which is written in Python. Its bucket is new."""
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with run_server(command, re.compile(r"Running on (http://127\.0\.0\.1:\d+)")) as url:
        urllib.request.urlopen(urllib.request.Request(f"{url}/{BUCKET}", method="PUT"), timeout=60).close()
        yield url


@contextmanager
def serving_s3rver() -> Iterator[str]:
    """s3rver, which is written for Node."""
    program = packages.npm_modules() / "s3rver" / "bin" / "s3rver.js"
    with tempfile.TemporaryDirectory() as folder:
        options = ["-d", folder, "-a", "127.0.0.1", "-p", "0", "--configure-bucket", BUCKET]
        with run_server([packages.node(), str(program), *options], re.compile(r"listening on (\S+:\d+)")) as url:
            yield url if url.startswith("http") else f"http://{url}"


@contextmanager
def run_server(command: list[str], address: re.Pattern[str]) -> Iterator[str]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    reading = threading.Thread(target=process.stdout.read, daemon=True)
    try:
        seen = ""
        for line in process.stdout:
            seen += line
            if found := address.search(line):
                reading.start()
                yield found[1]
                return
        raise AssertionError(f"{command[0]} ended: {seen}")
    finally:
        process.kill()
        process.wait()
        if reading.is_alive():
            reading.join()
        process.stdout.close()


def location(url: str, prefix: str) -> Location:
    return Location(BUCKET, prefix, url, "us-east-1")


class FaultyProxy:
    """Between Executor and a store. `fault` applies to new connections; setting it ends the ones there are."""

    def __init__(self, url: str) -> None:
        self._port = urlsplit(url).port
        self._fault: Fault = ""
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self.requests: list[str] = []
        self._awaited: tuple[int, Callable[[], None]] | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def fail(self, fault: Fault) -> None:
        done = threading.Event()

        def change() -> None:
            self._fault = fault
            for writer in self._writers:
                writer.transport.abort()
            done.set()

        self._loop.call_soon_threadsafe(change)
        assert done.wait(60)

    def on_request(self, number: int, act: Callable[[], None]) -> None:
        """Once, when the request of that number arrives, before it is passed on."""
        self._awaited = number, act

    def close(self) -> None:
        self.fail("refuse")
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault = self._fault
        self._writers.add(writer)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._answer(fault, reader, writer)
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _answer(self, fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if fault == "refuse":
            return
        if fault == "hang":
            await asyncio.Event().wait()
        if fault in ERRORS:
            await reader.readuntil(b"\r\n\r\n")
            status, code = ERRORS[fault]
            body = f"<Error><Code>{code}</Code></Error>"
            writer.write(
                f"HTTP/1.1 {status} No\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            await writer.drain()
            return
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers.add(to_writer)
        try:
            up = self._pump(reader, to_writer, UPLOADED if fault == "cut_uploads" else None, self._note)
            most = ANSWER if fault == "cut_answers" else None
            down = self._pump(to_reader, writer, most, change if fault == "corrupt" else bytes)
            pumps = [asyncio.ensure_future(up), asyncio.ensure_future(down)]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            self._writers.discard(to_writer)
            to_writer.transport.abort()

    def _note(self, data: bytes) -> bytes:
        for line in re.findall(rb"^(?:GET|PUT|POST|HEAD|DELETE) /\S* HTTP", data, re.M):
            self.requests.append(line.decode())
            if self._awaited is not None and len(self.requests) == self._awaited[0]:
                self._awaited[1]()
        return data

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        most: int | None,
        pass_on: Callable[[bytes], bytes],
    ) -> None:
        count = 0
        while data := await reader.read(65536):
            count += len(data)
            if most is not None and count > most:
                return
            writer.write(pass_on(data))
            await writer.drain()


def change(data: bytes) -> bytes:
    """One bit of it, if it is a part of something long."""
    return data[:-1] + bytes([data[-1] ^ 1]) if len(data) > ANSWER else data
