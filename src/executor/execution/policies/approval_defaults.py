"""Approval defaults of a source, read and set. People who may change the policies of the workspace set them."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.execution.policies.administration import check_level
from executor.model.identity.actor import Actor
from executor.model.policy import ApprovalDefaults
from executor.model.source import Source
from executor.sources.lifecycle.persistence import no_source
from executor.storage.catalog import policies, sources
from executor.storage.database import Database


async def find_approval_defaults(database: Database, source: Source) -> ApprovalDefaults:
    return await database.read(lambda c: policies.approval_defaults(c, source))


async def set_approval_defaults(
    database: Database, source: Source, defaults: ApprovalDefaults, *, by: Actor
) -> ApprovalDefaults:
    """Instead of those that it has. An effect that is left out has the built-in default."""
    check_level(by, "source")

    def job(c: Connection) -> ApprovalDefaults:
        if sources.get(c, source.workspace_id, source.id) is None:
            raise no_source(source.namespace)
        policies.put_approval_defaults(c, source, defaults, by=by)
        return defaults

    return await database.write(job)
