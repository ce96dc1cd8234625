"""The files that belong to a document: fetched within bounds, in the same order each time."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from executor.errors import ExecutorError
from executor.network.addresses import display_url
from executor.sources.documents.cancellation import Stopped
from executor.sources.documents.threads import Loading
from executor.sources.openapi.documents import external_documents, parser
from executor.sources.openapi.documents.external_documents import BEYOND, Linked, absolute
from executor.sources.source_request import Progress, silent

MAX_EACH = 25_000_000  # of one that is downloaded: several are under way at once
AT_ONCE = 10
BATCH = 100
PRINT_BYTES = 5

Fetch = Callable[[str], Awaitable[bytes]]
Fetched = bytes | ExecutorError


async def gather(
    root: dict[str, Any], address: str, fetch: Fetch, loading: Loading, progress: Progress = silent
) -> Linked:
    """Everything the root leads to, by whatever way, in the order in which its references stand.

    `fetch` raises when an address may not or can't be read.
    """
    found = Linked()
    waiting = await loading.run(lambda _: absolute(root, address, is_root=True))
    known = dict.fromkeys(waiting)
    room = parser.MAX_BYTES
    while waiting and (files := external_documents.MAX_DOCUMENTS - len(found.documents)) > 0:
        if found.documents:
            progress(f"reading the files it refers to: {len(found.documents):,} read, {len(waiting):,} to come")
        some = waiting[: min(BATCH, files)]
        fetched = within(await fetch_all(some, fetch, room), room)
        results = await loading.run(partial(read_all, list(zip(some, fetched, strict=False))))
        for uri, data, result in results:
            if isinstance(result, str):
                found.refused[uri] = result
                continue
            found.documents[uri], leads_to = result
            found.contents[uri] = data
            room -= len(data)
            waiting += [one for one in leads_to if one not in known]
            known.update(dict.fromkeys(leads_to))
        waiting = waiting[len(fetched) :]
        if len(fetched) < len(some):
            break
    found.refused.update(dict.fromkeys(waiting, BEYOND))
    return found


async def fetch_all(uris: Sequence[str], fetch: Fetch, room: int) -> list[Fetched]:
    """Contents, or why not, in the order of `uris`. Nothing more is fetched once there is no `room` left."""
    places = asyncio.Semaphore(AT_ONCE)

    async def fetch_one(uri: str) -> Fetched | None:
        nonlocal room
        async with places:
            if room < 0:
                return None
            try:
                data = await fetch(uri)
            except ExecutorError as error:
                return error
            room -= len(data)
            return data

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(fetch_one(uri)) for uri in uris]
    return [result for task in tasks if (result := task.result()) is not None]


def within(fetched: list[Fetched], room: int) -> list[Fetched]:
    """Those that fit, by their order and not by that of their arrival: the same ones each time."""
    for number, one in enumerate(fetched):
        room -= len(one) if isinstance(one, bytes) else 0
        if room < 0:
            return fetched[:number]
    return fetched


def read_all(
    fetched: list[tuple[str, Fetched]], stopped: Stopped
) -> list[tuple[str, bytes, tuple[Any, list[str]] | str]]:
    """Each document with the addresses it leads to, or the reason why it was not read."""
    results: list[tuple[str, bytes, tuple[Any, list[str]] | str]] = []
    for uri, data in fetched:
        try:
            if isinstance(data, ExecutorError):
                raise data
            value = parser.parse(data, display_url(uri))
            results.append((uri, data, (value, absolute(value, uri))))
        except ExecutorError as error:
            results.append((uri, b"", f"was not read: {error.message}"))
    return results


def fingerprint(uris: Iterable[str]) -> str:
    """Few bytes for each address: enough to know it again."""
    return base64.b64encode(b"".join(map(short_print, uris))).decode()


def known_again(uris: Iterable[str], prints: str) -> list[str]:
    """Those of `uris` that the fingerprint covers."""
    whole = base64.b64decode(prints)
    known = {whole[at : at + PRINT_BYTES] for at in range(0, len(whole), PRINT_BYTES)}
    return [uri for uri in uris if short_print(uri) in known]


def short_print(uri: str) -> bytes:
    return hashlib.sha256(uri.encode("utf-8", "surrogatepass")).digest()[:PRINT_BYTES]
