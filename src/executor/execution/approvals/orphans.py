"""Pending approvals of a removed source: they are denied, and the code continues."""

from __future__ import annotations

from functools import partial

from sqlalchemy.engine import Connection

from executor.execution.approvals.settlement import settle_open
from executor.execution.engine import Engine
from executor.model.execution import Execution
from executor.model.identity.actor import Actor
from executor.model.interaction import Interaction
from executor.model.source import Source
from executor.storage.executions import interactions

PAGE = 500  # pending ones that one transaction looks at


async def deny_orphans(engine: Engine, removed: Source, *, by: Actor) -> list[Interaction]:
    reason = f"the source {removed.namespace} was disconnected"
    following: dict[str | None, str | None] = {}  # where the page after each one begins

    def deny_page(c: Connection, before: str | None) -> list[tuple[Interaction, Execution | None]]:
        pending = interactions.page(c, removed.workspace_id, status="pending", limit=PAGE, before=before)
        following[before] = pending.next
        orphans = [one for one in pending if one.binding.path.startswith(f"{removed.namespace}.")]
        return settle_open(c, orphans, "denied", by=by, reason=reason)

    denied = await engine.settle_by(partial(deny_page, before=None))
    before = following[None]
    while before is not None:
        denied += await engine.settle_by(partial(deny_page, before=before))
        before = following[before]
    return denied
