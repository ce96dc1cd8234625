"""Who asks, of which source, and with which credential: what a human wants to know of a question besides the call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from executor.execution.approvals.authority import Authority, Verdict, waits_for
from executor.model.interaction import Interaction
from executor.storage.catalog import policy_scope
from executor.storage.credentials import connections
from executor.storage.executions import executions
from executor.surfaces import views
from executor.surfaces.api.context import Context


@dataclass(frozen=True, slots=True)
class Known:
    """By id: names of actors and connections, where executions came from, and what settling each question takes."""

    actors: dict[str, str] = field(default_factory=dict)
    connections: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)


async def view_interactions(here: Context, asked: Sequence[Interaction], *, whole: bool = False) -> list[views.View]:
    """Names are looked up as they are now; the ids that the decision is bound to stay beside them."""

    def look(c: Connection) -> Known:
        authority = Authority(c, here.actor)
        return Known(
            policy_scope.actor_names(c, here.workspace_id, _actors(asked)),
            {one.id: one.name for one in connections.listing(c, here.workspace_id)},
            executions.origins(c, here.workspace_id, {one.execution_id for one in asked}),
            {one.id: authority.judge(one) for one in asked if one.status == "pending"},
        )

    known = await here.executor.database.read(look) if asked else Known()
    return [_view_interaction(one, here.executor.settings.address, known, whole=whole) for one in asked]


def _actors(asked: Sequence[Interaction]) -> set[str]:
    return {actor_id for one in asked for actor_id in (one.binding.actor_id, one.settled_by) if actor_id}


def _view_interaction(asked: Interaction, base_url: str, known: Known, *, whole: bool) -> views.View:
    connection_id = asked.binding.connection.partition("@")[0]
    return {
        **views.interaction_view(asked, base_url, whole=whole),
        "actorId": asked.binding.actor_id,
        "actor": known.actors.get(asked.binding.actor_id),
        "origin": known.origins.get(asked.execution_id) or None,
        "source": asked.prompt.get("source"),
        "question": asked.prompt.get("question"),
        "description": asked.prompt.get("description"),
        "describedBy": asked.prompt.get("describedBy"),
        "connection": known.connections.get(connection_id),
        "settledByName": known.actors.get(asked.settled_by),
        **verdict_view(known.verdicts.get(asked.id)),
    }


def verdict_view(verdict: Verdict | None) -> views.View:
    """Whom an open question waits for, and why that is not the one who looks at it."""
    if verdict is None:
        return {}
    refusal = verdict.refusal
    told = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint} if refusal is not None else None
    return {"needs": list(verdict.needs), "waitsFor": waits_for(verdict.needs), "refusal": told}
