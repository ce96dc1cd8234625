"""What no one decides in time expires: until when a person can decide, and the sweep that closes the rest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sqlalchemy.engine import Connection

from executor.errors import InteractionExpired, StorageError
from executor.execution.approvals.settlement import lost_to, settle_open
from executor.model.execution import Execution
from executor.model.ids import now_ms
from executor.model.interaction import Interaction
from executor.storage.database import Database
from executor.storage.executions import interactions

SWEEP_SECONDS = 5.0

Settled = list[tuple[Interaction, Execution | None]]
SettleBy = Callable[[Callable[[Connection], Settled]], Awaitable[list[Interaction]]]

logger = logging.getLogger(__name__)


def is_past(asked: Interaction) -> bool:
    return asked.expires_at <= now_ms()


def check_open(c: Connection, asked: Interaction) -> None:
    if asked.status == "expired" or (asked.status == "pending" and is_past(asked)):
        raise InteractionExpired(f"interaction {asked.id} has expired", hint="run the code again")
    if asked.status != "pending":
        raise lost_to(c, asked)


async def expire(database: Database, settle_by: SettleBy, now: int) -> int:
    """Close what no one decided in time; how many."""

    def job(c: Connection) -> Settled:
        return settle_open(c, interactions.list_expired(c, now), "expired")

    due = await database.read(lambda c: interactions.list_expired(c, now, limit=1))
    return len(await settle_by(job)) if due else 0


async def expire_forever(database: Database, settle_by: SettleBy) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        if database.processes is not None and not database.processes.leads:
            continue
        try:
            await expire(database, settle_by, now_ms())
        except StorageError as error:
            logger.error("expired interactions can't be closed: %s", error.message)
