"""Whether the object store for artifacts can be used: each right that Executor needs, tried on an object of its own."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from executor.daemon.doctor.check import Check
from executor.errors import ArtifactUnavailable, InvalidRequest
from executor.settings import Settings

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.execution.artifacts.objects.store import Objects

NAME = "artifacts"
CONTENT = b"executor doctor"
SECONDS = 30.0
RIGHTS = "s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucket"
HINT = (
    "check artifacts_url, that the bucket exists, and the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
    f" artifacts_credentials_file), which need {RIGHTS}"
)


def check_objects(settings: Settings) -> Iterator[Check]:
    if not settings.artifacts_url:
        yield Check(NAME, "ok", "kept in the database; artifacts_url would put large ones into an object store")
        return
    from executor.execution.artifacts.objects.location import check_credentials, parse_location
    from executor.execution.artifacts.objects.store import Objects

    try:
        check_credentials(settings.artifacts_credentials_file)
        store = Objects(parse_location(settings.artifacts_url), settings.artifacts_credentials_file)
    except (ArtifactUnavailable, InvalidRequest) as error:
        yield Check(NAME, "failure", error.message, error.hint)
        return
    yield asyncio.run(_check(store))


async def _check(store: Objects) -> Check:
    """The first right that is missing."""
    key = f"doctor/{secrets.token_hex(16)}"
    try:
        async with asyncio.timeout(SECONDS):
            async for right, is_given in _try_rights(store, key):
                if not is_given:
                    return Check(NAME, "failure", f"{store.location} answers wrongly when asked to {right}", HINT)
        return Check(NAME, "ok", f"{store.location}: write, read, read a part, list and delete work")
    except ArtifactUnavailable as error:
        return Check(NAME, "failure", f"{store.location}: {error.message}", HINT)
    except TimeoutError:
        return Check(NAME, "failure", f"{store.location} took more than {SECONDS:.0f} seconds", HINT)
    finally:
        await store.close()


async def _try_rights(store: Objects, key: str) -> AsyncIterator[tuple[str, bool]]:
    upload = store.begin(key)
    await upload.start(SECONDS)
    await upload.write(CONTENT)
    await upload.finish()
    yield "read", await store.read_small(key) == CONTENT
    yield "read a part", await store.read(key, 3, 7) == CONTENT[3:7]
    yield "list", bool(await anext(aiter(store.list())))  # its first page: a store may have millions
    await store.delete(key)
    yield "delete", await store.read_small(key) is None


async def check_stored(executor: Executor) -> list[Check]:
    """From inside the daemon: whether this store is the one that has the objects."""
    from executor.storage.executions import objects

    one = await executor.database.read(objects.find_any)
    if one is None:
        return []
    hint = "set artifacts_url as it was when they were stored, or restore the bucket"
    try:
        await executor.contents.read(one, 0, min(one.size, len(CONTENT)))
    except ArtifactUnavailable as error:
        return [Check("artifacts in the store", "failure", f"{one.id}: {error.message}", hint)]
    return [Check("artifacts in the store", "ok", f"{one.id}, one of them, can be read")]
