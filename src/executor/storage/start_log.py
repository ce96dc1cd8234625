"""Which executions have started and are not in the database yet: one file, much faster to sync than a commit.

A record is on the disk once its future is done. It is obsolete once its execution is committed; when all are, the next
one begins the file again. See docs/decisions/delivery-before-commit.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from executor.model.execution import Execution, Failure, Limits
from executor.storage.database import GROUP, take_waiting
from executor.storage.rows import read_fields

SIZE = 1024 * 1024
LARGEST = 64 * 1024
QUICK_SECONDS = 0.001  # for which the event loop may wait for the disk
SLOW_PART = 20  # a disk that took longer is left to the thread for so many times as long
HEADER = struct.Struct("<8sII")  # which round of the file it belongs to, its length, its checksum
Written = tuple[int, bytes, asyncio.Future[None]]

logger = logging.getLogger(__name__)
sync = getattr(os, "fdatasync", os.fsync)


class StartLog:
    """`add` and `release` are for the event loop. A thread writes and syncs, together what came together."""

    def __init__(self, path: Path) -> None:
        """Makes the file as long as it gets, so that a sync has only bytes to wait for."""
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(self._file, bytes(SIZE))
            os.fsync(self._file)
            self._through = os.open(path, os.O_RDWR | os.O_DSYNC)  # a write then ends on the disk, in one call
        except OSError:  # the disk is full
            os.close(self._file)
            raise
        self._round = os.urandom(8)
        self._end = 0
        self._unwritten = 0  # records that are not on the disk yet
        self._needed = 0  # records whose executions are not committed yet
        self._has_failed = False
        self._slow_until = 0.0
        self._queue: queue.SimpleQueue[Written | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_forever, name="start-log", daemon=True)
        self._thread.start()

    def add(self, execution: Execution, *, is_alone: bool = False) -> asyncio.Future[None] | None:
        """Done when it is on the disk; fails with OSError. None if there is no room. `release` must follow.

        If the execution `is_alone`, the event loop has nothing else to do. As long as the disk is fast, it writes
        instead of the thread, since waking that takes longer.
        """
        record = encode(execution, self._next_round())
        if self._has_failed or len(record) > LARGEST or self._end + len(record) > SIZE:
            return None
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        added = self._end, record, written
        self._end += len(record)
        self._unwritten += 1
        self._needed += 1
        if is_alone and self._unwritten == 1 and time.monotonic() >= self._slow_until:
            self._write_now(added)
        else:
            self._queue.put(added)
        return written

    def _write_now(self, added: Written) -> None:
        began = time.monotonic()
        error = self._write([added], self._through)
        ended = time.monotonic()
        if ended - began > QUICK_SECONDS:
            self._slow_until = ended + (ended - began) * SLOW_PART
        self._finish([added], error)

    def release(self) -> None:
        """One execution is committed."""
        self._needed -= 1

    def close(self) -> None:
        """What is still needed stays for the next start."""
        self._queue.put(None)
        self._thread.join()
        os.close(self._file)
        os.close(self._through)
        if not self._needed:
            self._path.unlink(missing_ok=True)

    def _next_round(self) -> bytes:
        if not (self._needed or self._unwritten):
            self._round, self._end = os.urandom(8), 0
        return self._round

    def _write_forever(self) -> None:
        while (group := self._next_group()) is not None:
            error = self._write(group, self._file)
            with suppress(RuntimeError):  # the loop is closed: no one waits
                group[0][2].get_loop().call_soon_threadsafe(self._finish, group, error)

    def _write(self, group: list[Written], file: int) -> OSError | None:
        """They lie one after the other: a new round begins only when no record waits."""
        try:
            os.pwrite(file, b"".join(record for _, record, _ in group), group[0][0])
            if file != self._through:
                sync(file)
        except OSError as error:
            logger.error("the start log can't be written: %s", error)
            self._has_failed = True
            return error
        return None

    def _finish(self, group: list[Written], error: OSError | None) -> None:
        self._unwritten -= len(group)
        for _, _, written in group:
            if written.cancelled():
                continue
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)
                written.exception()  # a run that was cancelled will not look

    def _next_group(self) -> list[Written] | None:
        first = self._queue.get()
        return take_waiting(self._queue, first, GROUP) if first is not None else None


def encode(execution: Execution, of_round: bytes) -> bytes:
    text = orjson.dumps(execution, default=bytes.hex)
    return HEADER.pack(of_round, len(text), zlib.crc32(text, zlib.crc32(of_round))) + text


def read(path: Path) -> Iterator[Execution]:
    """What an earlier process noted last, as far as it is whole. The database may have it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    at, of_round = 0, content[:8]
    while at + HEADER.size <= len(content):
        found, length, checksum = HEADER.unpack_from(content, at)
        text = content[at + HEADER.size : at + HEADER.size + length]
        is_whole = 0 < length == len(text) and zlib.crc32(text, zlib.crc32(found)) == checksum
        if found != of_round or not is_whole:
            return
        yield decode(orjson.loads(text))
        at += HEADER.size + length


def decode(stored: dict[str, Any]) -> Execution:
    failure = stored.pop("failure")
    parts = {"seed": bytes.fromhex(stored.pop("seed")), "limits": read_fields(Limits, stored.pop("limits"))}
    return read_fields(Execution, stored | parts | {"failure": failure and read_fields(Failure, failure)})
