"""Actors and sources as people name them: by name or by id."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.execution.builtins import tools
from executor.storage.catalog import policy_scope, sources
from executor.storage.database import Database

IDS = {"actor": "act_", "source": "src_"}


@dataclass(frozen=True, slots=True)
class Names:
    """By id: the names of actors, the namespaces of sources."""

    actors: dict[str, str]
    sources: dict[str, str]


async def read_names(database: Database, workspace_id: str) -> Names:
    def job(c: Connection) -> Names:
        namespaces = {source.id: source.namespace for source in sources.listing(c, workspace_id)}
        return Names(policy_scope.actor_names(c, workspace_id), namespaces)

    return await database.read(job)


def identify(what: str, given: str, known: dict[str, str]) -> str:
    """The id of what is given by its id or its name. What looks like an id may be of something that is gone."""
    if not given or given in known or given == tools.SOURCE or given.startswith(IDS[what]):
        return given
    found = [one for one, name in known.items() if name == given]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidRequest(f"there are {len(found)} {what}s named {given!r}", hint=f"use one of {', '.join(found)}")
    raise InvalidRequest(f"there is no {what} {given!r}", hint=f"available: {', '.join(sorted(known.values()))}")
