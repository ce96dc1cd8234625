"""Questions about calls of a source that is gone: nothing can come of them. They are denied, and the code goes on."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.execution.approvals.settlement import settle
from executor.execution.engine import Engine
from executor.model.interaction import Interaction
from executor.model.source import Source
from executor.model.tenancy import Actor
from executor.storage.executions import interactions

PAGE = 500


async def deny_orphans(engine: Engine, removed: Source, *, by: Actor) -> list[Interaction]:
    reason = f"the source {removed.namespace} was disconnected"

    def left(c: Connection) -> list[Interaction]:
        pending = interactions.page(c, removed.workspace_id, status="pending", limit=PAGE)
        return [one for one in pending if one.binding.path.startswith(f"{removed.namespace}.")]

    return await engine.settle_by(lambda c: [settle(c, one, "denied", by=by, reason=reason) for one in left(c)])
