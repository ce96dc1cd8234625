"""The transcript of a session: written in order, then shown to everyone who follows it.

Nothing is shown before it is committed. What comes faster than the database commits is written together. New records
are handed on from memory; a reader that is behind reads pages of the database at its own pace.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import field, replace
from typing import Any, TypeVar

import orjson
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import StorageError
from executor.model.ids import now_ms
from executor.model.sessions.session import Message, MessageKind, Session, TaskStatus
from executor.storage.database import Database
from executor.storage.sessions import messages, tasks

logger = logging.getLogger(__name__)
T = TypeVar("T")
PAGE = 500
KEPT = 2_000  # changes in memory, for everyone who follows
KEPT_BYTES = 8 * 1024 * 1024
WAITING = 1_000  # changes that are not written yet; a writer of more has to wait
MAX_TEXT = 1024 * 1024  # characters of one record
MAX_DATA = 1024 * 1024
MAX_BYTES = 512 * 1024 * 1024  # of a whole transcript
ROW_BYTES = 200
CUT = "\n… (cut: this record is too long)"
PAUSE_SECONDS = 0.02  # between two writes, so that a stream of words is not written one by one


@dataclass(frozen=True, slots=True)
class Draft:
    """A record to be written; `appends` adds its text to what is there."""

    id: str
    kind: MessageKind
    task_id: str = ""
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    appends: bool = False

    def followed_by(self, other: Draft) -> Draft:
        """Both in one."""
        if not other.appends:
            return other
        return replace(self, text=self.text + other.text, data={**self.data, **other.data})


@dataclass(frozen=True, slots=True)
class Change:
    """A record as it is now, or what was added to its text."""

    message: Message
    appends: bool = False

    @property
    def sequence(self) -> int:
        return self.message.sequence

    @property
    def size(self) -> int:
        return len(self.message.text) + ROW_BYTES


@dataclass(slots=True)
class Batch:
    """Changes in order. Followers at the same place share it, and what a surface has made of it.

    `session` is set when the session has changed since the batch before.
    """

    changes: Sequence[Change] = ()
    session: Session | None = None
    rendered: bytes | None = None


class Transcript:
    """One for each session, shared by the writer and by everyone who follows: see `Transcripts`."""

    def __init__(self, database: Database, session: Session, newest: int, size: int) -> None:
        self._database = database
        self._session = session
        self._version = 0
        self._sequence = newest
        self._bytes = size
        self._lengths: dict[str, int] = {}  # of the texts that may grow
        self._waiting: dict[str, Draft] = {}
        self._writing: asyncio.Task[None] | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._tail: deque[Change] = deque()
        self._tail_bytes = 0
        self._batches: dict[int, Batch] = {}
        self._floor = newest
        self._newest = newest
        self._wakers: set[asyncio.Event] = set()

    @property
    def session(self) -> Session:
        return self._session

    @property
    def newest(self) -> int:
        """The sequence of the last record that was written."""
        return self._newest

    def show_session(self, session: Session | None) -> None:
        """Followers are handed the session as it is now; None if it has not changed."""
        if session is None:
            return
        self._session = session
        self._version += 1
        self._wake()

    # -- writing ------------------------------------------------------------------------------------------------------

    async def add(self, draft: Draft) -> None:
        """Queue a record. Returns at once, unless more are queued than the database can keep up with."""
        await self._has_room.wait()
        known = self._waiting.get(draft.id)
        self._waiting[draft.id] = draft if known is None else known.followed_by(draft)
        if len(self._waiting) >= WAITING:
            self._has_room.clear()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting())

    async def _write_waiting(self) -> None:
        while self._waiting:
            try:
                await self.record(())
            except StorageError:
                self._waiting.clear()
            self._has_room.set()
            await asyncio.sleep(PAUSE_SECONDS)

    async def flush(self) -> None:
        """Until everything that was added is committed."""
        await self.record(())

    async def record(self, drafts: Sequence[Draft], job: Callable[[Connection], T] | None = None) -> T:
        """Write records, after those that are queued, in one transaction with `job`. If it raises, only what was queued
        is written."""
        if job is not None and self._waiting:
            self._submit((), None)
        return await self._submit(drafts, job)

    def _submit(self, drafts: Sequence[Draft], job: Callable[[Connection], T] | None) -> asyncio.Future[T]:
        changes = [self._prepare(one) for one in (*self._waiting.values(), *drafts)]
        self._waiting = {}

        def write(c: Connection) -> T:
            result = job(c) if job is not None else None
            changes[:] = [store(c, change) for change in changes]
            return result  # type: ignore[return-value]  # None without a job

        written = self._database.write(write)
        written.add_done_callback(lambda future: self._publish(future, changes))
        return written

    def _prepare(self, draft: Draft) -> Change:
        """With its sequence, cut to what a record and a transcript may hold."""
        self._sequence += 1
        appends = draft.appends and draft.id in self._lengths
        length = self._lengths[draft.id] if appends else 0
        text, data = cut_text(draft.text, MAX_TEXT - length), {} if appends else cut_data(draft.data)
        if self._bytes > MAX_BYTES:
            text, data = "", {"cut": True}
        self._lengths[draft.id] = length + len(text)
        self._bytes += len(text) + ROW_BYTES + (len(orjson.dumps(data, default=str)) if data else 0)
        at, session = now_ms(), self._session
        message = Message(
            session.id, session.workspace_id, draft.id, self._sequence, self._sequence, draft.task_id, draft.kind, text,
            data, at, at,
        )  # fmt: skip
        return Change(message, appends=appends)

    def _publish(self, written: asyncio.Future[Any], changes: Sequence[Change]) -> None:
        error = None if written.cancelled() else written.exception()
        if isinstance(error, StorageError) and changes:
            logger.error("%d records of session %s are lost: %s", len(changes), self._session.id, error.message)
        if written.cancelled() or error is not None:
            for change in changes:  # as if they had never been: the next text of such a record is written whole
                self._lengths.pop(change.message.id, None)
            return
        for change in changes:
            self._tail.append(change)
            self._tail_bytes += change.size
            self._newest = change.sequence
        while len(self._tail) > KEPT or self._tail_bytes > KEPT_BYTES:
            dropped = self._tail.popleft()
            self._tail_bytes -= dropped.size
            self._floor = dropped.sequence
        self._batches.clear()
        self._wake()

    def end_task(self) -> None:
        """Texts of an ended task grow no longer."""
        self._lengths.clear()

    # -- following ----------------------------------------------------------------------------------------------------

    async def follow(self, after: int, waker: asyncio.Event) -> AsyncGenerator[Batch, None]:
        """What comes after `after`. Setting `waker` lets go of a follower that waits: it is handed an empty batch."""
        self._wakers.add(waker)
        version, is_behind = -1, after < self._floor
        try:
            while True:
                waker.clear()
                if is_behind or after < self._floor:
                    found = await self._read(after)
                    if found:
                        after = found[-1].sequence
                        yield Batch([Change(one) for one in found])
                    # Not before a page that reaches the end: else a text could grow that was never read.
                    is_behind = len(found) == PAGE
                    after = after if found else max(after, self._floor)
                    continue
                batch = self._since(after)
                if batch.changes:
                    after = batch.changes[-1].sequence
                    yield batch
                elif version != self._version:
                    version = self._version
                    yield Batch(session=self._session)
                else:
                    await waker.wait()
                    if not self._since(after).changes and version == self._version:
                        yield Batch()
        finally:
            self._wakers.discard(waker)

    def _since(self, after: int) -> Batch:
        batch = self._batches.get(after)
        if batch is None:
            batch = self._batches[after] = Batch([change for change in self._tail if change.sequence > after])
        return batch

    async def _read(self, after: int) -> list[Message]:
        return await self._database.read(lambda c: messages.after(c, self._session.id, after, PAGE))

    def _wake(self) -> None:
        for waker in self._wakers:
            waker.set()


def start_of_task(c: Connection, session_id: str, *statuses: TaskStatus) -> int:
    """The position of the newest task in one of these states, 0 without any. All of its records come after it."""
    found = tasks.of_session(c, session_id, statuses=statuses, newest=1)
    prompt = messages.get(c, session_id, found[0].id) if found else None
    return prompt.position if prompt else 0


def store(c: Connection, change: Change) -> Change:
    """As followers are shown it: in the place that its record had before."""
    message = change.message
    if not change.appends:
        return Change(messages.put(c, message))
    messages.append(c, message.session_id, message.id, message.text, message.sequence, message.updated_at)
    return change


def cut_text(text: str, room: int) -> str:
    """A text that has no room left was cut before, and says so already."""
    return text if len(text) <= room else f"{text[:room]}{CUT}" if room > 0 else ""


def cut_data(data: dict[str, Any]) -> dict[str, Any]:
    """What is too large to keep is left out, and named."""
    if len(orjson.dumps(data, default=str)) <= MAX_DATA:
        return data
    kept: dict[str, Any] = {}
    left_out = []
    for name, value in data.items():
        if len(orjson.dumps(value, default=str)) > MAX_DATA // 8:
            left_out.append(name)
        else:
            kept[name] = value
    return {**kept, "cut": True, "leftOut": left_out}
