"""The process that reads one large document, then ends. It gets its job in the file that is its standard input.

It answers in frames on standard output; the rows, which are much more, it writes into the file that the job came in.
It starts for every such document, so it imports as little as it can: neither an event loop nor an HTTP client.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, BinaryIO

import orjson

from executor.errors import ExecutorError, SourceError
from executor.model.source import Loaded
from executor.sources.source_request import SourceRequest

MEMORY_BYTES = 4 * 1024**3
CPU_SECONDS = 180
NICE = 5
PROGRESS, PROBLEM, HEAD = b"p", b"e", b"h"
OUT_OF_MEMORY = 77  # an exit status that nothing else here ends with
BUFFER = 1024**2
Job = tuple[str, str, SourceRequest, list[Any]]


def read_job(file: BinaryIO) -> Job:
    module, name, request, sizes, parts = pickle.load(file)  # noqa: S301 - written by the daemon itself
    given = [part if size is None else file.read(size) for size, part in zip(sizes, parts, strict=True)]
    return module, name, request, given


def do_job(job: Job, rows: BinaryIO, report: Callable[[str], None]) -> dict[str, Any]:
    """Does the job, and says what was written to `rows`: the sizes of the pieces, in their order."""
    from executor.sources.documents.rows import pieces, rows_of

    module, name, request, parts = job
    loaded: Loaded = getattr(import_module(module), name)(
        replace(request, context=replace(request.context, progress=report)), *parts
    )
    definitions, tools = rows_of(loaded)
    return {
        "name": loaded.name,
        "namespace": loaded.namespace,
        "skipped": [[one.where, one.reason] for one in loaded.skipped],
        "document_digest": loaded.document_digest,
        "config": loaded.config,
        "tool_count": len(loaded.tools),
        "definitions": list(write_pieces(rows, pieces(definitions))),
        "tools": list(write_pieces(rows, pieces(tools))),
    }


def write_pieces(rows: BinaryIO, pieces: Iterable[bytes]) -> Iterator[int]:
    for piece in pieces:
        rows.write(piece)
        yield len(piece)


def main() -> int:
    import gc

    apply_bounds()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever anyone prints is not a frame
    gc.disable()  # the process ends before there is much to collect
    with os.fdopen(0, "r+b", buffering=BUFFER, closefd=False) as file:
        job = read_job(file)
        file.seek(0)
        file.truncate()
        try:
            head = do_job(job, file, lambda text: send(out, PROGRESS, text.encode()))
            file.flush()
            send(out, HEAD, orjson.dumps(head))
        except ExecutorError as error:
            failure = {"code": error.code, "message": error.message, "hint": error.hint, "details": error.details}
            send(out, PROBLEM, orjson.dumps(failure, default=str))
        except MemoryError:
            return OUT_OF_MEMORY
        except Exception as error:  # noqa: BLE001 - the edge: the log has everything
            import traceback

            traceback.print_exc()
            message = f"reading the document failed inside Executor: {type(error).__name__}"
            hint = "see the daemon's log"
            send(
                out, PROBLEM, orjson.dumps({"code": SourceError.code, "message": message, "hint": hint, "details": {}})
            )
    return 0


def send(out: BinaryIO, sign: bytes, content: bytes) -> None:
    out.write((len(content) + 1).to_bytes(4, "big") + sign + content)
    out.flush()


def apply_bounds() -> None:
    """Below everything else that runs here, and never without end."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(AttributeError, OSError):
        os.nice(NICE)


def run() -> None:
    status = main()
    sys.stderr.flush()
    os._exit(status)  # taking a large document apart again, object by object, would take long and help no one
