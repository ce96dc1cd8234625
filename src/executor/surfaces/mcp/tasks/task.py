"""An execution as a task: what a call that takes longer is answered with, and what is said of it later.

Nothing is stored for a task: its id names the execution, and whether the call began it or waits for it. So it is there
as long as the execution is, also after the daemon was restarted.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any, Final, Literal, NamedTuple

from executor.surfaces.mcp.handshake import META, MODERN_VERSION
from executor.surfaces.mcp.results.tool_results import result_of
from executor.surfaces.views.base import View

EXTENSION: Final = f"{META}tasks"
PATIENCE_SECONDS: Final = 0.9  # what takes no longer is simply answered
POLL_MS: Final = 500
TTL_MS: Final = 86_400_000
RUNNING: Final = frozenset({"queued", "running"})
_DIRECT: Final = "-direct"
_WAIT: Final = "-resume"
_ID: Final = re.compile(rf"(exec_[A-Za-z0-9]+)({_DIRECT})?({_WAIT})?")
# Whether the call under way may be answered with a task, or has to be: its client requested one.
TaskMode = Literal["none", "allowed", "requested"]
TASK_MODE: ContextVar[TaskMode] = ContextVar("task_mode", default="none")


def knows_tasks(message: dict[str, Any]) -> bool:
    """Whether the client of this request says so in it, as each request of the revision does."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict) or meta.get(f"{META}protocolVersion") != MODERN_VERSION:
        return False
    abilities = meta.get(f"{META}clientCapabilities")
    extensions = abilities.get("extensions") if isinstance(abilities, dict) else None
    return isinstance(extensions, dict) and isinstance(extensions.get(EXTENSION), dict)


def without_hint(message: dict[str, Any]) -> dict[str, Any]:
    """A call without `task`, by which clients of revision 2025-11-25 request one. Later only the server decides."""
    params = {"arguments": {}, **{key: value for key, value in message["params"].items() if key != "task"}}
    return {**message, "params": params}


class TaskId(NamedTuple):
    """`is_direct`: of a tool that is passed through. `waits`: until the execution ends, also through a pause."""

    execution_id: str
    is_direct: bool = False
    waits: bool = False

    def __str__(self) -> str:
        return f"{self.execution_id}{_DIRECT if self.is_direct else ''}{_WAIT if self.waits else ''}"


def read_id(task_id: object) -> TaskId | None:
    found = _ID.fullmatch(task_id) if isinstance(task_id, str) else None
    return TaskId(found[1], bool(found[2]), bool(found[3])) if found else None


def is_going_on(status: str, *, waits: bool) -> bool:
    """A call that began an execution is answered when that pauses, so that an agent can show the link."""
    return status in RUNNING or (waits and status == "paused")


def created_task(view: View, task_id: TaskId) -> dict[str, Any]:
    return {"resultType": "task", **_facts(view, "working", task_id)}


def task_of(view: View, task_id: TaskId) -> dict[str, Any]:
    """What became of it. A failure of the code is a result, as it is without tasks."""
    if is_going_on(view["status"], waits=task_id.waits):
        return {"resultType": "complete", **_facts(view, "working", task_id)}
    if view["status"] == "cancelled":
        return {"resultType": "complete", **_facts(view, "cancelled", task_id)}
    found = result_of(view, is_direct=task_id.is_direct)
    result = {key: value for key, value in found.items() if key != "resultType"}
    return {"resultType": "complete", **_facts(view, "completed", task_id), "result": result}


def task_facts(view: View, status: str, task_id: TaskId) -> dict[str, Any]:
    """What both revisions say of a task."""
    said = {
        "paused": "A human must decide before this continues.",
        "queued": "Waiting for a sandbox.",
        "running": "The code is running.",
    }.get(view["status"])
    return {
        "taskId": str(task_id),
        "status": status,
        **({"statusMessage": said} if said and status == "working" else {}),
        "createdAt": view["createdAt"],
        "lastUpdatedAt": view["finishedAt"] or view["createdAt"],
    }


def _facts(view: View, status: str, task_id: TaskId) -> dict[str, Any]:
    return {**task_facts(view, status, task_id), "ttlMs": TTL_MS, "pollIntervalMs": POLL_MS}
