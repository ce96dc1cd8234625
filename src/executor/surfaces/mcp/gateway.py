"""Executions in this process, as anyone who asks, and never with more than an agent may do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import orjson

from executor.execution import history
from executor.execution.artifacts.access import read_files
from executor.execution.submissions import Submission
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import AGENT, OWNER
from executor.model.ids import now_ms
from executor.surfaces.http.long_wait import LongWaits, outcome_of, resume, wait
from executor.surfaces.mcp.media import ALL_BYTES, BLOCK_BYTES, KeptFile, is_showable
from executor.surfaces.mcp.open_calls import CURRENT_CALL
from executor.surfaces.mcp.tool_definitions import MAX_NAMES, instructions
from executor.surfaces.views.base import View
from executor.surfaces.views.executions import execution_summary, execution_view

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.execution.outcome import Outcome

# Whom the request under way acts as. The SDK's own tasks start from the request's and inherit it.
ASKING: ContextVar[Actor] = ContextVar("asking")
WAIT_SECONDS = 50.0  # many clients give a call up after 60
CANCEL_GRACE = 30.0  # for the answers to writes that were sent
RECENT_SECONDS = 600
MOST_LISTED = 10
RETRY_SECONDS = 5.0  # after a connection broke, for a client that can name its submission to send it again


class EngineGateway:
    def __init__(self, executor: Executor, held: LongWaits) -> None:
        self._executor = executor
        self._held = held

    async def execute(self, code: str, language: str | None, key: str = "") -> View:
        actor = self._actor
        self._held.check()
        submitted = await self._executor.engine.begin(actor, Submission(code, language, key=key))
        self._follow(actor, submitted.execution_id, RETRY_SECONDS if key else 0.0)
        return await self._answer(actor, submitted.execution_id, outcome_of(self._held, submitted, WAIT_SECONDS))

    async def resume(self, execution_id: str) -> View:
        self._follow(self._actor, execution_id, None)
        return await self.wait(execution_id, 0.0)

    async def wait(self, execution_id: str, spent: float) -> View:
        actor, left = self._actor, max(0.0, WAIT_SECONDS - spent)
        waited = resume(self._executor, self._held, actor, execution_id, left, whole=False)
        return await self._answer(actor, execution_id, waited)

    async def wait_for_pause(self, execution_id: str) -> View:
        actor = self._actor
        self._follow(actor, execution_id, None)
        waited = wait(self._executor, self._held, actor, execution_id, WAIT_SECONDS, whole=False)
        return await self._answer(actor, execution_id, waited)

    async def look(self, execution_id: str) -> View:
        actor = self._actor
        return await self._answer(actor, execution_id, self._executor.engine.outcome(actor, execution_id, whole=False))

    async def instructions(self) -> str:
        actor = self._actor
        visibility = await self._executor.policies.visibility(actor.workspace_id, actor.id)
        return instructions(
            await self._executor.catalog.namespaces(actor.workspace_id, MAX_NAMES + 1, visibility=visibility)
        )

    async def latest(self) -> list[View]:
        actor = self._actor
        since = now_ms() - RECENT_SECONDS * 1000
        found = await history.list_recent(self._executor.database, actor, since, MOST_LISTED)
        return [cast("View", execution_summary(one)) for one in found]

    def _follow(self, actor: Actor, execution_id: str, patience: float | None) -> None:
        """A wait that is closed leaves an execution as it was before; only its submission began it."""
        cancel = partial(self._executor.engine.cancel, actor, execution_id, grace=CANCEL_GRACE)
        CURRENT_CALL.get().follow(execution_id, cancel, patience)

    async def _answer(self, actor: Actor, execution_id: str, waited: Awaitable[Outcome]) -> View:
        outcome = await waited
        if cancelling := CURRENT_CALL.get().cancelling:
            await asyncio.shield(cancelling)
            outcome = await self._executor.engine.outcome(actor, execution_id, whole=False)
        return self._view(outcome, await self._files(outcome))

    async def _files(self, outcome: Outcome) -> list[KeptFile]:
        """The images and sounds of what it returned, as far as one answer may have them."""
        kept = outcome.artifact
        if kept is None or kept.deleted_at is not None:
            return []
        found = await read_files(
            self._executor.database,
            kept,
            lambda file: is_showable(file.media_type),
            most=BLOCK_BYTES,
            most_of_all=ALL_BYTES,
        )
        return [KeptFile(file.id, file.media_type, file.size, data) for file, data in found]

    @property
    def _actor(self) -> Actor:
        """Here the operator's token means this installation's own agent, so that both see the same executions."""
        asking, local = ASKING.get(), self._executor.tenancy
        if asking.via == "operator_token" and asking.workspace_id == local.workspace.id:
            return replace(local.agent, via=asking.via, address=asking.address, surface="mcp")
        held = OWNER if asking.permissions is None else asking.permissions
        return replace(asking, permissions=AGENT & held, surface="mcp")

    def _view(self, outcome: Outcome, files: list[KeptFile]) -> View:
        view = execution_view(outcome, self._executor.settings.address, read=orjson.loads, whole=False)
        return {**view, "files": files} if files else cast("View", view)
