"""Large documents are read in a process of their own, with bounds on memory and time.

Parsing holds the interpreter for as long as it takes, and what it makes stays in memory: both would be felt by every
execution that runs meanwhile. The process (`subprocess_main`) leaves rows ready for storing, in pieces, in a file.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
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
from executor.schemas.digests import add_digests
from executor.sources.documents.rows import OpenFile, Pieces
from executor.sources.documents.subprocess_main import CPU_SECONDS, MEMORY_BYTES, OUT_OF_MEMORY, PROBLEM, PROGRESS
from executor.sources.documents.threads import Loading
from executor.sources.source_request import SourceRequest, silent

# Why the process that read a document gave no answer, as far as its exit shows, and what to do about it.
SMALLER = "remove unused parts, or split it"
CRASHES = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
RUN = "from executor.sources.documents.subprocess_main import run; run()"


def explain_end(status: int) -> SourceError:
    """`status` as a process has it: negative is the signal that ended it."""
    if status == OUT_OF_MEMORY:
        gigabytes = MEMORY_BYTES // 1024**3
        return DocumentInvalid(
            f"reading the document needs more than the limit of {gigabytes} GB of memory",
            hint=SMALLER,
            reason="memory",
        )
    if status == -signal.SIGXCPU:
        return DocumentInvalid(
            f"reading the document needs more than the limit of {CPU_SECONDS} seconds of CPU time",
            hint=SMALLER,
            reason="cpu",
        )
    if status >= 0:
        return SourceError(
            f"the process that read the document ended with status {status} and without a result",
            hint="this is a defect in Executor; see the daemon's log",
            reason="crash",
        )
    return by_signal(-status)


def by_signal(number: int) -> SourceError:
    name = signal_name(number)
    if number in CRASHES:
        return SourceError(
            f"the process that read the document crashed ({name})",
            hint="this is a defect in Executor or one of its libraries; please report it",
            reason="crash",
        )
    if number == signal.SIGKILL:
        return SourceError(
            f"the process that read the document was killed by another process ({name})",
            hint="the system does this when memory runs out: check its log, free some memory, then try again",
            reason="killed",
        )
    return SourceError(
        f"the process that read the document was stopped by another process ({name})", hint="try again", reason="killed"
    )


def too_long(seconds: float) -> DocumentInvalid:
    return DocumentInvalid(
        f"the document could not be read within {seconds:g} seconds",
        hint=f"if the machine is busy, try again later; otherwise {SMALLER}",
        reason="timeout",
    )


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


LARGE = 500_000
SECONDS = 170.0
KNOWN = {kind.code: kind for kind in (SourceError, DocumentInvalid, SourceUnreachable, EgressRefused, InvalidRequest)}
Build = Callable[..., Loaded]


async def build(
    function: Build,
    request: SourceRequest,
    *parts: Any,
    large: int = LARGE,
    loading: Loading | None = None,
    seconds: float = SECONDS,
) -> Loaded:
    """`function(request, *parts)`, which only computes: in a thread, or apart if there is much to do.

    With `loading` it takes one of its places, and here gets `stopped`, which says when everyone has left. Its tools
    may lack digests: those are made here, or with the rows.
    """
    if sum(map(size_of, parts)) >= large:
        async with loading.place() if loading is not None else nullcontext():
            return await elsewhere(function, request, parts, seconds)
    if loading is None:
        return await asyncio.to_thread(lambda: add_digests(function(request, *parts)))
    return await loading.run(lambda stopped: add_digests(function(request, *parts, stopped=stopped)))


def size_of(part: Any) -> int:
    """Of a document, or of several by their addresses."""
    if isinstance(part, Mapping):
        return sum(map(size_of, part.values()))
    return len(part) if isinstance(part, bytes) else 0


async def elsewhere(function: Build, request: SourceRequest, parts: tuple[Any, ...], seconds: float) -> Loaded:
    sent = replace(request, document=None, context=replace(request.context, progress=silent))
    job = (function.__module__, function.__qualname__, sent)
    with tempfile.TemporaryFile() as file:
        await asyncio.to_thread(write_job, file, job, parts)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-S", "-P", "-c", RUN),
            stdin=file,
            stdout=asyncio.subprocess.PIPE,
            env={**own_environment(), "PYTHONPATH": python_path()},
        )
        try:
            async with asyncio.timeout(seconds):
                head = await receive_answer(process, request)
        except TimeoutError as error:
            raise too_long(seconds) from error
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        return loaded_from(head, file)


def own_environment() -> dict[str, str]:
    """Without the daemon's settings, among which are secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith("EXECUTOR_")}


def write_job(file: IO[bytes], job: tuple[Any, ...], parts: tuple[Any, ...]) -> None:
    """Bytes are written as they are: copying a large document would hold the interpreter."""
    sizes = [len(part) if isinstance(part, bytes) else None for part in parts]
    pickle.dump((*job, sizes, [None if isinstance(part, bytes) else part for part in parts]), file)
    for part in parts:
        if isinstance(part, bytes):
            file.write(part)
    file.seek(0)


def python_path() -> str:
    """Where this process finds its modules, so that the other need not find out again (`-S`)."""
    own = str(Path(__file__).parents[3])
    return os.pathsep.join(dict.fromkeys([own, *(path for path in sys.path if path)]))


async def receive_answer(process: asyncio.subprocess.Process, request: SourceRequest) -> dict[str, Any]:
    """What the process says of its rows. Raises its problem, or why it died."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    head: dict[str, Any] | None = None
    while True:
        try:
            size = int.from_bytes(await process.stdout.readexactly(4), "big")
            frame = await process.stdout.readexactly(size)
        except asyncio.IncompleteReadError:
            break
        sign, content = frame[:1], frame[1:]
        if sign == PROGRESS:
            request.context.progress(content.decode())
        elif sign == PROBLEM:
            raise problem(orjson.loads(content))
        else:
            head = orjson.loads(content)
    status = await process.wait()
    if head is None or status:
        raise explain_end(status)
    return head


def loaded_from(head: dict[str, Any], file: IO[bytes]) -> Loaded:
    opened = OpenFile(file.fileno())
    definitions = Pieces(opened, 0, head["definitions"])
    return Loaded(
        name=head["name"],
        namespace=head["namespace"],
        tools=(),
        definitions={},
        skipped=tuple(Skipped(where, reason) for where, reason in head["skipped"]),
        document_digest=head["document_digest"],
        config=head["config"],
        packed=Packed(Pieces(opened, definitions.end, head["tools"]), definitions, head["tool_count"]),
    )


def problem(failure: dict[str, Any]) -> ExecutorError:
    kind = KNOWN.get(failure["code"], DocumentInvalid)
    return kind(failure["message"], hint=failure["hint"], **failure["details"])
