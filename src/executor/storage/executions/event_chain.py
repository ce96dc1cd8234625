"""The chain of events: each event's seal covers the event and the seal before it, so none can be changed unseen.

The writer keeps the last seal of each workspace in memory and writes it down once a commit. A database that several
processes write (PostgreSQL) reads it under a row lock in each transaction instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import field
from operator import itemgetter
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.storage.prepared_statements import Prepared
from executor.storage.tables.core import BY_WORKSPACE, chains, events
from executor.storage.upserts import insert_missing

START = ""
PAGE = 1_000
KEPT = 100
FIELDS = ("workspace_id", "execution_id", "type", "at", "data", "actor_id", "origin")
_fields = itemgetter(*FIELDS)
_mine = chains.c.workspace_id == sa.bindparam("w")
_read = Prepared(sa.select(chains.c.seal).where(_mine).with_for_update())
_newest = sa.select(sa.func.max(events.c.id)).where(events.c.workspace_id == sa.bindparam("w")).scalar_subquery()
_write = Prepared(sa.update(chains).where(_mine).values(seal=sa.bindparam("s"), event_id=_newest))


@dataclass(slots=True)
class Heads:
    """Of the one writer: the last seal of each chain, and which of them are not written down yet."""

    known: dict[str, str] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)

    def mark(self) -> tuple[dict[str, str], set[str]]:
        return dict(self.known), set(self.moved)

    def undo(self, mark: tuple[dict[str, str], set[str]]) -> None:
        """The job that moved them was rolled back."""
        self.known, self.moved = mark

    def forget(self) -> None:
        """The whole transaction was rolled back, or no one knows whether it was: the database knows."""
        self.known, self.moved = {}, set()

    def write(self, c: Connection) -> None:
        """Before the commit. The seals and the heads become durable together."""
        for workspace_id in self.moved:
            _write(c, {"w": workspace_id, "s": self.known[workspace_id]})
        self.moved.clear()
        if c.dialect.name != "sqlite" or len(self.known) > KEPT:
            self.forget()


def content(row: Any) -> bytes:
    """`data` goes in as the text that is stored, so that nothing depends on how JSON is written again."""
    return orjson.dumps(_fields(row))


def seal(before: str, row: Any) -> str:
    return hashlib.sha256(before.encode() + content(row)).hexdigest()


def extend(c: Connection, workspace_id: str, rows: Sequence[dict[str, Any]]) -> None:
    """Give these rows, about to be appended, their seals. `settle` must follow once they are."""
    heads = _heads(c)
    head = heads.known.get(workspace_id)
    if head is None:
        head = _last(c, workspace_id)
    for row in rows:
        head = row["seal"] = seal(head, row)
    heads.known[workspace_id] = head
    heads.moved.add(workspace_id)


def ensure(c: Connection, workspace_id: str) -> None:
    """There is a chain to append to."""
    if head(c, workspace_id) is None:
        _begin(c, workspace_id)


def settle(c: Connection) -> None:
    """Outside the writer no one flushes later."""
    if "chains" not in c.info:
        heads: Heads = c.info.pop("chains_now")
        heads.write(c)


def _heads(c: Connection) -> Heads:
    found: Heads = c.info["chains"] if "chains" in c.info else c.info.setdefault("chains_now", Heads())
    return found


def _last(c: Connection, workspace_id: str) -> str:
    row = _read(c, {"w": workspace_id}).first()
    return str(row.seal) if row is not None else _begin(c, workspace_id)


def _begin(c: Connection, workspace_id: str) -> str:
    """Events from before there was a chain become its beginning: they can't be changed from now on either."""
    head, last = START, 0
    for row in walk(c, workspace_id):
        head, last = seal(head, row), row["id"]
    insert_missing(c, chains, {"workspace_id": workspace_id, "event_id": last, "seal": head})
    return str(_read(c, {"w": workspace_id}).one().seal)  # someone else may have begun it


def walk(c: Connection, workspace_id: str) -> Iterator[Any]:
    """Every event in order, a page at a time."""
    last = 0
    while True:
        query = sa.select(events).where(events.c.workspace_id == workspace_id, events.c.id > last)
        query = query.with_hint(events, BY_WORKSPACE, "sqlite")
        page = c.execute(query.order_by(events.c.id).limit(PAGE)).mappings().all()
        yield from page
        if len(page) < PAGE:
            return
        last = page[-1]["id"]


def head(c: Connection, workspace_id: str) -> tuple[int, str] | None:
    """The number of the last event and its seal, as the writer noted them."""
    row = c.execute(sa.select(chains).where(chains.c.workspace_id == workspace_id)).first()
    return (row.event_id, row.seal) if row is not None else None


@dataclass(frozen=True, slots=True)
class Report:
    """`problem` is empty when the chain is whole; else `event_id` is where it breaks first."""

    events: int
    head: tuple[int, str] | None
    event_id: int | None = None
    problem: str = ""


def verify(c: Connection, workspace_id: str, noted: tuple[int, str] | None = None) -> Report:
    """Recompute every seal. `noted` is a head that someone kept elsewhere: it must still be a part of the chain."""
    before, last, count, chained, met = START, 0, 0, False, noted is None
    kept = head(c, workspace_id)
    for row in walk(c, workspace_id):
        before, last, count = seal(before, row), row["id"], count + 1
        if chained and not row["seal"]:
            return Report(count, kept, last, "an event without a seal is among sealed ones")
        chained = chained or bool(row["seal"])
        if row["seal"] and row["seal"] != before:
            problem = "it was changed, or events before it were changed, removed, inserted or reordered"
            return Report(count, kept, last, problem)
        met = met or (last, before) == noted
    return Report(count, kept, *_end(kept, before, last, noted if not met else None))


def _end(kept: tuple[int, str] | None, seal: str, last: int, unmet: tuple[int, str] | None) -> tuple[int | None, str]:
    """Whether the last event is the last that was written. An empty log can't speak for itself: a noted head does."""
    if kept is None and last:
        return None, "the entry of the last event is missing"
    if kept is not None and kept != (last, seal):
        return last or None, f"events are missing at the end: the last one written was {kept[0]}"
    if unmet is None:
        return None, ""
    if unmet[0] > last:
        missing = "all events are missing" if not last else f"the log ends at event {last}"
        return unmet[0], f"{missing}, but it reached event {unmet[0]} when its head was recorded"
    return unmet[0], "the log is not the one whose head was recorded"
