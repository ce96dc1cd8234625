"""Objects of an S3 store: written and read in pieces. What goes wrong there is always ArtifactUnavailable.

A key is relative to the prefix of the location. `Objects` is all that the rest of Executor knows of the store.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.errors import ArtifactUnavailable, InvalidRequest, way_to_install
from executor.execution.artifacts.objects.location import HINT, Location, credentials_file, provide_credentials

if TYPE_CHECKING:
    from obstore.store import S3Store

PART = 8 * 1024 * 1024  # S3 takes 10,000 parts; `part_size` makes them larger for files that need more
MOST_PARTS = 9_000
PARALLEL = 2  # parts that are sent at once: memory holds about one more
REQUEST_SECONDS = 60
RETRY_SECONDS = 20
RETRIES = 3
LISTED = 1_000
INSTALL = f"remove artifacts_url, or install it: {way_to_install('objects')}"
_METADATA_ADDRESSES = ("169.254.169.254", "169.254.170.2")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_STATUS = re.compile(r"status code: (\d{3}[A-Za-z ]{0,40})")


class Objects:
    def __init__(self, location: Location, credentials: Path | None = None, *, largest: int = 0) -> None:
        self.location = location
        self.part_size = max(PART, -(-largest // MOST_PARTS))
        self._store = open_store(location, credentials)

    def begin(self, key: str) -> Upload:
        return Upload(self, key)

    async def read(self, key: str, start: int, end: int) -> bytes:
        """Exactly these bytes; nothing else of the object is transferred."""
        import obstore

        if start == end:
            return b""
        with self.failures("read from"):
            found = bytes(await obstore.get_range_async(self._store, key, start=start, end=end))
        if len(found) != end - start:
            raise self.unavailable(f"sent {len(found):,} of {end - start:,} bytes")
        return found

    async def read_small(self, key: str) -> bytes | None:
        """All of a small object; None if it does not exist."""
        import obstore

        try:
            with self.failures("read from", missing=FileNotFoundError):
                return bytes(await (await obstore.get_async(self._store, key)).bytes_async())
        except FileNotFoundError:
            return None

    async def write_small(self, key: str, content: bytes) -> None:
        import obstore

        with self.failures("written to"):
            await obstore.put_async(self._store, key, content, use_multipart=False)

    async def find_size(self, key: str) -> int:
        import obstore

        with self.failures("read from"):
            return (await obstore.head_async(self._store, key))["size"]

    async def delete(self, *keys: str) -> None:
        """One that does not exist is deleted already."""
        import obstore

        with suppress(FileNotFoundError), self.failures("deleted from", missing=FileNotFoundError):
            await obstore.delete_async(self._store, list(keys))

    async def list(self) -> AsyncIterator[list[tuple[str, int]]]:
        """Keys and when each was written, in milliseconds; a batch at a time."""
        import obstore

        with self.failures("listed in"):
            async for batch in obstore.list(self._store, chunk_size=LISTED):
                yield [(one["path"], int(one["last_modified"].timestamp() * 1000)) for one in batch]

    def unavailable(self, what: str) -> ArtifactUnavailable:
        return ArtifactUnavailable(
            f"the object store {self.location} {what}", hint="ask the operator to run `executor doctor`, then try again"
        )

    @contextmanager
    def failures(self, action: str, missing: type[Exception] | None = None) -> Iterator[None]:
        """Errors of the library, whose texts are long, in a sentence."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            if missing is not None and isinstance(error, missing) and "NoSuchBucket" not in str(error):
                raise
            raise self.unavailable(f"can't be {action}: {reason_of(error)}") from None


class Upload:
    """An object that is written in parts. It exists when `finish` has returned, and not before that."""

    def __init__(self, objects: Objects, key: str) -> None:
        self._objects, self._key = objects, key
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(1)
        self._begun = asyncio.Event()
        self._is_aborted = False
        self._size = 0
        self._task: asyncio.Task[Any] | None = None

    async def start(self, seconds: float) -> None:
        """Raises ArtifactUnavailable if the store does not take it. Then nothing was lost yet."""
        self._task = asyncio.create_task(self._put())
        begun = asyncio.ensure_future(self._begun.wait())
        try:
            await asyncio.wait((self._task, begun), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
        if self._task.done():
            await self._task
        elif not self._begun.is_set():
            self._task.cancel()
            raise self._objects.unavailable(f"did not answer within {seconds:.0f} seconds")

    async def write(self, piece: bytes) -> None:
        self._size += len(piece)
        await self._hand(piece)

    async def finish(self) -> None:
        await self._hand(None)
        assert self._task is not None  # noqa: S101 - it was started
        await self._task
        if (size := await self._objects.find_size(self._key)) != self._size:
            raise self._objects.unavailable(f"kept {size:,} of {self._size:,} bytes")

    async def abort(self) -> None:
        """The parts that were sent are removed, as far as the store can be reached."""
        self._is_aborted = True
        if self._task is not None and not self._task.done():
            with suppress(ArtifactUnavailable, Aborted):
                await self._hand(None)
                await self._task

    async def _hand(self, piece: bytes | None) -> None:
        """To the upload, when it is ready for more; or whatever ended it."""
        assert self._task is not None  # noqa: S101 - it was started
        handing = asyncio.ensure_future(self._pieces.put(piece))
        try:
            await asyncio.wait((self._task, handing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            handing.cancel()
        if self._task.done():
            await self._task

    async def _put(self) -> None:
        import obstore

        with self._objects.failures("written to"):
            await obstore.put_async(
                self._objects._store,
                self._key,
                self._take(),
                chunk_size=self._objects.part_size,
                max_concurrency=PARALLEL,
            )

    async def _take(self) -> AsyncIterator[bytes]:
        """First asked when the store has accepted the upload. An exception makes the library remove its parts."""
        self._begun.set()
        while (piece := await self._pieces.get()) is not None:
            yield piece
        if self._is_aborted:
            raise Aborted


class Aborted(Exception):
    """An upload that is not wanted after all."""


def new_key(workspace_id: str) -> str:
    """No one can guess it, and it says nothing of the content. No two workspaces have one in common."""
    return f"{workspace_id}/{secrets.token_hex(16)}"


def open_store(location: Location, credentials: Path | None) -> S3Store:
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise InvalidRequest("artifacts_url is set, but the extra objects is not installed", hint=INSTALL) from error
    chosen: Any = {"endpoint": location.endpoint, "region": location.region}
    file = credentials_file(credentials)
    if file is not None:
        chosen["credential_provider"] = provide_credentials(file, os.environ.get("AWS_PROFILE") or "default")
    return S3Store(
        location.bucket,
        prefix=location.prefix or None,
        client_options={
            "allow_http": location.endpoint.startswith("http://"),
            "timeout": timedelta(seconds=REQUEST_SECONDS),
        },
        retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
        **{name: value for name, value in chosen.items() if value},
    )


def reason_of(error: BaseException) -> str:
    """What the store said, without the addresses and bodies around it."""
    text = str(error)
    if any(address in text for address in _METADATA_ADDRESSES):
        return f"no credentials were found ({HINT})"
    if found := _CODE.search(text):
        return found[1]
    if found := _STATUS.search(text):
        return found[1].strip()
    return "it was interrupted or can't be reached"
