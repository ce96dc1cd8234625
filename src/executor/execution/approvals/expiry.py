"""What no one decides in time expires: until when a person can decide, and the sweep that closes the rest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sqlalchemy.engine import Connection

from executor.errors import AlreadySettled, InteractionExpired, StorageError
from executor.execution.approvals.settlement import settle
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


def check_open(asked: Interaction) -> None:
    if asked.status == "expired" or (asked.status == "pending" and is_past(asked)):
        raise InteractionExpired(f"interaction {asked.id} has expired", hint="run the code again")
    if asked.status != "pending":
        raise AlreadySettled(
            f"interaction {asked.id} was already {asked.status}", hint=("each interaction is decided once")
        )


async def expire(database: Database, settle_by: SettleBy, now: int) -> int:
    """Close what no one decided in time; how many."""

    def job(c: Connection) -> Settled:
        return [settle(c, asked, "expired") for asked in interactions.list_expired(c, now)]

    due = await database.read(lambda c: interactions.list_expired(c, now, limit=1))
    return len(await settle_by(job)) if due else 0


async def expire_forever(database: Database, settle_by: SettleBy) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            await expire(database, settle_by, now_ms())
        except StorageError as error:
            logger.error("expired interactions can't be closed: %s", error.message)
