"""Executions in this process, as whoever asks, and never with more than an agent may do."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from executor.execution.submissions import Submission
from executor.model.tenancy import AGENT, OWNER, Actor
from executor.surfaces.views import View, execution_view
from executor.surfaces.waiting import Held, resume, run

if TYPE_CHECKING:
    from executor.daemon.executor import Executor
    from executor.execution.outcome import Outcome

# Whom the request under way acts as. The SDK's own tasks start from the request's and inherit it.
ASKING: ContextVar[Actor] = ContextVar("asking")
WAIT_SECONDS = 50.0  # many clients give a call up after 60


class EngineGateway:
    def __init__(self, executor: Executor, held: Held) -> None:
        self._executor = executor
        self._held = held

    async def execute(self, code: str, language: str | None, key: str = "") -> View:
        submission = Submission(code, language, key=key)
        outcome, _ = await run(self._executor, self._held, self._actor, submission, WAIT_SECONDS)
        return self._view(outcome)

    async def resume(self, execution_id: str) -> View:
        waited = resume(self._executor, self._held, self._actor, execution_id, WAIT_SECONDS, whole=False)
        return self._view(await waited)

    @property
    def _actor(self) -> Actor:
        """The operator's token stands for this installation's own agent here, so that both see the same executions."""
        asking, local = ASKING.get(), self._executor.tenancy
        if asking.via == "operator_token" and asking.workspace_id == local.workspace.id:
            return replace(local.agent, via=asking.via, address=asking.address, door="mcp")
        held = OWNER if asking.permissions is None else asking.permissions
        return replace(asking, permissions=AGENT & held, door="mcp")

    def _view(self, outcome: Outcome) -> View:
        return execution_view(outcome, self._executor.settings.address, read=orjson.loads, whole=False)
