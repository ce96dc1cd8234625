"""Large documents, read in a process of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from executor.errors import DocumentInvalid, SourceError
from executor.model.source import Loaded
from executor.sources import apart
from executor.sources.kind import SourceRequest
from executor.sources.openapi.kind import build_catalog
from executor.sources.packing import definition_rows_of, pack, tool_rows
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
    request.progress("eating")
    print("noise on the way out")
    return Loaded(bytes(8 * 1024**3).decode(), "", (), {}, (), "")


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)


async def test_a_document_that_needs_too_much_memory_is_refused_and_nothing_else_suffers(importable: None) -> None:
    told: list[str] = []
    with pytest.raises(DocumentInvalid, match="memory"):
        await apart.build(hungry, SourceRequest(progress=told.append), b"x", large=0)
    assert told == ["eating"]


def broken(request: SourceRequest, data: bytes) -> Loaded:
    raise RuntimeError("a bug")


async def test_what_breaks_there_is_an_error_here_that_says_so(importable: None) -> None:
    with pytest.raises(SourceError, match="RuntimeError"):
        await apart.build(broken, SourceRequest(), b"x", large=0)
