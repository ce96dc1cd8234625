"""A whole Executor connected to a service that wants credentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from executor.connections.new_connection import Offer
from executor.daemon.wiring.executor import Executor
from executor.execution.approvals.credentials import provide
from executor.execution.outcome import Outcome
from executor.model.credentials import Connection
from executor.model.interaction import Interaction
from executor.model.source import Source
from executor.sources.source_request import Consent, SourceRequest
from tests.support.protected_service import ProtectedService


@dataclass
class ConnectionHarness:
    executor: Executor
    service: ProtectedService

    @property
    def workspace_id(self) -> str:
        return self.executor.tenancy.workspace.id

    async def source(self) -> Source:
        found = await self.executor.catalog.source(self.workspace_id, "guarded")
        assert found is not None
        return found

    async def add_source(self, **changes: Any) -> Source:
        asked = {"location": f"{self.service.url}/openapi.json", "namespace": "guarded"}
        given = {**asked, "consented": Consent(private_network=True)}
        return await self.executor.catalog.add_source(self.workspace_id, SourceRequest(**{**given, **changes}))

    async def connect(self, way: str, values: dict[str, str], **given: Any) -> Connection:
        offer = Offer(values=values, way=way, **given)
        return await self.executor.connections.add(await self.source(), offer, by=self.executor.tenancy.operator)

    async def run(self, code: str, **options: Any) -> Outcome:
        return await self.executor.engine.run(self.executor.tenancy.agent, code, **{"seconds": 120.0, **options})

    async def wait(self, outcome: Outcome) -> Outcome:
        return await self.executor.engine.wait(self.executor.tenancy.agent, outcome.execution.id, 120.0)

    async def give(self, asked: Interaction, values: dict[str, str], **given: Any) -> Interaction:
        executor = self.executor
        offer = Offer(values=values, replace=True, **given)
        return await provide(executor.engine, executor.connections, executor.tenancy.operator, asked.id, offer)


def value(outcome: Outcome) -> Any:
    assert outcome.execution.status == "completed", outcome.execution.failure or outcome
    return orjson.loads(outcome.execution.result or "null")
