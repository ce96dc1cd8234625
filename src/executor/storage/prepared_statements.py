"""Statements of the hot path: written in SQLAlchemy Core, compiled once per dialect, run by the driver itself.

Core's own execution spends more time on looking the statement up and on processing parameters than the database spends
on running it. Only plain values (text, integers, bytes, None) may be bound this way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy.engine import Connection, CursorResult
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement, Executable

Values = Mapping[str, Any]


class Prepared:
    def __init__(self, statement: Executable, *, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None]] = {}

    def __call__(self, c: Connection, values: Values | Sequence[Values]) -> CursorResult[Any]:
        sql, order = self._compiled.get(c.dialect.name) or self._compile(c)
        if order is None:
            return c.exec_driver_sql(sql, dict(values) if isinstance(values, Mapping) else [dict(v) for v in values])
        if isinstance(values, Mapping):
            return c.exec_driver_sql(sql, tuple([values[name] for name in order]))
        return c.exec_driver_sql(sql, [tuple([one[name] for name in order]) for one in values])

    def rows(self, c: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Many at once, each with its values in the order of `columns`."""
        if not rows:
            return
        sql, order = self._compiled.get(c.dialect.name) or self._compile(c)
        if order == self._columns:
            c.exec_driver_sql(sql, list(rows))
        else:
            self(c, [dict(zip(self._columns or (), row, strict=True)) for row in rows])

    def _compile(self, c: Connection) -> tuple[str, tuple[str, ...] | None]:
        statement = cast(ClauseElement, self._statement)
        compiled = cast(SQLCompiler, statement.compile(dialect=c.dialect, column_keys=self._columns))
        order = tuple(compiled.positiontup or ()) if compiled.positional else None
        self._compiled[c.dialect.name] = compiled.string, order
        return compiled.string, order
