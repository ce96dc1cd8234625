"""The engine: psycopg's own connections, texts in byte order, and no values in errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGTypeCompiler
from sqlalchemy.engine import Engine
from sqlalchemy.pool import QueuePool

from executor.storage.database import READERS, SCANS, SEARCHES
from executor.storage.postgres.url import driver, parameters


class TypeCompiler(PGTypeCompiler):
    """Columns of text compare by their bytes, as SQLite's do, whatever the database's own collation is.

    Ids, paths and cursors are compared by `<` and walked in order; in a language's order `shop.z` comes before `shop/`.
    """

    def visit_VARCHAR(self, type_: Any, **options: Any) -> str:  # noqa: N802 - SQLAlchemy's name
        return _collate(super().visit_VARCHAR(type_, **options), options)

    def visit_TEXT(self, type_: Any, **options: Any) -> str:  # noqa: N802 - SQLAlchemy's name
        return _collate(super().visit_TEXT(type_, **options), options)


def _collate(words: str, options: dict[str, Any]) -> str:
    is_column = options.get("type_expression") is not None  # and not the type of a parameter
    return f'{words} COLLATE "C"' if is_column else words


def open_engine(url: str, *, pooled: bool = False) -> Engine:
    """Nothing is connected yet. The URL is not part of the engine, so nothing that shows the engine shows it."""
    psycopg, given = driver(), parameters(url, pooled=pooled)
    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(**given),
        poolclass=QueuePool,
        pool_size=READERS + SEARCHES + SCANS,
        max_overflow=2,
        hide_parameters=True,
        use_native_hstore=False,
    )
    engine.dialect.type_compiler_instance = TypeCompiler(engine.dialect)
    return engine


def local_settings(settings: Mapping[str, str]) -> str:
    """For the list of a SELECT: until the end of the transaction."""
    return ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
