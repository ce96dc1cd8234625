"""Large documents, read in a process of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from executor.errors import DocumentInvalid, SourceError
from executor.model.source import Loaded
from executor.sources.documents import subprocess as apart
from executor.sources.documents import subprocess as subprocess_failures
from executor.sources.documents.rows import definition_rows_of, pack, tool_rows
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import ReadContext, SourceRequest
from tests.sources.openapi.documents import LOCATION, answers, document

PET = {"$ref": "#/components/schemas/Pet"}
PARTS = {"components": {"schemas": {"Pet": {"type": "object", "properties": {"friend": PET}}}}}


def large(**parts: Any) -> bytes:
    operation = {"tags": ["t"], "responses": answers(PET)}
    paths = {f"/p{n}": {"get": {**operation, "operationId": f"op{n}"}} for n in range(600)}
    paths["/broken"] = {"get": {"$ref": "#/nowhere"}}
    return json.dumps(document(paths, **PARTS, **parts)).encode()


def rows(loaded: Loaded) -> tuple[list[Any], list[Any]]:
    packed = pack(loaded)
    tools = [row for piece in packed.tools for row in tool_rows(piece)]
    return tools, [row for piece in packed.definitions for row in definition_rows_of(piece)]


async def test_a_document_read_apart_gives_exactly_what_reading_it_here_gives() -> None:
    request, data = SourceRequest(location=LOCATION), large()
    here = await apart.build(build_catalog, request, data, LOCATION, large=10**9)
    there = await apart.build(build_catalog, request, data, LOCATION, large=0)
    assert here.packed is None and there.packed is not None
    assert there.packed.tool_count == len(here.tools) == 600
    assert rows(there) == rows(here)
    assert (there.name, there.namespace, there.config) == (here.name, here.namespace, here.config)
    assert (there.skipped, there.document_digest) == (here.skipped, here.document_digest)


async def test_an_error_from_there_is_the_error_here() -> None:
    with pytest.raises(DocumentInvalid) as here:
        build_catalog(SourceRequest(location=LOCATION), b'{"openapi": "3.1.0"', LOCATION)
    with pytest.raises(DocumentInvalid) as there:
        await apart.build(build_catalog, SourceRequest(location=LOCATION), b'{"openapi": "3.1.0"', LOCATION, large=0)
    assert (there.value.message, there.value.hint) == (here.value.message, here.value.hint)


def hungry(request: SourceRequest, data: bytes) -> Loaded:
    request.context.progress("eating")
    print("noise on the way out")
    return Loaded(bytes(8 * 1024**3).decode(), "", (), {}, (), "")


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)


async def test_a_document_that_needs_too_much_memory_is_refused_and_nothing_else_suffers(importable: None) -> None:
    told: list[str] = []
    with pytest.raises(DocumentInvalid, match="more than the limit of 4 GB of memory") as caught:
        await apart.build(hungry, SourceRequest(context=ReadContext(progress=told.append)), b"x", large=0)
    assert told == ["eating"]
    assert (caught.value.details["reason"], caught.value.hint) == ("memory", subprocess_failures.SMALLER)


def broken(request: SourceRequest, data: bytes) -> Loaded:
    raise RuntimeError("a bug")


async def test_what_breaks_there_is_an_error_here_that_says_so(importable: None) -> None:
    with pytest.raises(SourceError, match="RuntimeError"):
        await apart.build(broken, SourceRequest(), b"x", large=0)


def endless(request: SourceRequest, data: bytes) -> Loaded:
    resource.setrlimit(resource.RLIMIT_CPU, (1, 5))
    while True:
        pass


async def test_a_document_that_takes_too_much_cpu_is_refused_for_that(importable: None) -> None:
    with pytest.raises(DocumentInvalid, match="seconds of CPU time") as caught:
        await apart.build(endless, SourceRequest(), b"x", large=0)
    assert (caught.value.details["reason"], caught.value.hint) == ("cpu", subprocess_failures.SMALLER)


def raise_signal(request: SourceRequest, data: bytes) -> Loaded:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), int(data))
    time.sleep(60)
    raise AssertionError


@pytest.mark.parametrize(
    ("number", "said", "reason"),
    [
        (signal.SIGKILL, r"killed by another process \(SIGKILL\).*free some memory", "killed"),
        (signal.SIGTERM, r"stopped by another process \(SIGTERM\).*try again", "killed"),
        (signal.SIGSEGV, r"crashed \(SIGSEGV\).*report", "crash"),
        (signal.SIGABRT, r"crashed \(SIGABRT\).*report", "crash"),
    ],
)
async def test_a_signal_is_distinguished_from_the_bounds(
    importable: None, number: signal.Signals, said: str, reason: str
) -> None:
    with pytest.raises(SourceError) as caught:
        await apart.build(raise_signal, SourceRequest(), str(int(number)).encode(), large=0)
    assert not isinstance(caught.value, DocumentInvalid)
    assert caught.value.details["reason"] == reason
    assert re.search(said, f"{caught.value.message}: {caught.value.hint}")


def leaving(request: SourceRequest, data: bytes) -> Loaded:
    os._exit(int(data))


@pytest.mark.parametrize("status", [0, 1])
async def test_an_end_without_an_answer_is_a_fault_of_ours(importable: None, status: int) -> None:
    with pytest.raises(SourceError, match=f"ended with status {status} and without a result") as caught:
        await apart.build(leaving, SourceRequest(), str(status).encode(), large=0)
    assert caught.value.details["reason"] == "crash"
    assert "log" in (caught.value.hint or "")


def waiting(request: SourceRequest, data: bytes) -> Loaded:
    request.context.progress(str(os.getpid()))
    time.sleep(600)
    raise AssertionError


async def test_a_document_that_is_not_read_in_time_is_given_up_and_its_process_ended(importable: None) -> None:
    told: list[str] = []
    with pytest.raises(DocumentInvalid, match="within 15 seconds") as caught:
        await apart.build(waiting, SourceRequest(context=ReadContext(progress=told.append)), b"x", large=0, seconds=15)
    assert caught.value.details["reason"] == "timeout"
    with pytest.raises(ProcessLookupError):
        os.kill(int(told[0]), 0)


async def test_anyone_who_stops_waiting_ends_the_process_too(importable: None) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    job = asyncio.ensure_future(
        apart.build(waiting, SourceRequest(context=ReadContext(progress=told.put_nowait)), b"x", large=0)
    )
    pid = int(await asyncio.wait_for(told.get(), 120))
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_process_loads_neither_an_event_loop_nor_an_http_client() -> None:
    modules = ("documents.subprocess_main", "openapi.tools.builder", "documents.rows")
    loaded = "import sys, " + ", ".join(f"executor.sources.{name}" for name in modules)
    heavy = "print(*sorted({'asyncio', 'ssl', 'aiohttp', 'pydantic', 'sqlalchemy', 'yaml_rs'} & sys.modules.keys()))"
    code = f"{loaded}; {heavy}"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def open_files() -> set[str]:
    folder = Path("/proc/self/fd")
    return {one.name for one in folder.iterdir()} if folder.is_dir() else set()


async def test_rows_made_apart_stay_in_a_file_that_goes_with_them() -> None:
    before = open_files()
    loaded = await apart.build(build_catalog, SourceRequest(location=LOCATION), large(), LOCATION, large=0)
    assert loaded.packed is not None and not isinstance(loaded.packed.tools, tuple | list)
    assert [len(tool_rows(piece)) for piece in loaded.packed.tools] == [250, 250, 100]
    assert loaded.packed.tools[-1] == loaded.packed.tools[0:3][2]
    del loaded
    assert open_files() == before
