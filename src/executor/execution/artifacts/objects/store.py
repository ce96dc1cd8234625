"""Objects of an S3 store: written and read in pieces. What goes wrong there is always ArtifactUnavailable.

A key is relative to the prefix of the location. `Objects` is all that the rest of Executor knows of the store.
"""

from __future__ import annotations

import asyncio
import queue
import re
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from executor.errors import ArtifactUnavailable, InvalidRequest, way_to_install
from executor.execution.artifacts.objects.location import Location, credentials_file, provide_credentials

if TYPE_CHECKING:
    from obstore.store import S3Store

PART = 8 * 1024 * 1024  # S3 takes 10,000 parts; `part_size` makes them larger for files that need more
MOST_PARTS = 9_000
PARALLEL = 2  # parts that are sent at once: memory holds about one more
THREADS = 32
UPLOADS = 32  # each holds a thread for as long as its file arrives, so they have threads of their own
REQUEST_SECONDS = 30
RETRY_SECONDS = 20
RETRIES = 3
LISTED = 1_000
INSTALL = f"remove artifacts_url, or install it: {way_to_install('objects')}"
T = TypeVar("T")
_METADATA_ADDRESSES = ("169.254.169.254", "169.254.170.2")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_ADDRESS = re.compile(r"https?://\S+")
_STATUS = re.compile(r"status code: (\d{3}[A-Za-z ]{0,40})")


