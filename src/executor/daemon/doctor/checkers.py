"""Which checkers this installation has, and whether they really run; for `executor doctor`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib.util import find_spec

from executor.checking.checkers import language_server
from executor.checking.checkers.language_server import LanguageServer, ServerLost


@dataclass(frozen=True, slots=True)
class Presence:
    language: str
    present: bool
    detail: str


def look() -> list[Presence]:
    """Starts TypeScript's checker once and ends it: a program of another platform is found out only so."""
    return [_typescript(), _python()]


def _typescript() -> Presence:
    tsc = language_server.program()
    if tsc is None:
        return Presence("typescript", False, "TypeScript's checker is not installed: TypeScript runs unchecked")
    try:
        version = asyncio.run(_start_checker(LanguageServer(tsc)))
    except (ServerLost, OSError) as error:
        return Presence("typescript", False, f"TypeScript's checker can't be started: {error}")
    return Presence("typescript", True, version)


async def _start_checker(checker: LanguageServer) -> str:
    try:
        await checker.start()
        return (language_server.NATIVE / "package.txt").read_text(encoding="ascii").split()[0].rpartition("/")[2]
    finally:
        await checker.end()


def _python() -> Presence:
    if find_spec("pydantic_monty") is None:
        return Presence("python", False, "pydantic-monty is not installed: Python runs unchecked")
    return Presence("python", True, "pydantic-monty")
