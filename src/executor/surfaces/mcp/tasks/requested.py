"""Tasks of revision 2025-11-25, which a client requests with a call: `tasks/get`, `tasks/result` and `tasks/cancel`.

They are the executions that tasks of the next revision are, and are answered without the SDK too. As there, what fails
is a result that a model can read, so the task of it has completed: clients ask for no result of a failed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import Response

from executor.errors import Conflict, ExecutorError, NotFound
from executor.model.ids import now_ms
from executor.surfaces.mcp.handshake import META, TASKS_VERSION
from executor.surfaces.mcp.results.tool_results import result_of, result_of_list
from executor.surfaces.mcp.tasks.task import POLL_MS, TTL_MS, TaskId, is_going_on, read_id, task_facts
from executor.surfaces.views.base import View, time

if TYPE_CHECKING:
    from executor.surfaces.mcp.gateway import EngineGateway

GET, RESULT, CANCEL = METHODS = ("tasks/get", "tasks/result", "tasks/cancel")
RELATED: Final = f"{META}related-task"
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
_TIMES: Final = {"ttl": TTL_MS, "pollInterval": POLL_MS}
LIST_ID: Final = "unfinished"  # of a `resume` that lists the unfinished executions


def requests_task(message: dict[str, Any], headers: Mapping[str, str]) -> bool:
    params = message.get("params")
    is_of_revision = headers.get("mcp-protocol-version") == TASKS_VERSION
    return is_of_revision and isinstance(params, dict) and isinstance(params.get("task"), dict)


def is_about_requested(message: Any, headers: Mapping[str, str]) -> bool:
    return (
        isinstance(message, dict)
        and message.get("method") in METHODS
        and type(message.get("id")) in (str, int)
        and isinstance(message.get("params"), dict)
        and headers.get("mcp-protocol-version") == TASKS_VERSION
    )


def created_requested(view: View, task_id: TaskId) -> dict[str, Any]:
    """Every task begins as working, also one that has already ended."""
    return {"task": {**task_facts(view, "working", task_id), **_TIMES}}


def created_list() -> dict[str, Any]:
    return {"task": {**_list_task(), "status": "working"}}


def refuse_task(message: dict[str, Any], result: dict[str, Any]) -> Response:
    """To a call that began nothing: a client that requested a task reads no other result."""
    return _fail(message, INVALID_PARAMS, str(result["content"][0]["text"]))


async def answer_about_requested(gateway: EngineGateway, message: dict[str, Any]) -> Response:
    named = message["params"].get("taskId")
    task_id = read_id(named)
    try:
        if named == LIST_ID:
            return _reply(message, await _answer_list(gateway, message["method"]))
        if task_id is None:
            raise NotFound("")
        return _reply(message, await _answer(gateway, message["method"], task_id))
    except NotFound:
        return _fail(message, INVALID_PARAMS, f"there is no task {str(named)[:100]!r}")
    except Conflict as error:
        return _fail(message, INVALID_PARAMS, error.message)
    except ExecutorError as error:
        return _fail(message, INTERNAL_ERROR, error.message, {"code": error.code, "hint": error.hint})


async def _answer(gateway: EngineGateway, method: str, task_id: TaskId) -> dict[str, Any]:
    """A result is waited for as long as a call is, and then is what the call would be answered: how to come back."""
    if method == RESULT:
        wait = gateway.resume if task_id.waits else gateway.wait_for_pause
        found = result_of(await wait(task_id.execution_id), is_direct=task_id.is_direct)
        found.pop("resultType", None)
        return {**found, "_meta": {**found["_meta"], RELATED: {"taskId": str(task_id)}}}
    if method == CANCEL:
        await _cancel(gateway, task_id)
    return _task(await gateway.peek(task_id.execution_id), task_id)


async def _cancel(gateway: EngineGateway, task_id: TaskId) -> None:
    """Raises Conflict for a task that has ended, as the revision demands."""
    view = await gateway.peek(task_id.execution_id)
    if not is_going_on(view["status"], waits=task_id.waits):
        raise Conflict(f"the task is {_status(view, task_id)}", hint="it can't be cancelled")
    await gateway.cancel(task_id.execution_id)


async def _answer_list(gateway: EngineGateway, method: str) -> dict[str, Any]:
    if method == CANCEL:
        raise Conflict("the task is completed", hint="it can't be cancelled")
    if method == GET:
        return _list_task()
    found = result_of_list(await gateway.latest())
    found.pop("resultType", None)
    return {**found, "_meta": {**found["_meta"], RELATED: {"taskId": LIST_ID}}}


def _status(view: View, task_id: TaskId) -> str:
    if is_going_on(view["status"], waits=task_id.waits):
        return "working"
    return "cancelled" if view["status"] == "cancelled" else "completed"


def _task(view: View, task_id: TaskId) -> dict[str, Any]:
    return {**task_facts(view, _status(view, task_id), task_id), **_TIMES}


def _list_task() -> dict[str, Any]:
    now = time(now_ms())
    facts = {"taskId": LIST_ID, "status": "completed", "createdAt": now, "lastUpdatedAt": now}
    return {**facts, **_TIMES}


def _reply(message: dict[str, Any], result: dict[str, Any]) -> Response:
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return Response(orjson.dumps(reply), media_type="application/json")


def _fail(message: dict[str, Any], code: int, said: str, data: Any = None) -> Response:
    error = {"code": code, "message": said, **({"data": data} if data is not None else {})}
    reply = {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return Response(orjson.dumps(reply), media_type="application/json")