class Objects:
    """The library is called in threads of its own, never with its `async` functions: those abort the whole process if
    it ends while one has just returned."""

    def __init__(self, location: Location, credentials: Path | None = None, *, largest: int = 0) -> None:
        self.location = location
        self.part_size = max(PART, -(-largest // MOST_PARTS))
        self.store = open_store(location, credentials)
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="objects")
        self.upload_threads = ThreadPoolExecutor(UPLOADS + 1, thread_name_prefix="uploads")  # one to move content
        self._uploads: WeakSet[Upload] = WeakSet()

    @property
    def is_full(self) -> bool:
        """Whether one more file would have to wait for a thread."""
        return sum(upload.is_under_way for upload in self._uploads) >= UPLOADS

    def begin(self, key: str) -> Upload:
        upload = Upload(self, key)
        self._uploads.add(upload)
        return upload

    async def close(self) -> None:
        """Without waiting for a store that does not answer."""
        for upload in tuple(self._uploads):
            await upload.abort()
        for threads in (self.threads, self.upload_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    async def read(self, key: str, start: int, end: int) -> bytes:
        """Exactly these bytes; nothing else of the object is transferred."""
        import obstore

        try:
            found = await self.run("read from", obstore.get_range, key, start=start, end=end)
        except FileNotFoundError:
            raise self.unavailable("has no such object") from None
        if len(found) != end - start:
            raise self.unavailable(f"sent {len(found):,} of {end - start:,} bytes")
        return bytes(found)

    async def read_small(self, key: str) -> bytes | None:
        """All of a small object; None if it does not exist."""
        import obstore

        with suppress(FileNotFoundError):
            return bytes(await self.run("read from", lambda store: obstore.get(store, key).bytes()))
        return None

    async def write_small(self, key: str, content: bytes) -> None:
        import obstore

        await self.run("written to", obstore.put, key, content, use_multipart=False)

    async def find_size(self, key: str) -> int:
        import obstore

        try:
            return (await self.run("read from", obstore.head, key))["size"]
        except FileNotFoundError:
            raise self.unavailable("has no such object") from None

    async def delete(self, *keys: str) -> None:
        """One that does not exist is deleted already."""
        import obstore

        with suppress(FileNotFoundError):
            await self.run("deleted from", obstore.delete, list(keys))

    async def list(self) -> AsyncIterator[list[tuple[str, int]]]:
        """Keys and when each was written, in milliseconds; a batch at a time."""
        import obstore

        found = iter(await self.run("listed in", lambda store: obstore.list(store, chunk_size=LISTED)))
        while batch := await self.run("listed in", lambda store: next(found, None)):
            yield [(one["path"], int(one["last_modified"].timestamp() * 1000)) for one in batch]

    async def run(self, action: str, work: Callable[..., T], *arguments: Any, **options: Any) -> T:
        return await self._run(self.threads, action, partial(work, self.store, *arguments, **options))

    async def upload(self, key: str, pieces: Iterator[bytes]) -> None:
        import obstore

        job = partial(obstore.put, self.store, key, pieces, use_multipart=True, max_concurrency=PARALLEL)
        await self._run(self.upload_threads, "written to", partial(job, chunk_size=self.part_size))

    async def _run(self, threads: ThreadPoolExecutor, action: str, job: Callable[[], T]) -> T:
        """Errors of the library, whose texts are long, become a sentence. FileNotFoundError is an object that is
        missing where that can be."""
        from obstore.exceptions import BaseError

        try:
            return await asyncio.get_running_loop().run_in_executor(threads, job)
        except (BaseError, OSError, ValueError) as error:
            is_missing = isinstance(error, FileNotFoundError) and "NoSuchBucket" not in str(error)
            if is_missing and action in ("read from", "deleted from"):
                raise FileNotFoundError from None
            raise self.unavailable(f"can't be {action}: {reason_of(error)}") from None

    def unavailable(self, what: str) -> ArtifactUnavailable:
        """Without its address, which code and its authors need not know; the doctor shows it."""
        return ArtifactUnavailable(
            f"the object store {what}", hint="ask the operator to run `executor doctor`, then try again"
        )


class Upload:
    """An object that is written in parts. It exists when `finish` has returned, and not before that."""

    def __init__(self, objects: Objects, key: str) -> None:
        self._objects, self._key = objects, key
        self._loop = asyncio.get_running_loop()
        self._pieces: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(1)
        self._begun = asyncio.Event()
        self._is_aborted = False
        self._size = 0
        self._task: asyncio.Task[Any] | None = None

    @property
    def is_under_way(self) -> bool:
        return self._task is not None and not self._task.done()

    async def start(self, seconds: float) -> None:
        """Raises ArtifactUnavailable if the store does not accept it. Then nothing was lost yet."""
        self._task = asyncio.create_task(self._objects.upload(self._key, self._take()))
        await self._first(self._begun.wait(), seconds)
        if not self._begun.is_set():
            await self.abort()
            raise self._objects.unavailable(f"did not answer within {seconds:.0f} seconds")

    async def write(self, piece: bytes) -> None:
        await self._first(self._room.acquire())
        self._size += len(piece)
        self._pieces.put(piece)

    async def finish(self) -> None:
        self._pieces.put(None)
        assert self._task is not None  # noqa: S101 - it was started
        await self._task
        if (size := await self._objects.find_size(self._key)) != self._size:
            raise self._objects.unavailable(f"kept {size:,} of {self._size:,} bytes")

    async def abort(self) -> None:
        """The parts that were sent are removed, in the background."""
        self._is_aborted = True
        self._pieces.put(None)
        if self._task is not None:
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _first(self, waiting: Coroutine[Any, Any, Any], seconds: float | None = None) -> None:
        """Wait for that, or for what ended the upload."""
        assert self._task is not None  # noqa: S101 - it was started
        other = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait((self._task, other), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            other.cancel()
        if self._task.done():
            await self._task

    def _take(self) -> Iterator[bytes]:
        """In the thread: first asked when the store has accepted the upload. An error makes it remove its parts."""
        self._call(self._begun.set)
        while (piece := self._pieces.get()) is not None:
            self._call(self._room.release)
            yield piece
        if self._is_aborted:
            raise Aborted

    def _call(self, job: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(job)


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
        chosen["credential_provider"] = provide_credentials(file)
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
        return "no credentials were found"
    if ArtifactUnavailable.__name__ in text:
        return "its credentials can't be used"
    if found := _CODE.search(text):
        return found[1]
    if found := _STATUS.search(text):
        return found[1].strip()
    first = text.partition("\n")[0].rpartition(" - ")[2].removeprefix("Generic S3 error: ")
    return _ADDRESS.sub("…", first)[:200] or type(error).__name__
