"""A type checker as a language server: one process, spoken to over its standard input and output.

The documents exist only in its memory. Whatever it says is bounded before it is read: it works on hostile text.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import orjson

from executor.checking.checkers import sealed_launch
from executor.dataclass import dataclass

PROJECTS = Path(__file__).parents[1] / "project"
DATA_BYTES = 1 << 30
LARGEST = 32 << 20
LARGEST_HEAD = 4096
START_SECONDS = 30.0
END_SECONDS = 5.0


class ServerLost(Exception):
    """The process ended, broke the protocol or did not answer in time."""


class ServerTimedOut(ServerLost):
    """It works on what it was asked, and has had its time."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server, and the documents that it reads: the declarations of tools, and the code (`main`).

    `project` has its settings. It sees nothing of the daemon's own environment, which may hold secrets.
    """

    path: Path
    version: str
    arguments: tuple[str, ...]
    project: Path
    readable: tuple[Path, ...]
    environment: Mapping[str, str]
    language: str
    declarations: str
    main: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        return (self.project / name).as_uri()


class LanguageServer:
    """One request at a time; anyone who asks waits for the answer before the next."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: asyncio.subprocess.Process | None = None
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._requests = 0
        self._versions: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self.is_dead = False

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        program = self._program
        readable = [str(path) for path in (*program.readable, program.project)]
        words = sealed_launch.command(program.path, [*program.arguments], readable=readable, data_bytes=DATA_BYTES)
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=null, env=program.environment, cwd=program.project,
            limit=LARGEST_HEAD,
        )  # fmt: skip
        self._reading = asyncio.create_task(self._read(self._process.stdout))
        root = program.project.as_uri()
        capabilities = {"textDocument": {"diagnostic": {}, "completion": {"completionItem": {"snippetSupport": False}}}}
        folders = [{"uri": root, "name": "project"}]
        hello = {"processId": None, "rootUri": root, "workspaceFolders": folders, "capabilities": capabilities}
        await self.request("initialize", {**hello, "initializationOptions": program.options}, START_SECONDS)
        self._notify("initialized", {})

    async def diagnose(self, declarations: str, text: str, seconds: float) -> list[dict[str, Any]]:
        main = self._put_both(declarations, text)
        answer = await self.request("textDocument/diagnostic", {"textDocument": {"uri": main}}, seconds)
        items = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise ServerLost("it returned no diagnostics")
        return [item for item in items if isinstance(item, dict)]

    async def complete(
        self, declarations: str, text: str, line: int, units: int, seconds: float
    ) -> list[dict[str, Any]]:
        """`line` and `units` (of UTF-16) count from 0, in the text as given here."""
        main = self._put_both(declarations, text)
        place = {"textDocument": {"uri": main}, "position": {"line": line, "character": units}}
        answer = await self.request("textDocument/completion", place, seconds)
        items = answer.get("items") if isinstance(answer, dict) else answer
        return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> Any:
        self._requests += 1
        number = self._requests
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                return await answer
        except TimeoutError:
            self.kill()
            raise ServerTimedOut(f"it did not answer within {seconds:.3g} s") from None
        finally:
            self._answers.pop(number, None)

    async def end(self) -> None:
        """At once: it has nothing to lose."""
        self.kill()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.communicate(), END_SECONDS)

    def kill(self) -> None:
        self.is_dead = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def _put_both(self, declarations: str, text: str) -> str:
        """The address of the code."""
        self._put(self._program.declarations, declarations)
        self._put(self._program.main, text)
        return self._program.uri(self._program.main)

    def _put(self, name: str, text: str) -> None:
        """What did not change is not sent again: then the server need not read it again."""
        if self._texts.get(name) == text:
            return
        uri, version = self._program.uri(name), self._versions.get(name, 0) + 1
        self._versions[name] = version
        if version == 1:
            document = {"uri": uri, "languageId": self._program.language, "version": version, "text": text}
            self._notify("textDocument/didOpen", {"textDocument": document})
        else:
            changed = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
            self._notify("textDocument/didChange", changed)
        self._texts[name] = text

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def _send(self, message: dict[str, Any]) -> None:
        self._write(message)
        if self._process is not None and self._process.stdin is not None:
            try:
                await self._process.stdin.drain()
            except ConnectionError as error:
                raise self._lost_error(str(error)) from error

    def _write(self, message: dict[str, Any]) -> None:
        if self.is_dead or self._process is None or self._process.stdin is None:
            raise ServerLost("it is not running")
        content = orjson.dumps(message)
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)

    async def _read(self, stream: asyncio.StreamReader | None) -> None:
        reason = "it ended"
        try:
            while stream is not None:
                self._take(orjson.loads(await stream.readexactly(await _length(stream))))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except (ValueError, asyncio.LimitOverrunError, ServerLost) as error:
            reason = f"it sent something unreadable: {error}"
        self._lost_error(reason)

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise ServerLost("it sent a message that is not an object")
        number = message.get("id")
        if "method" in message:
            if number is not None:  # it asks for settings or leave: it gets neither
                self._write({"jsonrpc": "2.0", "id": number, "result": None})
            return
        answer = self._answers.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(ServerLost(f"it refused: {str(message['error'])[:200]}"))
        else:
            answer.set_result(message.get("result"))

    def _lost_error(self, reason: str) -> ServerLost:
        self.kill()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ServerLost(reason))
                answer.exception()  # a caller that was cancelled will not look
        return ServerLost(reason)


async def _length(stream: asyncio.StreamReader) -> int:
    head = (await stream.readuntil(b"\r\n\r\n")).decode("ascii", "replace").lower()
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name == "content-length" and value.strip().isdigit() and int(value) <= LARGEST:
            return int(value)
    raise ServerLost("it sent a message with no length, or with one that is too large")
