"""Who asks, of which source, and with which credential: what a human wants to know of a question besides the call."""

from __future__ import annotations

from collections.abc import Sequence

from executor.execution.approvals.authority import Verdict, waits_for
from executor.execution.approvals.interactions import Background, read_background
from executor.model.interaction import Interaction
from executor.surfaces import views
from executor.surfaces.api.context import Context


async def view_interactions(here: Context, asked: Sequence[Interaction], *, whole: bool = False) -> list[views.View]:
    known = await read_background(here.executor.database, here.actor, asked)
    return [_view_interaction(one, here.executor.settings.address, known, whole=whole) for one in asked]


def _view_interaction(asked: Interaction, base_url: str, known: Background, *, whole: bool) -> views.View:
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
