"""Approval defaults of a source, read and set. People who may change the policies of the workspace set them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.engine import Connection

from executor.errors import Conflict
from executor.execution.policies.administration import check_level
from executor.model.digest import digest
from executor.model.identity.actor import Actor
from executor.model.policy import Action, ApprovalDefaults
from executor.model.source import Source
from executor.model.tool import Effect
from executor.sources.lifecycle.persistence import no_source
from executor.storage.catalog import policies, sources
from executor.storage.database import Database

DefaultChanges = Mapping[Effect, Action | None]


async def find_approval_defaults(database: Database, source: Source) -> ApprovalDefaults:
    return await database.read(lambda c: policies.approval_defaults(c, source))


def change_approval_defaults(c: Connection, source: Source, changes: DefaultChanges, *, by: Actor) -> None:
    """In a writing job: None gives an effect the built-in default back, and effects that are left out stay."""
    check_level(by, "source")
    policies.lock(c, source.workspace_id)
    before = policies.approval_defaults(c, source)
    after = {effect: action for effect, action in {**before, **changes}.items() if action is not None}
    if after != before:
        policies.put_approval_defaults(c, source, after, by=by)


def version_of(defaults: ApprovalDefaults) -> str:
    return digest(dict(defaults))[:32]


async def set_approval_defaults(
    database: Database, source: Source, defaults: ApprovalDefaults, *, by: Actor, version: str = ""
) -> ApprovalDefaults:
    """Instead of those that it has. An effect that is left out has the built-in default. With a `version`, only if it
    still has those."""
    check_level(by, "source")

    def job(c: Connection) -> ApprovalDefaults:
        if not sources.lock(c, source):
            raise no_source(source.namespace)
        policies.lock(c, source.workspace_id)
        now = version_of(policies.approval_defaults(c, source))
        if version not in ("", now):
            raise Conflict(
                f"the defaults of {source.namespace} were changed by someone else in the meantime",
                hint="look at them again, then repeat the edit",
                revision=now,
            )
        policies.put_approval_defaults(c, source, defaults, by=by)
        return defaults

    return await database.write(job)
