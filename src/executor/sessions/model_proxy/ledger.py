"""The ledger: a budget is reserved before anything is sent, and settled once the provider has said what it used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.model.ids import new_id, now_ms
from executor.model.sessions.model_usage import NANODOLLARS, ModelProvider, ModelRequest, RequestState, Spending, Usage
from executor.sessions.model_proxy.wire.refusals import Refused, refuse
from executor.sessions.party import SessionParty
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.sessions import model_usage as rows
from executor.storage.sessions.model_usage import Total

RETRY_SECONDS = 5  # until requests in progress have given back what they did not need


@dataclass(frozen=True, slots=True)
class Budgets:
    """In nanodollars; None for none. That of the user is for one day, in UTC."""

    session: int | None = None
    user: int | None = None


class Ledger:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def recover(self) -> int:
        """What a daemon was in the middle of when it died is billed as it was reserved. How many requests that were."""

        def job(c: Connection) -> int:
            left = rows.left_open(c)
            for request in left:
                finish(c, replace(request, state="estimated", cost=request.reserved, finished_at=now_ms()))
            return len(left)

        return await self._database.write(job)

    async def reserve(
        self, party: SessionParty, provider: ModelProvider, model: str, endpoint: str, amount: int, budgets: Budgets
    ) -> ModelRequest:
        """Raises Refused if a budget does not cover the most that the request may cost."""
        request = ModelRequest(
            id=new_id("mrq"),
            workspace_id=party.workspace_id,
            session_id=party.session_id,
            actor_id=party.actor_id,
            provider=provider,
            model=model,
            endpoint=endpoint,
            state="open",
            reserved=amount,
            started_at=now_ms(),
        )

        def job(c: Connection) -> None:
            for total, budget in zip(totals_of(request), (budgets.session, budgets.user), strict=True):
                if not rows.reserve(c, total, amount, budget if amount else None):
                    raise budget_refusal(total, rows.spending(c, total), amount, budget or 0)
            rows.insert(c, request)

        await self._database.write(job)
        return request

    async def settle(
        self, request: ModelRequest, *, state: RequestState, cost: int, usage: Usage, status: int
    ) -> ModelRequest:
        done = replace(request, state=state, cost=cost, usage=usage, status=status, finished_at=now_ms())
        await self._database.write(lambda c: finish(c, done))
        return done

    async def spending(self, workspace_id: str, session_id: str) -> Spending:
        total = Total(workspace_id, "session", session_id)
        return await self._database.read(lambda c: rows.spending(c, total))

    async def requests(self, workspace_id: str, session_id: str, *, before: str = "") -> list[ModelRequest]:
        """Newest first, a hundred at a time."""
        return await self._database.read(lambda c: rows.of_session(c, workspace_id, session_id, before=before))


def finish(c: Connection, request: ModelRequest) -> None:
    """Once: a second time changes nothing."""
    if not rows.finish(c, request):
        return
    for total in totals_of(request):
        rows.settle(c, total, request)
    data = {
        "sessionId": request.session_id,
        "actorId": request.actor_id,
        "provider": request.provider,
        "endpoint": request.endpoint,
        "model": request.model,
        "status": request.status,
        "tokens": request.usage.prompt + request.usage.output + request.usage.thoughts,
        "cost": dollars(request.cost),
    }
    events.append(c, request.workspace_id, "model.requested", data)


def totals_of(request: ModelRequest) -> Sequence[Total]:
    day = datetime.fromtimestamp(request.started_at / 1000, UTC).date().isoformat()
    return (
        Total(request.workspace_id, "session", request.session_id),
        Total(request.workspace_id, "user", request.actor_id, day),
    )


def budget_refusal(total: Total, spent: Spending, amount: int, budget: int) -> Refused:
    """If only requests in progress are in the way, it is worth trying again."""
    whose = "this session" if total.scope == "session" else "this user, for today,"
    used = f"{dollars(spent.cost):.2f} of {dollars(budget):.2f} US dollars are spent"
    message = f"the budget of {whose} does not cover this request: {used}, and it may cost {dollars(amount):.2f}"
    if spent.cost + amount <= budget:
        return refuse(
            "rate", "budget_reserved", f"{message}; other requests are in progress", retry_seconds=RETRY_SECONDS
        )
    return refuse("budget", "budget", message)


def dollars(nanodollars: int) -> float:
    return nanodollars / NANODOLLARS
