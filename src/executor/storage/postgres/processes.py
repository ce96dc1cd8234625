"""The processes that share a database: each says in a row of its own that it lives, by the server's clock.

A process that was silent for longer than its lease is declared dead by another, and loses what it runs. It counts the
lease itself from before it spoke, on a clock that also runs while the machine sleeps, and stops a third earlier: so it
knows that it may have lost everything before anyone takes it. No clocks of two machines are compared.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from executor import __version__
from executor.model.ids import new_id
from executor.storage.postgres.url import driver, parameters

BEATS = 7  # in a lease
HELD = 2 / 3  # of a lease, as this process counts it
STATEMENT_SECONDS = 5
FORGET_SECONDS = 3600
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_REPLACE = "UPDATE workers SET dead_at = clock_timestamp() WHERE place = %s AND place != '' AND dead_at IS NULL"
_JOIN = (
    "INSERT INTO workers (id, host, role, place, version, lease_seconds, started_at, seen_at)"
    " VALUES (%s, %s, %s, %s, %s, %s, clock_timestamp(), clock_timestamp())"
)
_BEAT = "UPDATE workers SET seen_at = clock_timestamp() WHERE id = %s AND dead_at IS NULL RETURNING id"
_DECLARE_DEAD = (
    "UPDATE workers SET dead_at = clock_timestamp() WHERE dead_at IS NULL AND id != %s"
    " AND seen_at < clock_timestamp() - make_interval(secs => lease_seconds)"
)
_LIVING = "SELECT min(id), count(*) FROM workers WHERE dead_at IS NULL"
_OTHERS = "SELECT id FROM workers WHERE dead_at IS NULL AND id != %s LIMIT 1"
_LEAVE = "UPDATE workers SET dead_at = clock_timestamp() WHERE id = %s"
_FORGET = (
    "DELETE FROM workers WHERE dead_at < clock_timestamp() - make_interval(secs => %s)"
    " AND NOT EXISTS (SELECT 1 FROM executions WHERE owner != '' AND owner = workers.id)"
)

logger = logging.getLogger(__name__)


def boottime() -> float:
    """Seconds on a clock that also runs while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def place_of(lock_file: Path) -> str:
    """The same only for processes that exclude each other by this file: the same file of the same running kernel.

    Empty where that can't be known.
    """
    with suppress(OSError):
        status = lock_file.stat()
        return f"{BOOT_ID.read_text().strip()}:{status.st_dev}:{status.st_ino}"
    return ""


class Processes:
    """`id` is this process's own. `leads` while it is the first of those that live: scheduled work is its own then.
    `has_company` unless it was the only one when it last looked.

    `on_lost` is called with the id that was declared dead; by then this process has another one.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.id = ""
        self.leads = False
        self.has_company = True
        self.on_lost: Callable[[str], None] = lambda owner: None
        self._deadline = 0.0
        self._steady_since = 0.0
        self._connection: Any = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return self._url

    @property
    def is_alive(self) -> bool:
        return boottime() < self._deadline

    def holds(self, owner: str) -> bool:
        """Whether what this process took as `owner` is certainly still its own."""
        return owner == self.id and boottime() < self._deadline

    async def join(self, role: str, lock_file: Path, lease_seconds: int) -> None:
        self._role, self._place, self._lease = role, place_of(lock_file), lease_seconds
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._register)
        self._thread = threading.Thread(target=self._beat_forever, name="heartbeat", daemon=True)
        self._thread.start()

    def is_alone(self) -> bool:
        """Whether no other process lives."""
        return bool(self._execute(_OTHERS, self.id) is None)

    async def leave(self) -> None:
        """Everything it still has is for others to take, at once."""
        if self._thread is not None:
            self._closing.set()
            await asyncio.to_thread(self._thread.join)
            self._deadline = 0.0
            with suppress(driver().Error):
                await asyncio.to_thread(self._execute, _LEAVE, self.id)
            self._drop()
            self._thread = None

    def _register(self) -> None:
        began, fresh = boottime(), new_id("proc")
        with self._connect().transaction():
            self._execute(_REPLACE, self._place)
            values = (fresh, socket.gethostname(), self._role, self._place, __version__, self._lease)
            self._execute(_JOIN, *values)
        self.id, self._deadline = fresh, began + self._lease * HELD

    def _beat_forever(self) -> None:
        beats = 0
        while not self._closing.wait(self._lease / BEATS):
            try:
                self._beat()
                beats += 1
                if self.leads and beats % 100 == 1:
                    self._execute(_FORGET, FORGET_SECONDS)
            except Exception as error:  # noqa: BLE001 - the edge of this thread: without it, the process is dead
                logger.warning("heartbeat failed: %s", type(error).__name__)
                self._steady_since = 0.0
                self._drop()

    def _beat(self) -> None:
        began = boottime()
        if self._execute(_BEAT, self.id) is None:
            lost = self.id
            logger.error("this process was declared dead: it starts again with nothing", extra={"worker": lost})
            self._register()
            self._loop.call_soon_threadsafe(self.on_lost, lost)
            return
        self._deadline = began + self._lease * HELD
        self._steady_since = self._steady_since or began
        # After an outage of the server everyone was silent: all of them get the time to speak again.
        if began - self._steady_since >= self._lease:
            self._execute(_DECLARE_DEAD, self.id)
        first, count = self._execute(_LIVING)
        self.leads, self.has_company = first == self.id, count > 1

    def _execute(self, statement: str, *values: Any) -> Any:
        cursor = self._connect().execute(statement, values)
        return cursor.fetchone() if cursor.description else None

    def _connect(self) -> Any:
        if self._connection is None or self._connection.closed:
            given = parameters(self._url)
            given["options"] += f" -c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={STATEMENT_SECONDS}s"
            given["application_name"] = "executor heartbeat"
            self._connection = driver().connect(**given, autocommit=True)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(driver().Error):
                self._connection.close()
            self._connection = None
