"""Requests that were refused for who asked or from where are events too, in bounded number."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson
from starlette.types import Scope

from executor.surfaces.http.guard import ACTOR

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.model.identity.actor import Actor

WINDOW_SECONDS = 60.0
MOST = 60  # in a window, anyone who asks
MOST_OF_ONE = 20  # in a window, from one address or actor
LONGEST_PATH = 200

logger = logging.getLogger(__name__)


class RefusalAudit:
    """Anyone who asks too often is counted, and reported in the next event."""

    def __init__(self) -> None:
        self._executor: Executor | None = None
        self._writing: set[asyncio.Future[Any]] = set()
        self._since = 0.0
        self._seen: Counter[str] = Counter()
        self._unrecorded = 0

    def open(self, executor: Executor) -> None:
        self._executor = executor

    def note(self, scope: Scope, status: int, body: bytes) -> None:
        actor: Actor | None = scope.get(ACTOR)
        address = (scope.get("client") or ("",))[0]
        executor = self._executor
        if executor is None or not self._counts(actor.id if actor else address):
            return
        data = {
            "method": scope["method"],
            "path": scope["path"][:LONGEST_PATH].encode("utf-8", "replace").decode(),
            "status": status,
            "code": code_of(body),
            "address": address,
            **({"unrecorded": self._unrecorded} if self._unrecorded else {}),
        }
        self._unrecorded = 0
        self._write(executor, data, actor)

    def _counts(self, who: str) -> bool:
        now = time.monotonic()
        if now - self._since > WINDOW_SECONDS:
            self._since, self._seen = now, Counter()
        recorded = self._seen.total() < MOST and self._seen[who] < MOST_OF_ONE
        if recorded:
            self._seen[who] += 1
        else:
            self._unrecorded += 1
        return recorded

    def _write(self, executor: Executor, data: dict[str, Any], actor: Actor | None) -> None:
        from executor.identity.audit import record_refusal  # late: this is before the database is open

        workspace_id = actor.workspace_id if actor else executor.tenancy.workspace.id
        writing = record_refusal(executor.database, workspace_id, data, actor)
        self._writing.add(writing)
        writing.add_done_callback(self._on_written)

    def _on_written(self, writing: asyncio.Future[Any]) -> None:
        """The request was refused whether or not this could be written."""
        self._writing.discard(writing)
        error = None if writing.cancelled() else writing.exception()
        if error is not None:
            self._unrecorded += 1
            logger.error("a refusal can't be recorded: %s", error)


def code_of(body: bytes) -> str:
    try:
        problem = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    code = problem.get("code") if isinstance(problem, dict) else ""
    return code[:100] if isinstance(code, str) else ""
