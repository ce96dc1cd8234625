"""The process that reads one large document. It gets a job on standard input and answers in frames, then it ends.

It starts for every such document, so it imports as little as it can.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, BinaryIO

import orjson

from executor.errors import ExecutorError, SourceError
from executor.model.source import Loaded
from executor.sources.kind import SourceRequest

MEMORY_BYTES = 4 * 1024**3
CPU_SECONDS = 180
NICE = 5
PROGRESS, PROBLEM, HEAD, DEFINITIONS, TOOLS = b"p", b"e", b"h", b"d", b"t"


def read_job(file: BinaryIO) -> tuple[str, str, SourceRequest, list[Any]]:
    module, name, request, sizes, parts = pickle.load(file)  # noqa: S301 - written by the daemon itself
    given = [part if size is None else file.read(size) for size, part in zip(sizes, parts, strict=True)]
    return module, name, request, given


def frames(
    job: tuple[str, str, SourceRequest, list[Any]], tell: Callable[[str], None]
) -> Iterator[tuple[bytes, bytes]]:
    from executor.sources.packing import pack

    module, name, request, parts = job
    loaded: Loaded = getattr(import_module(module), name)(replace(request, progress=tell), *parts)
    packed = pack(loaded)
    head = {
        "name": loaded.name,
        "namespace": loaded.namespace,
        "skipped": [[one.where, one.reason] for one in loaded.skipped],
        "document_digest": loaded.document_digest,
        "config": loaded.config,
        "tool_count": packed.tool_count,
    }
    yield HEAD, orjson.dumps(head)
    yield from ((DEFINITIONS, piece) for piece in packed.definitions)
    yield from ((TOOLS, piece) for piece in packed.tools)


def main() -> int:
    import gc

    bound()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever anybody prints is not a frame
    gc.disable()  # the process ends before there is much to collect
    job = read_job(sys.stdin.buffer)
    try:
        for sign, content in frames(job, lambda text: send(out, PROGRESS, text.encode())):
            send(out, sign, content)
    except ExecutorError as error:
        told = {"code": error.code, "message": error.message, "hint": error.hint, "details": error.details}
        send(out, PROBLEM, orjson.dumps(told, default=str))
    except MemoryError:
        return 1
    except Exception as error:  # noqa: BLE001 - the edge: the log has everything
        import traceback

        traceback.print_exc()
        message = f"reading the document failed inside Executor: {type(error).__name__}"
        told = {"code": SourceError.code, "message": message, "hint": "the daemon's log has the details", "details": {}}
        send(out, PROBLEM, orjson.dumps(told))
    return 0


def send(out: BinaryIO, sign: bytes, content: bytes) -> None:
    out.write((len(content) + 1).to_bytes(4, "big") + sign + content)
    out.flush()


def bound() -> None:
    """Below everything else that runs here, and never without end."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(AttributeError, OSError):
        os.nice(NICE)


if __name__ == "__main__":
    sys.exit(main())
