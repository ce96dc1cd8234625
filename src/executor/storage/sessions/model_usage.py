"""Model requests and their totals: reserved in one transaction, settled in another, never spent twice."""

from __future__ import annotations

from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.sessions.model_usage import USAGE_FIELDS, ModelRequest, Spending, Usage
from executor.storage.tables.model_usage import model_requests, model_totals

Scope = Literal["session", "user"]


@dataclass(frozen=True, slots=True)
class Total:
    """Whose total: of a session, or of a user on one day. `period` is empty for a session."""

    workspace_id: str
    scope: Scope
    owner_id: str
    period: str = ""


def insert(c: Connection, request: ModelRequest) -> None:
    c.execute(sa.insert(model_requests), _values(request))


def finish(c: Connection, request: ModelRequest) -> bool:
    """False if it was finished before."""
    values = {**_values(request), "id": request.id}
    mine = (model_requests.c.id == request.id, model_requests.c.state == "open")
    return c.execute(sa.update(model_requests).where(*mine).values(**values)).rowcount == 1


def left_open(c: Connection) -> list[ModelRequest]:
    """In every workspace: those of a daemon that has died."""
    return [_request(row) for row in c.execute(sa.select(model_requests).where(sa.text("state = 'open'")))]


def of_session(
    c: Connection, workspace_id: str, session_id: str, *, before: str = "", limit: int = 100
) -> list[ModelRequest]:
    """Newest first."""
    mine = [model_requests.c.workspace_id == workspace_id, model_requests.c.session_id == session_id]
    mine += [model_requests.c.id < before] if before else []
    query = sa.select(model_requests).where(*mine).order_by(model_requests.c.id.desc()).limit(limit)
    return [_request(row) for row in c.execute(query)]


def spending(c: Connection, total: Total) -> Spending:
    row = c.execute(sa.select(model_totals).where(*_one(total))).first()
    return Spending() if row is None else Spending(row.requests, row.reserved, row.cost, _usage(row))


def reserve(c: Connection, total: Total, amount: int, budget: int | None) -> bool:
    """False, and nothing changed, if the budget does not cover it."""
    if c.execute(sa.select(sa.literal(1)).where(sa.exists().where(*_one(total)))).first() is None:
        c.execute(sa.insert(model_totals), {**_key(total), **dict.fromkeys(_COUNTED, 0)})
    t = model_totals.c
    fits = [] if budget is None else [t.cost + t.reserved + amount <= budget]
    values = {"requests": t.requests + 1, "reserved": t.reserved + amount}
    return c.execute(sa.update(model_totals).where(*_one(total), *fits).values(**values)).rowcount == 1


def settle(c: Connection, total: Total, request: ModelRequest) -> None:
    t = model_totals.c
    values: dict[str, Any] = {"reserved": t.reserved - request.reserved, "cost": t.cost + request.cost}
    values |= {name: t[name] + getattr(request.usage, name) for name in USAGE_FIELDS}
    c.execute(sa.update(model_totals).where(*_one(total)).values(**values))


_COUNTED = ("requests", "reserved", "cost", *USAGE_FIELDS)
_PLAIN = (
    *("id", "workspace_id", "session_id", "actor_id", "provider", "model", "endpoint", "state"),
    *("reserved", "started_at", "cost", "status", "finished_at"),
)


def _values(request: ModelRequest) -> dict[str, Any]:
    plain = {name: getattr(request, name) for name in _PLAIN}
    return plain | {name: getattr(request.usage, name) for name in USAGE_FIELDS}


def _request(row: Any) -> ModelRequest:
    return ModelRequest(**{name: getattr(row, name) for name in _PLAIN}, usage=_usage(row))


def _usage(row: Any) -> Usage:
    return Usage(**{name: getattr(row, name) for name in USAGE_FIELDS})


def _key(total: Total) -> dict[str, str]:
    return {
        "workspace_id": total.workspace_id,
        "scope": total.scope,
        "owner_id": total.owner_id,
        "period": total.period,
    }


def _one(total: Total) -> list[sa.ColumnElement[bool]]:
    return [model_totals.c[name] == value for name, value in _key(total).items()]
