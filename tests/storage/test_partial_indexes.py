"""Partial indexes are the same in both databases, although their tables name neither."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

from executor.storage.tables import access, cluster, model_usage, sessions, webhooks  # noqa: F401 - all tables
from executor.storage.tables.core import metadata

ON_POSTGRESQL_ALONE = {"ix_executions_claimed_next", "ix_executions_owned"}


def created_indexes(url: str) -> dict[str, str]:
    """The conditions of the partial indexes, by name, that a new database gets."""
    found: dict[str, str] = {}

    def note(statement: Any, *_: Any) -> None:
        if isinstance(statement, sa.schema.CreateIndex):
            text = str(statement.compile(dialect=engine.dialect))
            if condition := re.search(r" WHERE (.+)$", text):
                found[str(statement.element.name)] = condition[1]

    engine = sa.create_mock_engine(url, note)
    metadata.create_all(engine, checkfirst=False)
    return found


def test_an_index_has_its_condition_in_both_databases() -> None:
    sqlite, postgresql = created_indexes("sqlite://"), created_indexes("postgresql+psycopg://")
    assert sqlite.keys() == postgresql.keys() - ON_POSTGRESQL_ALONE
    assert sqlite.items() <= postgresql.items()
    assert len(sqlite) == 10
