"""Alembic's entry: migrates over the connection that `executor.storage.migrate` hands in."""

from __future__ import annotations

from alembic import context

from executor.storage.tables.core import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
