"""Checks Python with the checker that comes with the Python sandbox, in a process of its own.

That checker is part of running code: a snippet is checked, then run. The first line names something that exists
nowhere, so the check always objects and nothing is ever run; its objection to that line is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.checking.checkers import sealed_launch
from executor.checking.diagnostics import MAX_FINDINGS, MAX_SAID, Finding, Lines
from executor.checking.queue import IDLE_SECONDS, CheckQueue, Unavailable, seconds
from executor.private_files import write_private

if TYPE_CHECKING:
    from pydantic_monty import Monty

GUARD = "executor_checks_and_never_runs_this\n"
GUARD_LINES = 1
DATA_BYTES = 1 << 30
START_SECONDS = 20.0
FEED_SECONDS, FEED_BYTES = 0.01, 16 << 20  # should anything be run after all
# What the sandbox allows beyond the language: `return` and `await` anywhere, and the fields of any error it caught.
_ALLOWED = re.compile(
    r"`return` statement outside of a function|`await` (?:statement )?outside"
    r"|Object of type `\w*(?:Exception|Error)` has no attribute `(?:code|status|message|details|retryable|hint)`"
)
# The last lines are what the sandbox has and the checker's own library does not know of.
_SANDBOX = """
class ToolError(Exception):
    code: str
    status: int | None
    message: str
    details: Any
    retryable: bool
    hint: str
def error_of(error: Any) -> Any: ...
def getattr(o: Any, name: str, default: Any = ..., /) -> Any: ...
def hasattr(o: Any, name: str, /) -> bool: ...
def setattr(o: Any, name: str, value: Any, /) -> None: ...
def format(value: Any, spec: str = ..., /) -> str: ...
filter: Any
map: Any
open: Any
class FileNotFoundError(OSError): ...
class FileExistsError(OSError): ...
class IsADirectoryError(OSError): ...
class NotADirectoryError(OSError): ...
class PermissionError(OSError): ...
class ImportError(Exception): ...
class ModuleNotFoundError(ImportError): ...
class UnboundLocalError(NameError): ...
class UnicodeDecodeError(ValueError): ...
class UnicodeEncodeError(ValueError): ...
"""


class PythonChecker:
    """Same shape as the TypeScript one. `folder` is where the launcher of the sealed process is written."""

    def __init__(self, folder: Path, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._folder = folder
        self._pool: Monty | None = None
        self._turns = CheckQueue(lambda: asyncio.to_thread(self._end), idle_seconds)

    async def check(self, code: str, declarations: str, *, loose: bool = False) -> list[Finding]:
        """`loose` changes nothing: only literals of the code itself are held against a call anyway."""
        async with self._turns.turn():
            return await self._in_thread(lambda: self._check(code, declarations))

    async def _in_thread(self, work: Callable[[], list[Finding]]) -> list[Finding]:
        """If a caller goes away, the check still runs to its end: the next caller waits for it."""
        task = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.gather(task, return_exceptions=True)
            raise

    def _check(self, code: str, declarations: str) -> list[Finding]:
        try:
            from pydantic_monty import MontyCrashedError, MontyError
        except ImportError as error:
            raise Unavailable("this installation has no Python checker") from error
        for is_last in (False, True):
            try:
                return findings_of(self._ask(code, declarations), code)
            except MontyCrashedError as error:
                self._end()
                if is_last or error.timed_out:
                    why = "it took too long" if error.timed_out else "its process ended"
                    raise Unavailable(f"the Python checker failed: {why}") from error
            except (MontyError, OSError, TimeoutError) as error:
                self._end()
                raise Unavailable(f"the Python checker failed: {' '.join(str(error).split())[:200]}") from error
        raise AssertionError

    def _ask(self, code: str, declarations: str) -> str:
        from pydantic_monty import MontySyntaxError, MontyTypingError

        pool = self._running()
        session = pool.checkout(
            type_check=True,
            type_check_stubs=declarations + _SANDBOX,
            type_check_format="json",
            limits={"max_feed_duration_secs": FEED_SECONDS, "max_memory": FEED_BYTES},
        )
        with session as feeding:
            try:
                feeding.feed_start(GUARD + code)
            except MontyTypingError as error:
                return error.display()
            except MontySyntaxError:
                return "[]"  # the sandbox says that better
        return "[]"

    def _running(self) -> Monty:
        if self._pool is None:
            from pydantic_monty import Monty

            self._pool = Monty(
                binary_path=self._launcher(),
                min_processes=1,
                max_processes=1,
                checkout_timeout=START_SECONDS,
                request_timeout=seconds(1 << 20),
            )
            self._pool.__enter__()
        return self._pool

    def _launcher(self) -> Path | None:
        """A script that seals and then becomes the checker; None where there is nothing to seal with."""
        if sys.platform != "linux":
            return None
        from pydantic_monty._binary import find_monty_binary

        path = self._folder / "python-checker"
        text = sealed_launch.script(Path(find_monty_binary()), data_bytes=DATA_BYTES)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_private(path, text, mode=0o700)
        return path

    def _end(self) -> None:
        if self._pool is not None:
            ended, self._pool = self._pool, None
            with contextlib.suppress(OSError):
                ended.__exit__(None, None, None)

    async def close(self) -> None:
        await self._turns.close()


def findings_of(said: str, code: str) -> list[Finding]:
    try:
        items = json.loads(said)
    except ValueError:
        items = None
    if not isinstance(items, list):
        raise Unavailable("the Python checker sent something unreadable")
    lines = Lines(code)
    return [finding for item in items if (finding := finding_of(item, lines)) is not None][:MAX_FINDINGS]


def finding_of(item: Any, lines: Lines) -> Finding | None:
    try:
        row, message = int(item["location"]["row"]) - GUARD_LINES, str(item["message"])
        if row < 1 or _ALLOWED.match(message):
            return None
        start = lines.offset(row, int(item["location"]["column"]))
        end = lines.offset(int(item["end_location"]["row"]) - GUARD_LINES, int(item["end_location"]["column"]))
        return Finding(str(item["code"])[:80], message[:MAX_SAID], start, max(start, end))
    except (KeyError, TypeError, ValueError):
        return None
