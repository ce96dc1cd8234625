"""The worker of one webhook: it fills the outbox and sends what is due. None waits for another's endpoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from executor.dataclass import dataclass
from executor.errors import ExecutorError
from executor.model.ids import now_ms
from executor.model.webhook import Delivery, Webhook
from executor.network.client import Egress
from executor.secrets.sealing import Sealing
from executor.storage.database import Database
from executor.storage.webhooks import deliveries, webhooks
from executor.telemetry.correlation import leave_request
from executor.telemetry.metrics import WEBHOOKS
from executor.webhooks import outbox
from executor.webhooks.attempts import Outcome, Terms, attempt, record
from executor.webhooks.credentials import unseal

AT_ONCE = 4  # of one endpoint; one while it does not answer
PAUSE_SECONDS = 1.0  # of an endpoint that does not answer; doubled each time
LONGEST_PAUSE = 300.0
TROUBLE_SECONDS = 10.0  # when the database can't be read or written
FOLLOW_SECONDS = 2.0  # between two looks whether this process is the one that sends
LOG_MS = 30 * 24 * 3_600_000
LOG_KEPT = 10_000
SWEPT = 500

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """`places` bounds the attempts of all workers together. `address` is where people find this Executor."""

    database: Database
    sealing: Sealing
    egress: Egress
    places: asyncio.Semaphore
    address: Callable[[], str]
    terms: Terms


class Worker:
    def __init__(self, webhook_id: str, parts: Parts) -> None:
        self._id = webhook_id
        self._parts = parts
        self._news = asyncio.Event()
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._failures = 0
        self._not_before = 0.0
        self._is_over = False
        self._room = 0  # deliveries that may still be added, at least
        self._attempts = outbox.PAGE  # since the room was last counted
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        self._news.set()

    async def close(self) -> None:
        """What is under way is sent again by the next daemon, with the same id."""
        tasks = [self._task, *self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        leave_request()
        while True:
            self._news.clear()
            try:
                seconds = await self._work()
            except Exception as error:  # noqa: BLE001 - the edge of this task: it must outlive any trouble
                self._note_trouble(error)
                seconds = TROUBLE_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()

    async def _work(self) -> float | None:
        """Seconds until there is more to do, None for not before something happens."""
        if self._is_over:
            return None
        database = self._parts.database
        if database.processes is not None and not database.processes.leads:
            self._room, self._attempts = 0, outbox.PAGE
            return FOLLOW_SECONDS
        await self._fill()
        now = asyncio.get_running_loop().time()
        if now < self._not_before:
            return self._not_before - now
        room = (1 if self._failures else AT_ONCE) - len(self._under_way)
        if room <= 0:
            return None
        busy = set(self._under_way)  # before the read: one that ends during it may still be read as pending
        found = await database.read(partial(deliveries.list_next, webhook_id=self._id, limit=len(busy) + room + 1))
        waiting = [one for one in found if one.id not in busy]
        for delivery in waiting[:room]:
            if delivery.next_at > now_ms():
                return (delivery.next_at - now_ms()) / 1000
            self._under_way[delivery.id] = asyncio.create_task(self._deliver(delivery))
        return None

    async def _fill(self) -> None:
        """In pages. While the outbox is full, its room is counted once in so many attempts, not for every event."""
        database = self._parts.database
        while await database.read(partial(outbox.has_news, webhook_id=self._id)):
            if not self._room and self._attempts >= outbox.PAGE:
                self._attempts, self._room = 0, await database.read(partial(outbox.count_room, webhook_id=self._id))
            if not self._room:
                return
            address = self._parts.address()
            job = partial(outbox.fill, webhook_id=self._id, address=address, room=self._room)
            self._room -= await database.write(job)

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            async with self._parts.places:
                outcome = await self._attempt(delivery)
            if outcome is not None:
                self._note(outcome)
                terms = self._parts.terms
                await self._parts.database.write(lambda c: record(c, delivery, outcome, terms))
        except Exception as error:  # noqa: BLE001 - the edge of this task: the delivery is still pending
            self._note_trouble(error)
            self._not_before = asyncio.get_running_loop().time() + TROUBLE_SECONDS
        finally:
            del self._under_way[delivery.id]
            self._attempts += 1
            self._news.set()

    async def _attempt(self, delivery: Delivery) -> Outcome | None:
        """None if it must not be sent now: the webhook is gone or disabled."""
        parts = self._parts
        webhook = await parts.database.read(partial(webhooks.by_id, webhook_id=self._id))
        if webhook is None or not webhook.enabled:
            self._is_over = True
            return None
        private = await parts.database.read(lambda c: unseal(c, parts.sealing, webhook))
        return await attempt(parts.egress, webhook, private, delivery, parts.terms)

    def _note_trouble(self, error: Exception) -> None:
        known = isinstance(error, ExecutorError)
        logger.warning(
            "webhook.stalled", extra={"webhook": self._id, "reason": str(error)}, exc_info=None if known else error
        )

    def _note(self, outcome: Outcome) -> None:
        """An endpoint that does not answer is left alone for a while, however much waits for it."""
        WEBHOOKS.add("delivered" if outcome.delivered else "unreachable" if outcome.is_down else "refused")
        now = asyncio.get_running_loop().time()
        if not outcome.is_down:
            self._failures, self._not_before = 0, 0.0
        elif now >= self._not_before:  # else it is one of several that were under way together
            self._failures += 1
            pause = min(PAUSE_SECONDS * 2 ** min(self._failures - 1, 20), LONGEST_PAUSE)
            self._not_before = now + max(pause, outcome.wait)


async def sweep(database: Database, found: list[Webhook]) -> None:
    """Remove what is too old from the logs, a few rows at a time."""
    for webhook in found:
        job = partial(deliveries.sweep, webhook_id=webhook.id, before=now_ms() - LOG_MS, kept=LOG_KEPT, limit=SWEPT)
        while await database.write(job) == SWEPT:
            pass
