"""A whole Executor on a temporary data directory, connected to a real upstream that counts its effects."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from executor.daemon.wiring.executor import Executor
from executor.execution.outcome import Outcome
from executor.model.interaction import Interaction
from executor.model.policy import Policy
from executor.policy.drafts import draft
from executor.settings import Settings
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.catalog import policies
from tests.support.ledger import Ledger, effects


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    server = Ledger(tmp_path / "effects")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def settings(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    return Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"})


def shared_state(factory: pytest.TempPathFactory) -> Path:
    """One place for all tests, so that the sandbox is compiled once."""
    path = factory.getbasetemp() / "shared-state"
    path.mkdir(exist_ok=True, mode=0o700)
    return path


@dataclass
class ExecutorHarness:
    executor: Executor
    ledger: Ledger

    async def run(self, code: str, **options: Any) -> Outcome:
        return await self.executor.engine.run(self.executor.tenancy.agent, code, **{"seconds": 120.0, **options})

    async def wait(self, execution_id: str, **options: Any) -> Outcome:
        return await self.executor.engine.wait(self.executor.tenancy.agent, execution_id, 120.0, **options)

    async def settle(self, outcome: Outcome, decision: Any, index: int = 0, **options: Any) -> Interaction:
        operator = self.executor.tenancy.operator
        return await self.executor.engine.settle(operator, outcome.interactions[index].id, decision, **options)

    async def policy(self, pattern: str, action: Any, *conditions: Any, **options: Any) -> Policy:
        """A policy of the workspace; `conditions` as in the API."""
        position, local = options.pop("position", None), self.executor.tenancy
        policy = draft(pattern, action, conditions, **{"owner_id": local.workspace.id, **options})
        return await self.executor.database.write(
            lambda c: policies.add(c, local.workspace.id, policy, position, by=local.operator)
        )

    def effects(self) -> list[tuple[str, str]]:
        return effects(self.ledger.effects)


@pytest.fixture
async def reopen(settings: Settings, ledger: Ledger) -> AsyncIterator[Callable[[], Awaitable[ExecutorHarness]]]:
    """Opens the Executor, closing the one before: a restart of the daemon on the same data directory."""
    opened: list[Executor] = []

    async def open_again() -> ExecutorHarness:
        if opened:
            await opened.pop().close()
        executor = await Executor.open(settings)
        opened.append(executor)
        if not await executor.catalog.source(executor.tenancy.workspace.id, "ledger"):
            request = SourceRequest(
                location=f"{ledger.url}/openapi.json", namespace="ledger", consented=Consent(private_network=True)
            )
            await executor.catalog.add_source(executor.tenancy.workspace.id, request)
        return ExecutorHarness(executor, ledger)

    yield open_again
    for executor in opened:
        await executor.close()


@pytest.fixture
async def harness(reopen: Callable[[], Awaitable[ExecutorHarness]]) -> ExecutorHarness:
    return await reopen()


def value(outcome: Outcome) -> Any:
    assert outcome.execution.status == "completed", outcome
    return orjson.loads(outcome.execution.result or "null")
