"""Interactions as people look at them: lists, one with all of its arguments, and what settling each takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import NotFound
from executor.execution.approvals.authority import Authority, Verdict
from executor.execution.approvals.expiry import check_open
from executor.execution.approvals.prompt import uncut
from executor.execution.names import identify, read_names
from executor.model.execution import Call
from executor.model.identity.actor import Actor
from executor.model.interaction import Interaction, InteractionStatus
from executor.storage.catalog import policy_scope
from executor.storage.credentials import connections
from executor.storage.database import Database
from executor.storage.executions import calls, executions, interactions
from executor.storage.scan import Page


@dataclass(frozen=True, slots=True)
class Background:
    """By id: names of actors and connections, where executions came from, and what settling each interaction takes."""

    actors: dict[str, str] = field(default_factory=dict)
    connections: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)


async def search(
    database: Database,
    by: Actor,
    *,
    status: InteractionStatus | None = None,
    execution_id: str | None = None,
    actor: str = "",
    source: str = "",
    limit: int,
    before: str | None,
) -> tuple[Page[Interaction], int]:
    """Newest first, and how many there are. `actor` and `source` are names or ids."""
    known = await read_names(database, by.workspace_id)
    wanted = {
        "status": status,
        "execution_id": execution_id,
        "actor_id": identify("actor", actor, known.actors),
        "source_id": identify("source", source, known.sources),
    }

    def job(c: Connection) -> tuple[Page[Interaction], int]:
        found = interactions.page(c, by.workspace_id, limit=limit, before=before, **wanted)
        return found, interactions.count(c, by.workspace_id, **wanted)

    return await database.read(job)


async def find(database: Database, by: Actor, interaction_id: str) -> Interaction:
    """With all of its arguments, however long: people decide by these."""
    asked, call = await database.read(lambda c: _look_up(c, by, interaction_id))
    return uncut(asked, call)


async def find_pending(database: Database, by: Actor, interaction_id: str) -> Interaction:
    """One that can still be settled, of an execution or of a session."""
    return await database.read(lambda c: _look_up_open(c, by, interaction_id)[0])


async def find_open(database: Database, by: Actor, interaction_id: str) -> tuple[Interaction, Call]:
    """One that can still be settled, and the call that waits for it."""
    asked, call = await database.read(lambda c: _look_up_open(c, by, interaction_id))
    if call is None:
        raise missing(interaction_id)
    return asked, call


def _look_up(c: Connection, by: Actor, interaction_id: str) -> tuple[Interaction, Call | None]:
    asked = interactions.get(c, by.workspace_id, interaction_id)
    if asked is None:
        raise missing(interaction_id)
    return asked, calls.one(c, by.workspace_id, asked.execution_id, asked.call_seq)


def _look_up_open(c: Connection, by: Actor, interaction_id: str) -> tuple[Interaction, Call | None]:
    asked, call = _look_up(c, by, interaction_id)
    check_open(c, asked)
    return asked, call


def missing(interaction_id: str) -> NotFound:
    return NotFound(
        f"there is no interaction {interaction_id!r}", hint="`executor approvals list` shows what is pending"
    )


async def read_background(database: Database, by: Actor, asked: Sequence[Interaction]) -> Background:
    """Names are as they are now. The ids that a decision is bound to are in the interaction itself."""
    actors = {actor_id for one in asked for actor_id in (one.binding.actor_id, one.settled_by) if actor_id}

    def job(c: Connection) -> Background:
        authority = Authority(c, by)
        return Background(
            policy_scope.actor_names(c, by.workspace_id, actors),
            {one.id: one.name for one in connections.listing(c, by.workspace_id)},
            executions.origins(c, by.workspace_id, {one.execution_id for one in asked}),
            {one.id: authority.judge(one) for one in asked if one.status == "pending"},
        )

    return await database.read(job) if asked else Background()
