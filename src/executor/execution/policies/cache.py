"""The policies in force, kept in memory and dropped the moment a change is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from executor.model.policy import Policy
from executor.policy.visibility import Visibility, visibility_of
from executor.storage.catalog import policies, sources
from executor.storage.database import Database
from executor.storage.feed import Feed
from executor.storage.read_cache import ReadCache


@dataclass(frozen=True, slots=True)
class PoliciesInForce:
    revision: int
    policies: tuple[Policy, ...]
    namespaces: Mapping[str, str] = field(default_factory=dict)
    judges_arguments: bool = False
    own_paths: Mapping[str, str] = field(default_factory=dict)


class PolicyCache(ReadCache[str, PoliciesInForce]):
    """By workspace."""

    def __init__(self, database: Database, feed: Feed) -> None:
        super().__init__(database, read_policies)
        self.drop_on(feed, ("policy.", "source."), lambda announcement: announcement.workspace_id)

    async def visibility(self, workspace_id: str, actor_id: str) -> Visibility | None:
        """What the policies in force keep from being found by an actor, or described to it."""
        in_force = await self.of(workspace_id)
        return visibility_of(in_force.policies, actor_id, in_force.namespaces, in_force.own_paths)


def read_policies(c: Connection, workspace_id: str) -> PoliciesInForce:
    found = (*policies.in_force(c, workspace_id), *policies.listing(c, workspace_id, "source"))
    named = any(one.source_id for one in found)
    namespaces = {one.id: one.namespace for one in sources.listing(c, workspace_id)} if named else {}
    conditional = any(one.conditions for one in found)
    own_paths = sources.own_paths(c, workspace_id)
    return PoliciesInForce(policies.revision(c, workspace_id), found, namespaces, conditional, own_paths)
