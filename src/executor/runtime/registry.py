"""Runtimes by id: which there are, which one a submission means, and those that start when they are first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from executor.errors import InvalidRequest, UnknownRuntime
from executor.model.language import is_python
from executor.runtime.protocol import Runtime, Sandbox

DEFAULT = "typescript"


class Runtimes:
    """`absent` are those that could be here but aren't installed, each with what to do about it."""

    def __init__(self, present: Mapping[str, Runtime], absent: Mapping[str, str] | None = None) -> None:
        self._present = dict(present)
        self._absent = dict(absent or {})

    @property
    def ids(self) -> list[str]:
        return sorted(self._present)

    def get(self, runtime: str) -> Runtime:
        found = self._present.get(runtime)
        if found is None:
            known = f"use {', '.join(self.ids)}"
            if runtime in self._absent:
                hint = f"{self._absent[runtime]}; until then {known}"
                raise UnknownRuntime(f"the runtime {runtime!r} is not installed", hint=hint)
            raise UnknownRuntime(f"there is no runtime {runtime[:100]!r}", hint=known)
        return found

    def choose(self, language: str | None, runtime: str | None, code: str = "") -> tuple[str, str]:
        """Language and runtime of a submission; whichever is not given follows from the other, or from the code."""
        if language is None and self._may_be_python(runtime) and is_python(code):
            language = "python"
        if runtime is None:
            runtime = language or DEFAULT
        languages = self.get(runtime).languages
        if language is None:
            language = languages[0]
        if language not in languages:
            hint = f"it runs {' and '.join(languages)}; leave out the runtime to use the language's default"
            raise InvalidRequest(f"the runtime {runtime} does not run {language[:100]!r}", hint=hint)
        return language, runtime

    def _may_be_python(self, runtime: str | None) -> bool:
        chosen = self._present.get(runtime or "python")
        return chosen is not None and "python" in chosen.languages

    async def close(self) -> None:
        await asyncio.gather(*(runtime.close() for runtime in set(self._present.values())))


class Lazy:
    """A runtime that is imported, built and started by its first `open`: until then it costs nothing.

    The start belongs to no one who waits for it: an execution that is cancelled meanwhile does not leave it half done.
    """

    def __init__(self, languages: tuple[str, ...], build: Callable[[], Coroutine[Any, Any, Runtime]]) -> None:
        self.languages = languages
        self._build = build
        self._building: asyncio.Task[Runtime] | None = None
        self._closed = False

    @property
    def current(self) -> Runtime | None:
        built = self._building
        return built.result() if built is not None and built.done() and not _has_failed(built) else None

    async def open(self) -> Sandbox:
        return await (self.current or await self._start()).open()

    async def _start(self) -> Runtime:
        """A start that failed is tried again by the next `open`."""
        if self._closed:
            raise InvalidRequest("the runtime is closed", hint="start the daemon again")
        if self._building is None or (self._building.done() and _has_failed(self._building)):
            self._building = asyncio.get_running_loop().create_task(self._build())
            self._building.add_done_callback(_has_failed)  # looked at even if no one waits
        return await asyncio.shield(self._building)

    async def close(self) -> None:
        self._closed = True
        if self._building is not None:
            await asyncio.wait([self._building])
        if (runtime := self.current) is not None:
            await runtime.close()


def _has_failed(built: asyncio.Task[Runtime]) -> bool:
    return built.cancelled() or built.exception() is not None
