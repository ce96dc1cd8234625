"""Large documents are read in a process of their own, with bounds on memory and time.

Parsing holds the interpreter for as long as it takes, and what it makes stays in memory: both would be felt by every
execution that runs meanwhile. The process (`worker`) sends rows ready for storing, in pieces.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import orjson

from executor.errors import (
    DocumentInvalid,
    EgressRefused,
    ExecutorError,
    InvalidRequest,
    SourceError,
    SourceUnreachable,
)
from executor.model.packed import Packed
from executor.model.source import Loaded
from executor.model.tool import Skipped
from executor.sources.kind import SourceRequest, silent
from executor.sources.loading import Loading
from executor.sources.worker import DEFINITIONS, HEAD, PROBLEM, PROGRESS, TOOLS

LARGE = 500_000
KNOWN = {kind.code: kind for kind in (SourceError, DocumentInvalid, SourceUnreachable, EgressRefused, InvalidRequest)}
Build = Callable[..., Loaded]


async def build(
    function: Build, request: SourceRequest, *parts: Any, large: int = LARGE, loading: Loading | None = None
) -> Loaded:
    """`function(request, *parts)`, which only computes: in a thread, or apart if there is much to do.

    With `loading` it takes one of its places, and here gets `stopped`, which says when nobody waits any more.
    """
    if sum(len(part) for part in parts if isinstance(part, bytes)) >= large:
        async with loading.place() if loading is not None else nullcontext():
            return await elsewhere(function, request, parts)
    if loading is None:
        return await asyncio.to_thread(function, request, *parts)
    return await loading.run(lambda stopped: function(request, *parts, stopped=stopped))


async def elsewhere(function: Build, request: SourceRequest, parts: tuple[Any, ...]) -> Loaded:
    job = (function.__module__, function.__qualname__, replace(request, progress=silent))
    with tempfile.TemporaryFile() as file:
        await asyncio.to_thread(write_job, file, job, parts)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "executor.sources.worker"),
            stdin=file,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": python_path()},
        )
    try:
        return await received(process, request)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def write_job(file: IO[bytes], job: tuple[Any, ...], parts: tuple[Any, ...]) -> None:
    """Bytes are written as they are: copying a large document would hold the interpreter."""
    sizes = [len(part) if isinstance(part, bytes) else None for part in parts]
    pickle.dump((*job, sizes, [None if isinstance(part, bytes) else part for part in parts]), file)
    for part in parts:
        if isinstance(part, bytes):
            file.write(part)
    file.seek(0)


def python_path() -> str:
    own = str(Path(__file__).parents[2])
    return os.pathsep.join([own, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])


async def received(process: asyncio.subprocess.Process, request: SourceRequest) -> Loaded:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    head: dict[str, Any] | None = None
    pieces: dict[bytes, list[bytes]] = {DEFINITIONS: [], TOOLS: []}
    while True:
        try:
            size = int.from_bytes(await process.stdout.readexactly(4), "big")
            frame = await process.stdout.readexactly(size)
        except asyncio.IncompleteReadError:
            break
        sign, content = frame[:1], frame[1:]
        if sign == PROGRESS:
            request.progress(content.decode())
        elif sign == PROBLEM:
            raise problem(orjson.loads(content))
        elif sign == HEAD:
            head = orjson.loads(content)
        else:
            pieces[sign].append(content)
    if head is None or await process.wait():
        raise DocumentInvalid(
            "the document could not be read with the memory and the time that reading one may take",
            hint="remove what isn't used from it, or split it",
        )
    return loaded_from(head, pieces)


def loaded_from(head: dict[str, Any], pieces: dict[bytes, list[bytes]]) -> Loaded:
    return Loaded(
        name=head["name"],
        namespace=head["namespace"],
        tools=(),
        definitions={},
        skipped=tuple(Skipped(where, reason) for where, reason in head["skipped"]),
        document_digest=head["document_digest"],
        config=head["config"],
        packed=Packed(tuple(pieces[TOOLS]), tuple(pieces[DEFINITIONS]), head["tool_count"]),
    )


def problem(told: dict[str, Any]) -> ExecutorError:
    kind = KNOWN.get(told["code"], DocumentInvalid)
    return kind(told["message"], hint=told["hint"], **told["details"])
