"""A checker over a warm language server: one check at a time, in turn, and never longer than it may take."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, ClassVar

from executor.checking.checkers.language_server import LanguageServer, Program, ServerLost, ServerTimedOut
from executor.checking.completion import MAX_ITEMS, Item, rank_names
from executor.checking.diagnostics import MAX_FINDINGS, MAX_SAID, Finding, Lines
from executor.checking.queue import IDLE_SECONDS, CheckQueue, Unavailable, seconds
from executor.runtime.worker.memory import resident_bytes

MAX_RSS = 512 << 20
MAX_CHECKS = 20_000
MAX_ITEMS_READ = 500
_ERROR = 1
KINDS = {
    2: "method",
    3: "function",
    5: "property",
    6: "variable",
    7: "class",
    9: "namespace",
    10: "property",
    14: "keyword",
}
Items = list[dict[str, Any]]


class ServerChecker(ABC):
    """Starts its process when it is first needed, and ends it when no one has needed it for a while."""

    language: ClassVar[str]
    head_lines: ClassVar[int] = 0  # that `write` puts before the code

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._server: LanguageServer | None = None
        self._checks = 0
        self._turns = CheckQueue(self._end, idle_seconds)

    @abstractmethod
    def find_program(self) -> Program | None:
        """None if this installation has none."""

    @abstractmethod
    def write(self, code: str, *, loose: bool) -> str:
        """The text that the server reads. `loose` lets every result be anything."""

    @abstractmethod
    def read(self, code: Any, message: str) -> tuple[str, str] | None:
        """A finding's code and message as they are reported; None if it says nothing about code that runs here."""

    @property
    def pid(self) -> int:
        return self._server.pid if self._server is not None and not self._server.is_dead else 0

    async def check(self, code: str, declarations: str, *, loose: bool = False) -> list[Finding]:
        text = self.write(code, loose=loose)
        items = await self._in_turn(lambda running: running.diagnose(declarations, text, seconds(len(text))))
        lines = Lines(code)
        read = (self._finding_of(item, lines) for item in items[:MAX_ITEMS_READ])
        return [finding for finding in read if finding is not None][:MAX_FINDINGS]

    async def complete(self, code: str, declarations: str, offset: int, typed: str) -> list[Item]:
        text = self.write(code, loose=False)
        line, column = Lines(code).place(offset)
        units = len(code[offset - column + 1 : offset].encode("utf-16-le", "replace")) // 2
        line += self.head_lines - 1
        bound = seconds(len(text))
        items = await self._in_turn(lambda running: running.complete(declarations, text, line, units, bound))
        labels = {str(item.get("label", "")): item for item in items}
        wanted = [one for one in islice(rank_names(labels, typed), MAX_ITEMS) if one.isidentifier()]
        return [read_item(labels[one], one, offset - len(typed), offset) for one in wanted]

    async def close(self) -> None:
        self._turns.stop()
        if self._server is not None:
            self._server.kill()  # callers that still wait for it fail at once
        await self._turns.close()

    async def _in_turn(self, ask: Callable[[LanguageServer], Awaitable[Items]]) -> Items:
        async with self._turns.turn():
            return await self._ask(ask)

    async def _ask(self, ask: Callable[[LanguageServer], Awaitable[Items]]) -> Items:
        """A process that was ended from outside is replaced once; code that takes too long is not tried again."""
        for is_last in (False, True):
            try:
                return await ask(await self._running())
            except ServerLost as error:
                await self._end()
                if is_last or isinstance(error, ServerTimedOut) or self._turns.closed:
                    raise Unavailable(f"the {self.language} checker failed: {error}") from error
            except asyncio.CancelledError:
                await self._end()  # it still works on what no one waits for
                raise
            except OSError as error:
                raise Unavailable(f"the {self.language} checker can't be started: {error}") from error
        raise AssertionError

    async def _running(self) -> LanguageServer:
        if self._server is not None and (self._server.is_dead or self._is_worn()):
            await self._end()
        if self._server is None:
            program = self.find_program()
            if self._turns.closed:
                raise Unavailable("the daemon is stopping")
            if program is None:
                raise Unavailable(f"this installation has no {self.language} checker")
            self._server, self._checks = LanguageServer(program), 0
            await self._server.start()
        self._checks += 1
        return self._server

    def _is_worn(self) -> bool:
        return self._checks > MAX_CHECKS or resident_bytes(self.pid) > MAX_RSS

    async def _end(self) -> None:
        if self._server is not None:
            ended, self._server = self._server, None
            await ended.end()

    def _finding_of(self, item: dict[str, Any], lines: Lines) -> Finding | None:
        """None for mere advice, and for what lies in the lines around the code."""
        try:
            start, end = item["range"]["start"], item["range"]["end"]
            line, end_line = (int(one["line"]) + 1 - self.head_lines for one in (start, end))
            found = self.read(item["code"], str(item["message"])[:MAX_SAID])
            if found is None or line < 1 or item.get("severity", _ERROR) != _ERROR:
                return None
            first = lines.offset_of_units(line, int(start["character"]))
            last = lines.offset_of_units(end_line, int(end["character"]))
            return Finding(*found, first, max(first, last))
        except (KeyError, TypeError, ValueError):
            return None


def read_item(item: dict[str, Any], label: str, start: int, end: int) -> Item:
    kind = KINDS.get(item.get("kind", 0), "value")
    return Item(label, kind, label, start, end, str(item.get("detail") or "")[:MAX_SAID])
