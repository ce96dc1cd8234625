"""Executions in this process, as anyone who asks, and never with more than an agent may do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import orjson

from executor.execution import history
from executor.execution.artifacts import access
from executor.execution.artifacts.access import read_files
from executor.execution.submissions import Submission
from executor.execution.typecheck import Typecheck
from executor.model.artifact import Artifact
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import AGENT, OWNER
from executor.model.ids import now_ms
from executor.surfaces.http.long_wait import LongWaits, outcome_of, resume, wait
from executor.surfaces.mcp.open_calls import CURRENT_CALL
from executor.surfaces.mcp.results.media import ALL_BYTES, BLOCK_BYTES, KeptFile, is_showable
from executor.surfaces.mcp.session import CLIENT
from executor.surfaces.mcp.streams.call_news import NEWS
from executor.surfaces.mcp.tasks.task import PATIENCE_SECONDS, TASK_MODE
from executor.surfaces.mcp.tool_definitions import MAX_NAMES, instructions
from executor.surfaces.views.base import View
from executor.surfaces.views.executions import execution_summary, execution_view

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.execution.outcome import Outcome
    from executor.execution.toolkits.exposure import Exposed
    from executor.model.execution import Execution

# Whom the request under way acts as. The SDK's own tasks start from the request's and inherit it.
ASKING: ContextVar[Actor] = ContextVar("asking")
WAIT_SECONDS = 50.0  # many clients give a call up after 60
CANCEL_GRACE = 30.0  # for the answers to writes that were sent
CANCEL_SECONDS = 2.0  # before a request to cancel is answered
RECENT_SECONDS = 600
MOST_LISTED = 10
RETRY_SECONDS = 5.0  # after a connection broke, for a client that can name its submission to send it again


def wait_seconds() -> float:
    """A client that knows tasks need not wait: it asks again."""
    return {"none": WAIT_SECONDS, "allowed": PATIENCE_SECONDS, "requested": 0.0}[TASK_MODE.get()]


class EngineGateway:
    def __init__(self, executor: Executor, held: LongWaits) -> None:
        self._executor = executor
        self._held = held
        self._cancelling: set[asyncio.Task[Execution]] = set()

    async def execute(self, code: str, language: str | None, key: str = "", *, is_direct: bool = False) -> View:
        actor = self._actor
        self._held.check()
        typecheck: Typecheck | None = "off" if is_direct else None
        submission = Submission(code, language, typecheck=typecheck, key=key, client_name=CLIENT.get())
        submitted = await self._executor.engine.begin(actor, submission)
        self._follow(actor, submitted.execution_id, RETRY_SECONDS if key else 0.0)
        self._pass_on_news(actor, submitted.execution_id)
        return await self._answer(actor, submitted.execution_id, outcome_of(self._held, submitted, wait_seconds()))

    async def resume(self, execution_id: str) -> View:
        self._follow(self._actor, execution_id, None)
        await self._pass_on_later_news(self._actor, execution_id)
        return await self.wait(execution_id, 0.0)

    async def wait(self, execution_id: str, spent: float) -> View:
        actor, left = self._actor, max(0.0, wait_seconds() - spent)
        waited = resume(self._executor, self._held, actor, execution_id, left, whole=False)
        return await self._answer(actor, execution_id, waited)

    async def wait_for_pause(self, execution_id: str) -> View:
        actor = self._actor
        self._follow(actor, execution_id, None)
        await self._pass_on_later_news(actor, execution_id)
        waited = wait(self._executor, self._held, actor, execution_id, wait_seconds(), whole=False)
        return await self._answer(actor, execution_id, waited)

    async def look(self, execution_id: str) -> View:
        actor = self._actor
        return await self._answer(actor, execution_id, self._executor.engine.outcome(actor, execution_id, whole=False))

    async def check(self, execution_id: str) -> None:
        """Raises NotFound if it is none of this agent's."""
        await self._executor.engine.outcome(self._actor, execution_id, whole=False)

    async def peek(self, execution_id: str) -> View:
        """As it is now, for a request that is no call."""
        outcome = await self._executor.engine.outcome(self._actor, execution_id, whole=False)
        return self._view(outcome, await self._files(outcome))

    async def cancel(self, execution_id: str) -> None:
        """Raises Conflict if it has ended, and NotFound if it is none of this agent's. Writes that were sent may take
        longer to be answered than a client waits for this."""
        task = asyncio.create_task(self._executor.engine.cancel(self._actor, execution_id, grace=CANCEL_GRACE))
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)
        done, _ = await asyncio.wait((task,), timeout=CANCEL_SECONDS)
        if done:
            await task

    async def instructions(self) -> str:
        actor = self._actor
        visibility = await self._executor.policies.visibility(actor.workspace_id, actor.id, actor.toolkit_id)
        return instructions(
            await self._executor.catalog.namespaces(actor.workspace_id, MAX_NAMES + 1, visibility=visibility)
        )

    async def narrow(self, actor: Actor, slug: str) -> Actor:
        """To a toolkit. Raises NotFound for one that is not there, or not the one that its key is for."""
        toolkit = await self._executor.toolkits.find(actor, slug)
        return replace(actor, toolkit_id=toolkit.id)

    async def read_exposed(self) -> Mapping[str, Exposed]:
        return await self._executor.exposures.of(self._actor)

    async def artifacts(self, limit: int) -> Sequence[Artifact]:
        return await access.search(self._executor.database, self._actor, execution_id="", limit=limit, before="")

    async def artifact(self, artifact_id: str) -> Artifact:
        return await access.find(self._executor.database, self._actor, artifact_id)

    async def content(self, artifact: Artifact) -> bytes:
        pieces = access.read_content(self._executor.contents, artifact, 0, artifact.size)
        return b"".join([piece async for piece in pieces])

    async def latest(self) -> list[View]:
        actor = self._actor
        since = now_ms() - RECENT_SECONDS * 1000
        found = await history.list_recent(self._executor.database, actor, since, MOST_LISTED)
        return [cast("View", execution_summary(one)) for one in found]

    def _follow(self, actor: Actor, execution_id: str, patience: float | None) -> None:
        """A wait that is closed leaves an execution as it was before; only its submission began it."""
        cancel = partial(self._executor.engine.cancel, actor, execution_id, grace=CANCEL_GRACE)
        CURRENT_CALL.get().follow(execution_id, cancel, patience)

    def _pass_on_news(self, actor: Actor, execution_id: str) -> None:
        """To a client that asked for them, of an execution that the actor may see."""
        if news := NEWS.get():
            news.follow(self._executor.feed.follow(actor.workspace_id, execution_id=execution_id))

    async def _pass_on_later_news(self, actor: Actor, execution_id: str) -> None:
        """Raises NotFound for an execution that is none of the actor's."""
        if NEWS.get():
            await self._executor.engine.outcome(actor, execution_id, whole=False)
            self._pass_on_news(actor, execution_id)

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
            self._executor.contents,
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
            agent = replace(local.agent, toolkit_id=asking.toolkit_id)
            return replace(agent, via=asking.via, address=asking.address, surface="mcp")
        held = OWNER if asking.permissions is None else asking.permissions
        return replace(asking, permissions=AGENT & held, surface="mcp")

    def _view(self, outcome: Outcome, files: list[KeptFile]) -> View:
        view = execution_view(outcome, self._executor.settings.address, read=orjson.loads, whole=False)
        return {**view, "files": files} if files else cast("View", view)
