"""Calls that a server carries out as tasks: it answers at once with a task, whose state is read until it has ended.

Servers of revision 2025-11-25 do so for calls that ask for it, and keep the result for `tasks/result`. Those of
2026-07-28 decide it on their own, if the client says that it knows tasks, and put the result into the task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from executor.dataclass import dataclass
from executor.errors import SourceError, ToolError
from executor.model.interaction import LISTENER
from executor.sources.mcp import input_rounds
from executor.sources.mcp.sessions.session import RpcError
from executor.sources.mcp.transports.endpoint import printable

MAX_ID = 500
FEWEST_SECONDS, MOST_SECONDS, USUAL_SECONDS = 0.25, 10.0, 1.0  # from one look to the next
MAX_FAILURES = 3  # looks in a row that got no answer
MAX_ROUNDS = 10
CANCEL_SECONDS = 10.0
GOING_ON = frozenset({"working", "submitted", "input_required"})

Ask = Callable[[str, dict[str, Any], float], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Task:
    """`is_flat`: as revision 2026-07-28 has it, all in one object."""

    id: str
    status: str
    wait: float
    said: str
    is_flat: bool
    raw: dict[str, Any]


def request_task(params: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The parameters of a call that asks for a task, which the server keeps for so long."""
    return {**params, "task": {"ttl": int(seconds * 1000)}}


def task_in(result: dict[str, Any]) -> Task | None:
    """The task that an answer is, if it is one."""
    if result.get("resultType") == "task":
        return read_task(result, is_flat=True)
    inner = result.get("task")
    return read_task(inner, is_flat=False) if isinstance(inner, dict) and "content" not in result else None


def read_task(raw: dict[str, Any], *, is_flat: bool) -> Task | None:
    name, status, said = raw.get("taskId"), raw.get("status"), raw.get("statusMessage")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_ID or not isinstance(status, str):
        return None
    every = raw.get("pollIntervalMs", raw.get("pollInterval"))
    wait = every / 1000 if isinstance(every, int | float) and 0 <= every < 1e9 else USUAL_SECONDS
    text = printable(said, 500) if isinstance(said, str) else ""
    return Task(name, status, min(max(wait, FEWEST_SECONDS), MOST_SECONDS), text, is_flat, raw)


class TaskFollower:
    """`ask` sends a request, within so many seconds. `seconds` is how long the server may take; people's time is not
    counted."""

    def __init__(self, path: str, ask: Ask, seconds: float) -> None:
        self._path = path
        self._ask = ask
        self._seconds = seconds
        self._ends = asyncio.get_running_loop().time() + seconds
        self._said = ""
        self._rounds = 0

    async def finish(self, task: Task) -> dict[str, Any]:
        """The result of the call. Raises RpcError, SourceError or ToolError."""
        try:
            while task.status in GOING_ON:
                if self._seconds_left() <= 0:
                    raise self._lost_error(f"its task did not end within {self._seconds:g} seconds", "upstream_timeout")
                if task.status == "input_required" and not task.is_flat:
                    break
                if task.status == "input_required":
                    await self._answer(task)
                await asyncio.sleep(task.wait)
                task = await self._look(task)
            return await self._result(task)
        except asyncio.CancelledError:
            await asyncio.shield(self._cancel(task))
            raise
        except ToolError:
            await self._cancel(task)
            raise

    async def _look(self, task: Task) -> Task:
        """A look may fail: it changes nothing, so it is repeated."""
        for attempt in range(MAX_FAILURES):
            try:
                answer = await self._ask("tasks/get", {"taskId": task.id}, min(60.0, max(1.0, self._seconds_left())))
                break
            except SourceError as error:
                if attempt == MAX_FAILURES - 1:
                    raise self._lost_error(f"its task can't be asked about: {error.message}") from error
                await asyncio.sleep(task.wait)
            except RpcError as error:
                raise self._lost_error(
                    f"the server no longer knows its task: {printable(error.message, 200)}"
                ) from error
        found = read_task(answer, is_flat=task.is_flat)
        if found is None or found.id != task.id:
            raise self._lost_error("the server's answer about its task can't be read")
        self._report(found)
        return found

    def _report(self, task: Task) -> None:
        listener = LISTENER.get()
        if task.said and task.said != self._said and listener is not None:
            self._said = task.said
            listener.log("info", task.said)

    async def _answer(self, task: Task) -> None:
        """People answer what the server needs for its task."""
        self._rounds += 1
        if self._rounds > MAX_ROUNDS:
            raise input_rounds.refusal(self._path, f"it asked for input more than {MAX_ROUNDS} times")
        began = asyncio.get_running_loop().time()
        answers = await input_rounds.answer_all(self._path, task.raw)
        self._ends += asyncio.get_running_loop().time() - began
        params = {"taskId": task.id, "inputResponses": answers.get("inputResponses", {})}
        await self._ask("tasks/update", params, 60.0)

    async def _result(self, task: Task) -> dict[str, Any]:
        if task.status == "cancelled":
            raise ToolError("upstream_error", f"{self._path}: the server cancelled its task", hint="see its log")
        if not task.is_flat:
            return await self._ask("tasks/result", {"taskId": task.id}, max(1.0, self._seconds_left()))
        error, result = task.raw.get("error"), task.raw.get("result")
        if isinstance(error, dict):
            code = error.get("code")
            raise RpcError(code if isinstance(code, int) else 0, str(error.get("message", "")), error.get("data"))
        if not isinstance(result, dict):
            raise self._lost_error("its task ended without a result")
        return result

    async def _cancel(self, task: Task) -> None:
        if task.status not in GOING_ON:
            return
        try:
            await self._ask("tasks/cancel", {"taskId": task.id}, CANCEL_SECONDS)
        except (SourceError, RpcError):
            return  # it may have ended, or the server can't

    def _seconds_left(self) -> float:
        return self._ends - asyncio.get_running_loop().time()

    def _lost_error(self, why: str, code: str = "upstream_unreachable") -> ToolError:
        hint = "it may have taken effect anyway: check before you repeat it"
        return ToolError(code, f"{self._path}: {why}", hint=hint, details={"sent": True})
