"""Announcements between the processes that share a database, by LISTEN and NOTIFY.

They go out after the transactions, since a NOTIFY in each would make all of them wait for each other. Something that
others act on goes at once; what follows within some milliseconds goes out together. A process that ends in between
announces nothing, and a connection may be cut without a word. So nothing relies on these: everyone who waits also looks
from time to time, and what guards a call is compared with the database. They only make it quick.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import orjson

from executor.model.event import QUIET, Announcement, Revocation
from executor.storage.postgres.url import driver, parameters

CHANNEL = "executor"
PAUSE = 0.015  # seconds between two notifications, in which announcements are collected
MOST_BYTES = 7_500  # of 8,000 that a notification may have
PULSE_SECONDS = 1.0  # of silence, after which a process sends a notification without content
SILENT_SECONDS = 5.0  # after which the connection is taken for cut

logger = logging.getLogger(__name__)


class Notices:
    """`hear` is called with what others announce, `on_gap` whenever something may have been missed."""

    def __init__(self, url: str, hear: Callable[[list[Announcement]], None], on_gap: Callable[[], None]) -> None:
        self._url = url
        self._hear = hear
        self._on_gap = on_gap
        self._me = secrets.token_hex(8)
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[tuple[Any, ...], None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="notify")
        self._connection: Any = None
        self._heard_at = 0.0
        self._next_at = 0.0  # on the loop's clock
        self._due_at = 0.0  # when the timer ends; uvloop's own doesn't always say
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._listen_forever, name="listen", daemon=True)
        self._thread.start()
        self._pulse = self._loop.create_task(self._pulse_forever())

    def announce(self, committed: Iterable[Announcement]) -> None:
        fresh = dict.fromkeys(map(_short, committed))
        self._waiting |= fresh
        if fresh and not self._closing.is_set():
            is_quiet = not any(type for _, _, type, _ in fresh)
            self._flush_at(self._loop.time() + PAUSE if is_quiet else self._next_at)

    async def close(self) -> None:
        self._pulse.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._flush()
        self._closing.set()
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._sender.shutdown)
        if self._connection is not None:
            self._connection.close()

    def _flush_at(self, when: float) -> None:
        if self._timer is not None:
            if self._due_at <= when:
                return
            self._timer.cancel()
        self._due_at = when
        self._timer = self._loop.call_at(when, self._flush)

    def _flush(self) -> None:
        self._timer, self._next_at = None, self._loop.time() + PAUSE
        waiting, self._waiting = list(self._waiting), {}
        self._sender.submit(self._send, list(_pack(self._me, waiting)))

    async def _pulse_forever(self) -> None:
        """Something is to be heard about once a second, from any process: this one speaks if no other did."""
        while True:
            if time.monotonic() - self._heard_at > PULSE_SECONDS:
                self._sender.submit(self._send, [orjson.dumps([self._me, []]).decode()])
            await asyncio.sleep(random.uniform(PULSE_SECONDS, 2 * PULSE_SECONDS))  # noqa: S311 - no secret

    def _send(self, payloads: list[str]) -> None:
        try:
            if self._connection is None:
                self._connection = self._connect("executor notify")
            for payload in payloads:
                self._connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
        except driver().Error as error:
            logger.warning("notification failed: %s", type(error).__name__)
            if self._connection is not None:
                with suppress(driver().Error):
                    self._connection.close()
            self._connection = None

    def _listen_forever(self) -> None:
        pause = 0.1
        while not self._closing.is_set():
            try:
                with self._connect("executor listen") as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    self._call(self._on_gap)
                    pause = 0.1
                    self._listen(connection)
            except driver().Error as error:
                logger.warning("listening failed: %s", type(error).__name__)
            self._closing.wait(pause)
            pause = min(1.0, pause * 2)

    def _listen(self, connection: Any) -> None:
        """Until it is cut: this process also hears itself."""
        silent = 0.0
        while not self._closing.is_set() and silent < SILENT_SECONDS:
            if not select.select([connection.fileno()], [], [], 0.25)[0]:
                silent += 0.25
                continue
            for notice in connection.notifies(timeout=0):
                silent, self._heard_at = 0.0, time.monotonic()
                self._take(notice.payload)
        if silent >= SILENT_SECONDS:
            logger.warning("notifications have stopped; connecting again")

    def _take(self, payload: str) -> None:
        try:
            sender, packed = orjson.loads(payload)
            heard = [_long(*one) for one in packed] if sender != self._me else []
        except (ValueError, TypeError):  # of another version
            self._call(self._on_gap)
            return
        if heard:
            self._call(self._hear, heard)

    def _call(self, function: Callable[..., None], *values: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *values)

    def _connect(self, name: str) -> Any:
        return driver().connect(**{**parameters(self._url), "application_name": name}, autocommit=True)


def _short(one: Announcement) -> tuple[Any, ...]:
    type = "" if one.type.startswith(QUIET) else one.type
    subjects = tuple(sorted(one.subjects)) if isinstance(one, Revocation) else None
    return one.workspace_id, one.execution_id, type, subjects


def _long(workspace_id: str, execution_id: str, type: str, subjects: list[str] | None) -> Announcement:
    if subjects is None:
        return Announcement(workspace_id, execution_id, type)
    return Revocation(workspace_id, execution_id, type, frozenset(subjects))


def _pack(sender: str, waiting: list[tuple[Any, ...]]) -> Iterator[str]:
    """As few notifications as they fit into."""
    part: list[tuple[Any, ...]] = []
    size = 0
    for one in waiting:
        length = len(orjson.dumps(one)) + 1
        if part and size + length > MOST_BYTES:
            yield orjson.dumps([sender, part]).decode()
            part, size = [], 0
        part.append(one)
        size += length
    if part:
        yield orjson.dumps([sender, part]).decode()
