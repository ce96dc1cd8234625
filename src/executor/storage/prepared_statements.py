"""Statements of the hot path: written in SQLAlchemy Core, compiled once per dialect, run by the driver itself.

Core's own execution spends more time on looking the statement up and on processing parameters than the database spends
on running it. Only plain values (text, integers, bytes, None) may be bound this way. Why SQLite's driver is called
without Core in between: docs/decisions/statements-by-the-driver.md.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement, Executable

if TYPE_CHECKING:
    from executor.storage.postgres.pipeline import Pipeline

Values = Mapping[str, Any]
Parameters = tuple[Any, ...] | list[tuple[Any, ...]]
Take = Callable[[Values], tuple[Any, ...]]


class Found(Protocol):
    """What a statement found or changed: the part of Core's result that is used."""

    @property
    def rowcount(self) -> int: ...

    def first(self) -> Any: ...

    def one(self) -> Any: ...

    def scalar(self) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Rows:
    def __init__(self, rows: list[Any], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def first(self) -> Any:
        return self._rows[0] if self._rows else None

    fetchone = first  # as the cursor of a driver has it, which a `check` may be given instead

    def one(self) -> Any:
        (row,) = self._rows
        return row

    def scalar(self) -> Any:
        return self._rows[0][0] if self._rows else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class Prepared:
    def __init__(self, statement: Executable, *, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None, Take]] = {}
        self._row: Any = None  # a named tuple of what it selects

    def __call__(self, c: Connection, values: Values | Sequence[Values]) -> Found:
        dialect = c.dialect.name
        sql, order, take = self._compiled.get(dialect) or self._compile(c)
        if order is None:
            return c.exec_driver_sql(sql, dict(values) if isinstance(values, Mapping) else [dict(v) for v in values])
        # The abstract class alone would take long to say so of a `dict`.
        parameters: Parameters = take(values) if isinstance(values, (dict, Mapping)) else [*map(take, values)]
        if dialect != "sqlite" or c.dispatch.before_cursor_execute:  # someone wants to see the statements
            return c.exec_driver_sql(sql, parameters)
        return self._run(c, sql, parameters)

    def _run(self, c: Connection, sql: str, parameters: Parameters) -> Rows:
        """In the transaction that Core has begun, or would begin now."""
        if not c.in_transaction():
            c.begin()
        driver = cast(sqlite3.Connection, c.connection.dbapi_connection)
        try:
            if isinstance(parameters, list):
                return Rows([], driver.executemany(sql, parameters).rowcount)
            cursor = driver.execute(sql, parameters)
            if cursor.description is None:
                return Rows([], cursor.rowcount)
            if self._row is None:
                self._row = row_type([column[0] for column in cursor.description])
            return Rows([self._row._make(row) for row in cursor], -1)
        except sqlite3.Error as error:
            raise_as_core(c, sql, parameters, error)

    def send(self, c: Connection, values: Values, check: Callable[[Any], None] | None = None) -> None:
        """For one whose result decides nothing but whether the transaction may be committed: `check` raises if not.

        On PostgreSQL it travels with others and is checked later, so nothing may be read into it that it has run.
        """
        pipeline: Pipeline | None = c.info.get("pipeline")
        if pipeline is not None:
            sql, *_ = self._compiled.get(c.dialect.name) or self._compile(c)
            pipeline.add(sql, values, check)
            return
        done = self(c, values)
        if check is not None:
            check(done)

    def rows(self, c: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Many at once, each with its values in the order of `columns`."""
        if not rows:
            return
        sql, order, _ = self._compiled.get(c.dialect.name) or self._compile(c)
        if order == self._columns:
            c.exec_driver_sql(sql, list(rows))
        else:
            self(c, [dict(zip(self._columns or (), row, strict=True)) for row in rows])

    def _compile(self, c: Connection) -> tuple[str, tuple[str, ...] | None, Take]:
        statement = cast(ClauseElement, self._statement)
        compiled = cast(SQLCompiler, statement.compile(dialect=c.dialect, column_keys=self._columns))
        order = tuple(compiled.positiontup or ()) if compiled.positional else None
        self._compiled[c.dialect.name] = made = compiled.string, order, value_getter(order or ())
        return made


def value_getter(names: Sequence[str]) -> Take:
    """Of the values of these names, as a tuple."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple([values[name] for name in names])


def row_type(names: list[str]) -> Any:
    return namedtuple("Row", names, rename=True)


def raise_as_core(c: Connection, sql: str, parameters: Parameters, error: sqlite3.Error) -> NoReturn:
    """The exception that Core would raise, which is what callers know."""
    hidden, many = c.engine.hide_parameters, isinstance(parameters, list)
    raise DBAPIError.instance(
        sql, parameters, error, sqlite3.Error, hide_parameters=hidden, dialect=c.dialect, ismulti=many
    ) from error
