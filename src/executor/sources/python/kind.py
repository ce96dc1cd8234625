"""The `python` kind: the functions of an importable module, called inside the daemon.

The module's code runs with everything the daemon may do, so it is imported only after a human has agreed to it.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from types import ModuleType
from typing import Any

import orjson
from pydantic import ValidationError

from executor.errors import DocumentInvalid, SourceUnreachable, ToolError
from executor.model.credential import Credential
from executor.model.fairness import CURRENT, Party
from executor.model.source import Loaded, Source
from executor.model.tool import Schema, Tool
from executor.sources.consent import check_consent
from executor.sources.kind import Probe, SourceRequest
from executor.sources.python.functions import arguments_model, build, namespace_from, result_adapter
from executor.sources.python.given import GIVEN
from executor.sources.registry import Surroundings
from executor.sources.results import transport_error
from executor.sources.slots import QUEUE_SECONDS, THREADS, Slots

PREFIX = "python:"
CALL_SECONDS = 60.0
LATE = "let it do less at a time"
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z", re.ASCII)


class PythonFunctions:
    name = "python"
    runs_code = True

    def __init__(self, surroundings: Surroundings | None = None, *, call_seconds: float = CALL_SECONDS) -> None:
        self._call_seconds = call_seconds
        self._slots = Slots(THREADS)

    async def probe(self, request: SourceRequest) -> Probe | None:
        """Nothing is imported: even looking for a module runs the code of the package around it."""
        if not request.location.startswith(PREFIX):
            return None
        module = module_name(request.location)
        note = f"connecting imports {module} into the daemon and runs its code there"
        return Probe(self.name, request.location, module, namespace_from(module), transport="in-process", note=note)

    async def load(self, request: SourceRequest) -> Loaded:
        check_consent(self, request)
        module = await asyncio.to_thread(imported, module_name(request.location), again=request.again)
        return await asyncio.to_thread(build, request, module)

    def reload_request(self, source: Source) -> SourceRequest:
        return SourceRequest(
            kind=self.name,
            location=source.config["location"],
            namespace=source.namespace,
            name=source.name,
            consent=True,
            again=True,
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
        name = tool.binding["function"]
        module = await asyncio.to_thread(imported, module_name(source.config["location"]), again=False)
        function = getattr(module, name, None)
        if function is None:
            raise ToolError("unknown_tool", f"{module.__name__} has no function {name}", hint="refresh the source")
        given = converted(tool, name, function, arguments)
        GIVEN.set(credential)
        party = CURRENT.get()
        try:
            await self._slots.acquire(party, tool.path, None, QUEUE_SECONDS)
        except SourceUnreachable as error:
            raise transport_error(tool, error) from error
        under_way = self._start(party, function, given)
        try:
            async with asyncio.timeout(self._call_seconds):
                result = await under_way
                result = await result if inspect.isawaitable(result) else result
        except TimeoutError as error:
            message = f"{tool.path} did not return within {self._call_seconds:g} seconds"
            raise transport_error(tool, SourceUnreachable(message, hint=LATE, reason="timeout", sent=True)) from error
        except ToolError:
            raise
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"[:2_000]
            raise ToolError("upstream_error", f"{tool.path} raised {raised}", hint="act on its message") from error
        return await asyncio.to_thread(as_json, tool, function, result)

    async def outline(self, source: Source, tool: Tool, arguments: dict[str, Any], idempotency_key: str) -> str:
        return f"{module_name(source.config['location'])}.{tool.binding['function']}() inside the daemon"

    def _start(self, party: Party, function: Any, given: dict[str, Any]) -> asyncio.Future[Any]:
        """The slot is free again when the function has returned, also when nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        if inspect.iscoroutinefunction(function):
            task = loop.create_task(function(**given))
            task.add_done_callback(lambda _: self._slots.release(party))
            return task
        running = in_thread(copy_context().run, partial(function, **given))
        running.add_done_callback(lambda _: call_if_open(loop, partial(self._slots.release, party)))
        return asyncio.wrap_future(running)

    async def close(self) -> None:
        """Nothing is held. A function that does not return is left alone: its thread keeps no process alive."""


def in_thread(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """In a thread of its own that ends with the process: one of a pool would be waited for, however long it takes."""
    running: Future[Any] = Future()

    def run() -> None:
        try:
            result = function(*arguments)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits for it
            running.set_exception(error)
        else:
            running.set_result(result)

    running.set_running_or_notify_cancel()
    threading.Thread(target=run, name="python-source", daemon=True).start()
    return running


def call_if_open(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """From a thread that may outlive the loop."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)


def module_name(location: str) -> str:
    name = location.removeprefix(PREFIX)
    if not _MODULE.match(name):
        raise DocumentInvalid(f"{name[:100]!r} is no name of a module", hint="write python:package.module")
    return name


def imported(name: str, *, again: bool) -> ModuleType:
    try:
        if again and name in sys.modules:
            return importlib.reload(sys.modules[name])
        return sys.modules.get(name) or importlib.import_module(name)
    except Exception as error:
        raise SourceUnreachable(
            f"the module {name} can't be imported: {type(error).__name__}: {str(error)[:300]}",
            hint="install it where Executor is installed, then try again",
            reason="import",
        ) from error


def converted(tool: Tool, name: str, function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
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
        return result_adapter(function).dump_json(result, by_alias=True).decode()
    except Exception as error:
        raise ToolError(
            "unexpected_response",
            f"{tool.path} returned what has no JSON form: {str(error).splitlines()[0][:200]}",
            hint="let it return plain data",
        ) from error
