"""The policies in force, kept in memory and dropped the moment a change is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import AccessRevoked
from executor.model.policy import Decision, Policy
from executor.model.toolkit import Toolkit
from executor.policy.toolkit_scope import ToolkitScope, scope_of
from executor.policy.visibility import Visibility, visibility_of
from executor.storage.catalog import policies, sources, toolkits
from executor.storage.database import Database
from executor.storage.feed import Feed
from executor.storage.object_cache import ObjectCache
from executor.storage.read_cache import ReadCache

NOTHING = ToolkitScope()  # what a toolkit has that was removed


@dataclass(frozen=True, slots=True)
class PoliciesInForce:
    """`toolkit` is what tools the caller is narrowed to, if it is; its policies are among the others then.

    `decisions` are those that were made by these policies, by actor, tool and source. They go with the policies: a copy
    by `replace` begins without any.
    """

    revision: int
    policies: tuple[Policy, ...]
    namespaces: Mapping[str, str] = field(default_factory=dict)
    judges_arguments: bool = False
    own_paths: Mapping[str, str] = field(default_factory=dict)
    toolkits: Mapping[str, Toolkit] = field(default_factory=dict)
    scopes: Mapping[str, ToolkitScope] = field(default_factory=dict)  # of the toolkits
    toolkit: ToolkitScope | None = None
    decisions: ObjectCache[Decision] = field(default_factory=ObjectCache, init=False, repr=False, compare=False)

    def narrow(self, toolkit_id: str) -> PoliciesInForce:
        """As they apply in a toolkit. Raises AccessRevoked if that was removed."""
        toolkit = self.toolkits.get(toolkit_id)
        if toolkit is None:
            raise AccessRevoked("its toolkit was removed", hint="run the code again without it, or in another one")
        judges = self.judges_arguments or any(one.conditions for one in toolkit.policies)
        policies = (*self.policies, *toolkit.policies)
        return replace(self, policies=policies, judges_arguments=judges, toolkit=self.scopes[toolkit_id])

    def hides(self, path: str, effect: str) -> bool:
        """Whether the toolkit, if there is one, does not have the tool."""
        if self.toolkit is None:
            return False
        own = self.own_paths.get(path)
        return self.toolkit.hides(path, effect) or (own is not None and self.toolkit.denies(own, effect))


class PolicyCache(ReadCache[str, PoliciesInForce]):
    """By workspace."""

    def __init__(self, database: Database, feed: Feed) -> None:
        super().__init__(database, read_policies)
        self.drop_on(feed, ("policy.", "source.", "toolkit."), lambda announcement: announcement.workspace_id)

    async def within(self, workspace_id: str, toolkit_id: str) -> PoliciesInForce:
        """As they apply in a toolkit, if one is named. Raises AccessRevoked if that was removed."""
        in_force = await self.of(workspace_id)
        return in_force.narrow(toolkit_id) if toolkit_id else in_force

    async def visibility(self, workspace_id: str, actor_id: str, toolkit_id: str = "") -> Visibility | None:
        """What the policies in force, and the toolkit, keep from being found by an actor, or described to it."""
        in_force = await self.of(workspace_id)
        toolkit = in_force.scopes.get(toolkit_id, NOTHING) if toolkit_id else None
        return visibility_of(in_force.policies, actor_id, in_force.namespaces, in_force.own_paths, toolkit)


def read_policies(c: Connection, workspace_id: str) -> PoliciesInForce:
    found = (*policies.in_force(c, workspace_id), *policies.listing(c, workspace_id, "source"))
    named = any(one.source_id for one in found)
    namespaces = {one.id: one.namespace for one in sources.listing(c, workspace_id)} if named else {}
    conditional = any(one.conditions for one in found)
    own_paths = sources.own_paths(c, workspace_id)
    revision, kits = policies.revision(c, workspace_id), toolkits.listing(c, workspace_id)
    by_id, scopes = {one.id: one for one in kits}, {one.id: scope_of(one) for one in kits}
    return PoliciesInForce(revision, found, namespaces, conditional, own_paths, by_id, scopes)
