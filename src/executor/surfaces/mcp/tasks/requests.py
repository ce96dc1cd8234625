"""`tasks/get`, `tasks/update` and `tasks/cancel`, answered without the SDK, which has no tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import Response

from executor.errors import Conflict, ExecutorError, NotFound
from executor.surfaces.mcp.handshake import MODERN_VERSION, as_modern
from executor.surfaces.mcp.tasks.task import EXTENSION, TaskId, knows_tasks, read_id, task_of

if TYPE_CHECKING:
    from executor.surfaces.mcp.gateway import EngineGateway

METHODS: Final = ("tasks/get", "tasks/update", "tasks/cancel")
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
HEADER_MISMATCH, MISSING_CAPABILITY = -32020, -32021
NEEDED: Final[dict[str, Any]] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


def is_about_task(message: Any, headers: Mapping[str, str]) -> bool:
    """Of the revision that has them; to others these methods are unknown."""
    return (
        isinstance(message, dict)
        and message.get("method") in METHODS
        and type(message.get("id")) in (str, int)
        and isinstance(message.get("params"), dict)
        and headers.get("mcp-protocol-version") == MODERN_VERSION
    )


async def answer_about_task(gateway: EngineGateway, message: dict[str, Any], headers: Mapping[str, str]) -> Response:
    method, task_id = message["method"], message["params"].get("taskId")
    if headers.get("mcp-method") != method or headers.get("mcp-name") != task_id:
        return _refuse(
            message, HEADER_MISMATCH, "Mcp-Method and Mcp-Name must be the method and the taskId", status=400
        )
    if not knows_tasks(message):
        said = f"this needs the client capability {EXTENSION}"
        return _refuse(message, MISSING_CAPABILITY, said, NEEDED, status=400)
    found = read_id(task_id)
    if found is None:
        return _refuse(message, INVALID_PARAMS, f"there is no task {str(task_id)[:100]!r}")
    try:
        return _reply(message, await _answer(gateway, method, found))
    except NotFound:
        return _refuse(message, INVALID_PARAMS, f"there is no task {str(task_id)[:100]!r}")
    except ExecutorError as error:
        return _refuse(message, INTERNAL_ERROR, error.message, {"code": error.code, "hint": error.hint})


async def _answer(gateway: EngineGateway, method: str, task: TaskId) -> dict[str, Any]:
    """A task never asks its client for input, so an update changes nothing. To give up waiting ends no execution."""
    view = await gateway.peek(task.execution_id)
    if method == "tasks/get":
        return task_of(view, task)
    if method == "tasks/cancel" and not task.waits:
        try:
            await gateway.cancel(task.execution_id)
        except Conflict:
            return {}  # it has ended
    return {}


def _reply(message: dict[str, Any], result: dict[str, Any]) -> Response:
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": as_modern(result)}
    return Response(orjson.dumps(reply), media_type="application/json")


def _refuse(message: dict[str, Any], code: int, said: str, data: Any = None, *, status: int = 200) -> Response:
    error = {"code": code, "message": said, **({"data": data} if data is not None else {})}
    reply = {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return Response(orjson.dumps(reply), status_code=status, media_type="application/json")
