"""Runtimes by id: which there are, which one a submission means, and those that start when they are first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any

from executor.errors import Forbidden, InvalidRequest, UnknownRuntime
from executor.model.language import is_python
from executor.runtime.protocol import Runtime, Sandbox

DEFAULT = "typescript"


class Runtimes:
    """`absent` are those that could be here but aren't installed, each with what to do about it.

    `default` runs what asks for no runtime, as far as it runs the language. `allowed` and `languages` are all that may
    be asked for; empty means any.
    """

    def __init__(
        self,
        present: Mapping[str, Runtime],
        absent: Mapping[str, str] | None = None,
        *,
        default: str = "",
        allowed: Collection[str] = (),
        languages: Collection[str] = (),
    ) -> None:
        self._present = dict(present)
        self._absent = dict(absent or {})
        self._default = default
        self._allowed = tuple(allowed)
        self._languages = tuple(languages)

    @property
    def ids(self) -> list[str]:
        return sorted(name for name in self._present if self._allows(name))

    @property
    def in_use(self) -> dict[str, Runtime]:
        """Those that have something to show already."""
        known = {name: one.current if isinstance(one, Lazy) else one for name, one in self._present.items()}
        return {name: runtime for name, runtime in known.items() if runtime is not None}

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
        if runtime is not None:
            self._check_allowed(runtime)
        if language is None and self._may_be_python(runtime) and is_python(code):
            language = "python"
        if runtime is None:
            runtime = self._runtime_for(language)
        languages = self.get(runtime).languages
        if language is None:
            language = next((one for one in languages if one in self._languages), languages[0])
        if language not in languages:
            hint = f"it runs {' and '.join(languages)}; leave out the runtime to use the language's default"
            raise InvalidRequest(f"the runtime {runtime} does not run {language[:100]!r}", hint=hint)
        if self._languages and language not in self._languages:
            hint = f"use {' or '.join(self._languages)}: the setting `languages` allows nothing else"
            raise Forbidden(f"code in {language} is not allowed here", hint=hint)
        return language, runtime

    def _runtime_for(self, language: str | None) -> str:
        """The default, else the one named like the language, else any that runs it. What is not there is named too."""
        usual = language or DEFAULT
        for name in filter(None, (self._default, usual, *self._allowed)):
            found = self._present.get(name)
            if found is not None and self._allows(name) and (language is None or language in found.languages):
                return name
        self._check_allowed(usual)
        return usual

    def _allows(self, runtime: str) -> bool:
        return not self._allowed or runtime in self._allowed

    def _check_allowed(self, runtime: str) -> None:
        if not self._allows(runtime):
            hint = f"use {' or '.join(self._allowed)}: the setting `runtimes` allows nothing else"
            raise Forbidden(f"the runtime {runtime[:100]!r} is not allowed here", hint=hint)

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
