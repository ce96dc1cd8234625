"""Which checkers this installation has, and whether they really run; for `executor doctor`."""

from __future__ import annotations

import asyncio

from executor.checking.checkers import python, typescript
from executor.checking.checkers.language_server import LanguageServer, Program, ServerLost
from executor.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Presence:
    language: str
    present: bool
    detail: str


def look() -> list[Presence]:
    """Starts each checker once and ends it: a program of another platform is found out only so."""
    return [
        _presence("typescript", "TypeScript", typescript.find_program(), "TypeScript's checker"),
        _presence("python", "Python", python.find_program(), "Python's checker (the package ty)"),
    ]


def _presence(language: str, title: str, program: Program | None, name: str) -> Presence:
    if program is None:
        return Presence(language, False, f"{name} is not installed: {title} runs unchecked")
    try:
        asyncio.run(_start(LanguageServer(program)))
    except (ServerLost, OSError) as error:
        return Presence(language, False, f"{name} can't be started: {error}")
    return Presence(language, True, program.version)


async def _start(server: LanguageServer) -> None:
    try:
        await server.start()
    finally:
        await server.end()
