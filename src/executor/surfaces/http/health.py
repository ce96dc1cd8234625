"""The answers of `/healthz` and `/readyz`, before and after the API is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor


def healthy() -> Response:
    return Response(b'{"ok":true}', media_type="application/json")


def readiness(executor: Executor | None, *, is_stopping: bool = False) -> Response:
    """Whether requests should come here: 503 while it starts or stops, and while it can't use its database."""
    ready = executor is not None and not is_stopping and executor.is_ready
    body = b'{"ready":true}' if ready else b'{"ready":false}'
    return Response(body, status_code=200 if ready else 503, media_type="application/json")


class HealthApp:
    """All that a process answers which only runs code."""

    def __init__(self) -> None:
        self._executor: Executor | None = None
        self._is_stopping = False

    async def load(self, executor: Executor) -> None:
        self._executor = executor

    def release(self) -> None:
        self._is_stopping = True

    async def close(self) -> None:
        self._is_stopping = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answers = {"/healthz": healthy, "/readyz": self._readiness}
        answer = answers.get(scope["path"]) if scope["method"] == "GET" else None
        await (answer() if answer is not None else Response(status_code=404))(scope, receive, send)

    def _readiness(self) -> Response:
        return readiness(self._executor, is_stopping=self._is_stopping)
