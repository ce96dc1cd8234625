"""What depends on a source and on its tools: asked before they go."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from executor.connections.connections import may_see
from executor.dataclass import dataclass
from executor.errors import Conflict
from executor.model.credentials import Connection as Credential
from executor.model.identity.actor import Actor
from executor.model.policy import Policy
from executor.model.source import Source
from executor.policy.pattern import parse_pattern
from executor.policy.visibility import covers
from executor.storage.catalog import policies, source_dependents, tools
from executor.storage.catalog.source_dependents import Waiting
from executor.storage.credentials import connections
from executor.storage.database import Database

__all__ = ["Dependents", "Waiting", "check_dropped", "find_dependents"]
SAID = 5


@dataclass(frozen=True, slots=True)
class Dependents:
    """`calls` are those of the last `executions`, `last_call` the time of the newest of them."""

    connections: tuple[Credential, ...]
    policies: tuple[Policy, ...]
    waiting: tuple[Waiting, ...]
    calls: int
    last_call: int | None
    executions: int = source_dependents.LOOKED_AT


async def find_dependents(database: Database, by: Actor, source: Source) -> Dependents:
    """Only an administrator sees connections that belong to others, as everywhere."""

    def job(c: Connection) -> Dependents:
        count, last = source_dependents.recent(c, source)
        return Dependents(
            tuple(one for one in connections.of_source(c, source.id) if may_see(by, one)),
            tuple(one for one in policies.in_force(c, source.workspace_id) if source_dependents.names(one, source)),
            tuple(source_dependents.waiting(c, source)),
            count,
            last,
        )

    return await database.read(job)


def check_dropped(c: Connection, source: Source, gone: Sequence[str]) -> None:
    """Raises Conflict, which names them, if policies or waiting calls depend on a tool that would go."""
    lost = of_tools(c, source, gone)
    if lost:
        raise Conflict(
            f"policies or pending calls depend on tools that would be removed: {'; '.join(lost[:SAID])}"
            + (f" and {len(lost) - SAID} more" if len(lost) > SAID else ""),
            hint="keep those tools, or confirm their removal with `drop`",
            dependents=lost,
        )


def of_tools(c: Connection, source: Source, gone: Sequence[str]) -> list[str]:
    """In words: policies of this source that would be about nothing, and calls that wait."""
    if not gone:
        return []
    lost = set(gone)
    staying = [path for path, _, _ in tools.digests(c, source.id) if path not in lost]
    own = [one for one in policies.in_force(c, source.workspace_id) if source_dependents.names(one, source)]
    found = [
        f"the policy {one.pattern} → {one.action} ({one.id})"
        for one in own
        if one.retired_at is None and is_about(one, lost) and not is_about(one, staying)
    ]
    waiting = source_dependents.waiting(c, source)
    return found + [f"a pending call of {one.path} ({one.interaction_id})" for one in waiting if one.path in lost]


def is_about(policy: Policy, paths: Sequence[str] | set[str]) -> bool:
    wanted = parse_pattern(policy.pattern)
    return any(covers(wanted, tuple(path.split("."))) for path in paths)
