"""The `python` kind: the functions of an importable module, called inside the daemon.

The module's code runs with everything the daemon may do, so it is imported only after a human has agreed to it. It
runs in threads of its own, for a bounded time; but it shares the daemon's process, and can end it (`os._exit`).
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

import orjson
from pydantic import ValidationError

from executor.errors import DocumentInvalid, SourceUnreachable, ToolError
from executor.model.credentials import Credential
from executor.model.fairness import CURRENT
from executor.model.source import Loaded, Source
from executor.model.tool import Schema, Tool
from executor.network.departure import check_departure
from executor.network.slots import QUEUE_SECONDS, THREADS, Slots
from executor.sources.kind import Probe, configured_destination
from executor.sources.lifecycle.consent import check_consent
from executor.sources.python.credential import GIVEN
from executor.sources.python.functions import arguments_model, build, namespace_from, result_adapter
from executor.sources.python.threads import Coroutines, Ended, Late, Running
from executor.sources.registry import Surroundings
from executor.sources.results import transport_error
from executor.sources.source_request import Consent, Previous, SourceRequest

PREFIX = "python:"
CALL_SECONDS = 60.0
LOAD_SECONDS = 120.0
MOST_TEXT = 10_000_000
LATE = "make it do less per call"
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z", re.ASCII)


class PythonFunctions:
    name = "python"
    destination = staticmethod(configured_destination)
    calls_stand_alone = True
    runs_code = True

    def __init__(
        self,
        surroundings: Surroundings | None = None,
        *,
        call_seconds: float = CALL_SECONDS,
        load_seconds: float = LOAD_SECONDS,
    ) -> None:
        self._call_seconds = call_seconds
        self._load_seconds = load_seconds
        self._slots = Slots(THREADS)
        self._coroutines = Coroutines()

    async def probe(self, request: SourceRequest) -> Probe | None:
        """Nothing is imported: even looking for a module runs the code of the package around it."""
        if not request.location.startswith(PREFIX):
            return None
        module = module_name(request.location)
        note = f"connecting imports {module} into the daemon and runs its code there"
        return Probe(self.name, request.location, module, namespace_from(module), transport="in-process", note=note)

    async def load(self, request: SourceRequest) -> Loaded:
        check_consent(self, request)
        name = module_name(request.location)
        running = Running(
            lambda _: build(request, import_named(name, again=request.previous is not None)), lambda: None
        )
        try:
            return await running.result(self._load_seconds)
        except Late as error:
            message = f"the module {name} was not imported within {self._load_seconds:g} seconds"
            raise SourceUnreachable(message, hint="make it do less during import", reason="import") from error
        except Ended as error:
            message = f"the module {name} can't be imported: it raised {error}"
            raise SourceUnreachable(message, hint="make it only define functions", reason="import") from error

    def reload_request(self, source: Source) -> SourceRequest:
        return SourceRequest(
            kind=self.name,
            location=source.known_keys["location"],
            namespace=source.namespace,
            name=source.name,
            consented=Consent(runs_code=True),
            previous=Previous(),
        )

    def strict_schema(self, tool: Tool) -> Schema:
        return tool.input_schema

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    async def invoke(
        self,
        source: Source,
        tool: Tool,
        arguments: dict[str, Any],
        idempotency_key: str,
        *,
        credential: Credential | None = None,
    ) -> str:
        GIVEN.set(credential)
        party = CURRENT.get()
        try:
            await self._slots.acquire(party, tool.path, None, QUEUE_SECONDS)
        except SourceUnreachable as error:
            raise transport_error(tool, error) from error
        try:
            check_departure()
        except SourceUnreachable as error:
            self._slots.release(party)
            raise transport_error(tool, error) from error
        loop = asyncio.get_running_loop()
        running = Running(
            lambda running: self._answer(running, source, tool, arguments),
            lambda: call_if_open(loop, partial(self._slots.release, party)),
        )
        try:
            return await running.result(self._call_seconds)
        except Late as error:
            message = f"{tool.path} did not return within {self._call_seconds:g} seconds"
            raise transport_error(tool, SourceUnreachable(message, hint=LATE, reason="timeout", sent=True)) from error
        except ToolError:
            raise
        except Exception as error:
            raised = str(error) if isinstance(error, Ended) else f"{type(error).__name__}: {error}"[:2_000]
            raise ToolError("upstream_error", f"{tool.path} raised {raised}", hint="see its message") from error

    def _answer(self, running: Running[str], source: Source, tool: Tool, arguments: dict[str, Any]) -> str:
        """In a thread of its own, from the import to the text of the result: code of the module runs in all of it."""
        name = tool.known_keys["function"]
        module = import_named(module_name(source.known_keys["location"]), again=False)
        function = getattr(module, name, None)
        if function is None:
            raise ToolError("unknown_tool", f"{module.__name__} has no function {name}", hint="refresh the source")
        result = function(**convert_arguments(tool, name, function, arguments))
        if inspect.isawaitable(result):
            result = self._coroutines.wait(result, running)
        return as_json(tool, function, result)

    async def outline(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        return f"{module_name(source.known_keys['location'])}.{tool.known_keys['function']}() inside the daemon"

    async def close(self) -> None:
        self._coroutines.close()


def call_if_open(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """From a thread that may outlive the loop."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)


def module_name(location: str) -> str:
    name = location.removeprefix(PREFIX)
    if not _MODULE.match(name):
        raise DocumentInvalid(f"{name[:100]!r} is not a module name", hint="write python:package.module")
    return name


def import_named(name: str, *, again: bool) -> ModuleType:
    try:
        if again and name in sys.modules and sys.modules[name].__spec__ is not None:  # else it was not imported
            return importlib.reload(sys.modules[name])
        return sys.modules.get(name) or importlib.import_module(name)
    except Exception as error:
        raise SourceUnreachable(
            f"the module {name} can't be imported: {type(error).__name__}: {str(error)[:300]}",
            hint="install it where Executor is installed, then try again",
            reason="import",
        ) from error


def convert_arguments(tool: Tool, name: str, function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    model = arguments_model(name, function)
    try:
        checked = model.model_validate_json(orjson.dumps(arguments))
    except ValidationError as error:
        problems = [{"at": "/" + "/".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()]
        message = f"{tool.path} can't be called with these arguments: {problems[0]['at']}: {problems[0]['message']}"
        raise ToolError("invalid_arguments", message, details={"problems": problems[:20]}) from error
    return {field: getattr(checked, field) for field in checked.model_fields_set}


def as_json(tool: Tool, function: Any, result: Any) -> str:
    try:
        text = result_adapter(function).dump_json(result, by_alias=True).decode()
    except Exception as error:
        raise ToolError(
            "unexpected_response",
            f"{tool.path} returned a value that can't be expressed as JSON: {str(error).splitlines()[0][:200]}",
            hint="make it return plain data",
        ) from error
    if len(text) > MOST_TEXT:
        message = f"{tool.path} returned more than {MOST_TEXT:,} characters"
        raise ToolError("result_too_large", message, hint="request less: filter, select fields, or use smaller pages")
    return text
