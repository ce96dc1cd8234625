"""Calls of `execute` and `resume`, and of the tools that a toolkit passes through. Their arguments, their outcome."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from executor.errors import ExecutorError, InvalidRequest
from executor.execution.submissions import checked_key
from executor.schemas.portable import without_nulls
from executor.surfaces.mcp.elicitation import DIALOG, Dialog, Link, required_input
from executor.surfaces.mcp.exposed_tools import find_exposed
from executor.surfaces.mcp.handshake import HANDSHAKE_VERSIONS, IDEMPOTENCY_KEYS
from executor.surfaces.mcp.resources import Library
from executor.surfaces.mcp.results.tool_results import result_of, result_of_error, result_of_list
from executor.surfaces.mcp.tasks.requested import created_list, created_requested
from executor.surfaces.mcp.tasks.task import TASK_MODE, TaskId, created_task, is_going_on
from executor.surfaces.mcp.tool_definitions import TOOLS
from executor.surfaces.views.base import View
from executor.telemetry import tracer
from executor.telemetry.error_codes import code_of

if TYPE_CHECKING:
    from executor.execution.toolkits.exposure import Exposed

logger = logging.getLogger(__name__)
SCHEMAS: dict[str, dict[str, Any]] = {tool["name"]: tool["inputSchema"] for tool in TOOLS}


class Gateway(Library, Protocol):
    """Where executions happen: in this process, or in the daemon behind `/v1`."""

    async def execute(self, code: str, language: str | None, key: str = "", *, is_direct: bool = False) -> View:
        """`is_direct`: the code is ours, so there are no types to check."""
        ...

    async def resume(self, execution_id: str) -> View: ...

    async def look(self, execution_id: str) -> View:
        """As it is now."""
        ...

    async def wait_for_pause(self, execution_id: str) -> View:
        """Until it pauses or ends."""
        ...

    async def wait(self, execution_id: str, spent: float) -> View:
        """Also through a pause. `spent` are the seconds for which the call has waited already."""
        ...

    async def instructions(self) -> str:
        """They name what is connected, as far as this agent may see it."""
        ...

    async def latest(self) -> list[View]:
        """Of this agent: what is unfinished, and what ended lately, each newest first."""
        ...


async def call(
    gateway: Gateway,
    name: str,
    arguments: dict[str, Any],
    meta: Mapping[str, Any] = MappingProxyType({}),
    version: str | None = None,
) -> dict[str, Any]:
    """What goes wrong on purpose is a tool result the model can act on; the rest is an id that the log explains.

    `meta` may name the submission by one of IDEMPOTENCY_KEYS; `version` is the revision that the client speaks.
    """
    try:
        exposed = find_exposed(name)
        checked = _direct_call(exposed, arguments) if exposed else _check_arguments(arguments, SCHEMAS[name])
        mode = TASK_MODE.get()
        if name == "resume" and not checked.get("executionId"):
            return created_list() if mode == "requested" else result_of_list(await gateway.latest())
        view, link = await _outcome(gateway, name, checked, meta)
        if link is not None:
            return required_input(link, view["executionId"])
        waits = name == "resume" or is_accepted(DIALOG.get())
        task_id = TaskId(view["executionId"], exposed is not None, waits)
        if mode == "requested":
            return created_requested(view, task_id)
        if mode == "allowed" and is_going_on(view["status"], waits=waits):
            return created_task(view, task_id)
        return _result_for(view, version, is_direct=exposed is not None)
    except Exception as error:  # noqa: BLE001 - the edge: see `_result_of_failure`
        return _result_of_failure(error)


async def call_outcome(
    gateway: Gateway, execution_id: str, version: str | None, *, is_direct: bool = False
) -> dict[str, Any]:
    """What the call that began this execution is answered: an `execute`, or a tool that is passed through."""
    try:
        return _result_for(await gateway.wait_for_pause(execution_id), version, is_direct=is_direct)
    except Exception as error:  # noqa: BLE001 - the edge: see `_result_of_failure`
        return _result_of_failure(error)


def _result_for(view: View, version: str | None, *, is_direct: bool = False) -> dict[str, Any]:
    has_links, has_sounds = version not in HANDSHAKE_VERSIONS[:2], version != HANDSHAKE_VERSIONS[0]
    return result_of(view, has_sounds=has_sounds, has_links=has_links, is_direct=is_direct)


def _result_of_failure(error: Exception) -> dict[str, Any]:
    """The edge: what no one foresaw is answered with an opaque id, and logged with everything."""
    if isinstance(error, ExecutorError):
        tracer.current_span().fail(code_of(error))
        return result_of_error(error)
    incident = secrets.token_hex(8)
    logger.error("unexpected error %s", incident, exc_info=error)
    hint = "the daemon's log has details under this ID"
    return result_of_error(ExecutorError(f"internal error (incident {incident})", hint=hint))


async def _outcome(
    gateway: Gateway, name: str, checked: dict[str, str], meta: Mapping[str, Any]
) -> tuple[View, Link | None]:
    """With a link, if the client is to show it before it asks again."""
    started, dialog = time.monotonic(), DIALOG.get()
    code, language = checked.get("code", ""), checked.get("language") or None
    execute = partial(gateway.execute, code, language, is_direct=name not in SCHEMAS)
    if dialog is None:
        return await (gateway.resume(checked["executionId"]) if name == "resume" else execute(_key(meta))), None
    if dialog.retried:
        execution_id = checked["executionId"] if name == "resume" else dialog.retried
        return await (gateway.resume if dialog.is_accepted else gateway.look)(execution_id), None
    first = gateway.wait_for_pause(checked["executionId"]) if name == "resume" else execute(_key(meta))
    view = await first
    link = dialog.links.take(view)
    if link is not None and dialog.stream is None:
        return view, link
    wait = partial(gateway.wait, view["executionId"], time.monotonic() - started)
    if link is not None:
        return await dialog.show(link, view, wait), None
    return (await wait() if name == "resume" and view["status"] == "paused" else view), None


def find_schema(name: str) -> dict[str, Any] | None:
    exposed = find_exposed(name)
    return exposed.input_schema if exposed else SCHEMAS.get(name)


def _direct_call(exposed: Exposed, arguments: dict[str, Any]) -> dict[str, str]:
    """An execution like any other, of code that does nothing but this call."""
    from executor.execution.toolkits.exposure import code_for

    given = without_nulls(arguments, exposed.input_schema)
    return {"code": code_for(exposed.tool.path, given), "language": "typescript"}


def is_accepted(dialog: Dialog | None) -> bool:
    """Whether the client has shown its user the link, and now waits for what comes of it."""
    return dialog is not None and bool(dialog.retried) and dialog.is_accepted


def _key(meta: Mapping[str, Any]) -> str:
    keys = {checked_key(meta[name]) for name in IDEMPOTENCY_KEYS if name in meta}
    if len(keys) > 1:
        raise InvalidRequest("`_meta` has two idempotency keys", hint=f"send only {IDEMPOTENCY_KEYS[0]}")
    return keys.pop() if keys else ""


def _check_arguments(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, str]:
    """Those of the schema alone: clients add arguments of their own, and send null for what they leave out."""
    expected = f"the arguments are {', '.join(schema['properties'])}"
    given = {key: arguments[key] for key in schema["properties"] if arguments.get(key) is not None}
    for key, value in given.items():
        if not isinstance(value, str):
            raise InvalidRequest(f"`{key}` must be a string", hint=expected)
    for key in schema.get("required", ()):
        if key not in given:
            raise InvalidRequest(f"`{key}` is missing", hint=expected)
    return given
