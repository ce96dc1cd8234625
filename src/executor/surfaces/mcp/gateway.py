"""Executions in this process, as the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from executor.surfaces.views import View, execution_view
from executor.surfaces.waiting import Held, resume

if TYPE_CHECKING:
    from executor.daemon.executor import Executor
    from executor.execution.outcome import Outcome

WAIT_SECONDS = 50.0  # many clients give a call up after 60


class EngineGateway:
    def __init__(self, executor: Executor, held: Held) -> None:
        self._executor = executor
        self._held = held

    async def execute(self, code: str, language: str | None) -> View:
        executor = self._executor
        actor = executor.tenancy.agent
        run = executor.engine.run(actor, code, language=language, seconds=WAIT_SECONDS)
        return self._view(await self._held.hold(run))

    async def resume(self, execution_id: str) -> View:
        executor = self._executor
        return self._view(await resume(executor, self._held, executor.tenancy.agent, execution_id, WAIT_SECONDS))

    def _view(self, outcome: Outcome) -> View:
        return execution_view(outcome, self._executor.settings.base_url, read=orjson.loads)
