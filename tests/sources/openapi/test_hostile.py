"""Servers that mean no good, or don't know what they do: every reading ends, within bounds, with a clear error."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

from executor.errors import DocumentInvalid, SourceError, SourceUnreachable, ToolError
from executor.model.source import Source
from executor.network.client import Egress
from executor.sources.openapi.documents import parser
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from tests.catalog.conftest import CatalogHarness, harness
from tests.sources.openapi.documents import answers, document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

__all__ = ["harness"]

PATHS = {"/things": {"get": {"operationId": "listThings", "tags": ["things"]}}}
DOCUMENT = json.dumps(document(PATHS)).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def endless(got: Got, handler: Handler) -> None:
    handler.wfile.write(HEAD + b"\r\n[")
    with suppress(OSError):
        while True:
            handler.wfile.write(b"0," * 50_000)


@cache
def pack_zeros() -> bytes:
    """200 MB that take 1 MB on the way."""
    packer = zlib.compressobj(1)
    return b"".join([*(packer.compress(b" " * 1_000_000) for _ in range(200)), packer.flush()])


def send_inflated(got: Got, handler: Handler) -> None:
    body = pack_zeros()
    handler.wfile.write(HEAD + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(body))
    with suppress(OSError):
        handler.wfile.write(body)


def send_announced(got: Got, handler: Handler) -> None:
    handler.wfile.write(HEAD + b"Content-Length: 200000000\r\n\r\n[")
    with suppress(OSError):
        while True:
            handler.wfile.write(b"0," * 50_000)


def hangs_up(got: Got, handler: Handler) -> None:
    handler.wfile.write(HEAD + b"Content-Length: 1000\r\n\r\n" + DOCUMENT[:40])


def hangs_up_at_once(got: Got, handler: Handler) -> None:
    handler.close_connection = True


@pytest.fixture
def dripping() -> Iterator[Callable[[Got, Handler], None]]:
    """A byte now and then, for as long as the test takes."""
    release = threading.Event()

    def reply(got: Got, handler: Handler) -> None:
        handler.wfile.write(HEAD + b"\r\n")
        with suppress(OSError):
            while not release.wait(0.01):
                handler.wfile.write(b" ")
                handler.wfile.flush()

    yield reply
    release.set()


@pytest.fixture
def kind(egress: Egress, monkeypatch: pytest.MonkeyPatch) -> OpenApi:
    monkeypatch.setattr(parser, "MAX_BYTES", 1_000_000)
    return OpenApi(egress, load_seconds=90, call_seconds=90, answer_bytes=100_000)


async def load(kind: OpenApi, upstream: Upstream) -> Any:
    return await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (endless, "more than 1,000,000 bytes"),
        (send_inflated, "more than 1,000,000 bytes"),
        (send_announced, "more than 1,000,000 bytes"),
        (hangs_up, "closed the connection"),
        (hangs_up_at_once, "closed the connection"),
        (Reply(302, headers={"Location": "/openapi.json"}), "circle"),
    ],
)
async def test_a_document_that_never_comes_whole_is_given_up(
    kind: OpenApi, upstream: Upstream, script: Any, says: str
) -> None:
    upstream.routes["/openapi.json"] = script
    with pytest.raises(SourceUnreachable, match=says) as caught:
        await load(kind, upstream)
    assert caught.value.hint


async def test_a_document_that_drips_is_given_up_in_time(egress: Egress, upstream: Upstream, dripping: Any) -> None:
    upstream.routes["/openapi.json"] = dripping
    with pytest.raises(SourceUnreachable, match="did not answer"):
        await load(OpenApi(egress, load_seconds=0.3), upstream)


@pytest.mark.parametrize("media_type", ["text/html", "image/png", "application/octet-stream", "nonsense", ""])
async def test_a_document_is_known_by_what_it_is_not_by_its_content_type(
    kind: OpenApi, upstream: Upstream, media_type: str
) -> None:
    upstream.routes["/openapi.json"] = Reply(200, DOCUMENT, {"Content-Type": media_type} if media_type else {})
    assert len((await load(kind, upstream)).tools) == 1


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n" + bytes(100), b"\xff" * 1_000, b"a: [b", b'{"openapi": "3.0.0", "paths": {"/a": {"ge'],
    ids=["image", "no text", "cut yaml", "cut json"],
)
async def test_what_only_says_that_it_is_a_document_is_named(kind: OpenApi, upstream: Upstream, data: bytes) -> None:
    upstream.routes["/openapi.json"] = Reply(200, data, {"Content-Type": "application/json"})
    with pytest.raises(DocumentInvalid) as caught:
        await load(kind, upstream)
    assert caught.value.hint


async def test_a_document_that_changes_between_two_looks_is_read_as_one(kind: OpenApi, upstream: Upstream) -> None:
    """Whatever was seen before, what is kept belongs together: tools, digest and validators of one answer."""
    count = iter(range(100))

    def changing(got: Got, handler: Handler) -> Reply:
        version = next(count)
        paths = {f"/v{version}": {"get": {"operationId": f"v{version}", "tags": ["t"]}}}
        return as_json(document(paths), ETag=f'"{version}"')

    upstream.routes["/openapi.json"] = changing
    request = SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    assert await kind.probe(request) is not None
    first, second = await kind.load(request), await kind.load(request)
    assert first.document_digest != second.document_digest
    for loaded in (first, second):
        (tool,) = loaded.tools
        assert loaded.config["validators"]["etag"] == f'"{tool.path.rpartition("v")[2]}"'


async def test_a_part_that_changes_is_read_once_for_all_that_refer_to_it(kind: OpenApi, upstream: Upstream) -> None:
    count = iter(range(100))
    upstream.routes["/part.json"] = lambda got, handler: as_json(
        {"A": {"const": (n := next(count))}, "B": {"const": n}}
    )
    paths = {f"/{name}": {"get": {"responses": answers({"$ref": f"part.json#/{name}"})}} for name in ("A", "B")}
    upstream.routes["/openapi.json"] = as_json(document(paths))
    loaded = await load(kind, upstream)
    assert loaded.definitions == {"A": {"const": 0}, "B": {"const": 0}}


async def call_and_fail(kind: OpenApi, upstream: Upstream, script: Any, responses: Any = None) -> ToolError:
    upstream.routes["/openapi.json"] = as_json(document({"/s": {"get": {"responses": responses or answers({})}}}))
    upstream.routes["/s"] = script
    loaded = await load(kind, upstream)
    with pytest.raises(ToolError) as caught:
        await kind.invoke(Source("s", "w", "openapi", "n", "n", loaded.config), loaded.tools[0], {}, "")
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (endless, "result_too_large"),
        (send_inflated, "result_too_large"),
        (send_announced, "result_too_large"),
        (hangs_up, "upstream_unreachable"),
        (hangs_up_at_once, "upstream_unreachable"),
        (Reply(302, headers={"Location": "/s"}), "upstream_unreachable"),
        (Reply(200, b"<html>", {"Content-Type": "text/html"}), "unexpected_response"),
        (Reply(200, b'{"a":', {"Content-Type": "application/json"}), "unexpected_response"),
        (Reply(200, b"[" * 100_000, {"Content-Type": "application/json"}), "unexpected_response"),
        (Reply(500, b"<html>\x00\xff", {"Content-Type": "application/json"}), "upstream_error"),
        (Reply(418, b"", {"Content-Type": "nonsense"}), "upstream_error"),
    ],
)
async def test_an_answer_that_is_none_is_a_typed_error(
    kind: OpenApi, upstream: Upstream, script: Any, code: str
) -> None:
    assert (await call_and_fail(kind, upstream, script)).tool_code == code


async def test_an_answer_that_drips_ends_in_time(egress: Egress, upstream: Upstream, dripping: Any) -> None:
    assert (await call_and_fail(OpenApi(egress, call_seconds=0.3), upstream, dripping)).tool_code == "upstream_timeout"


@pytest.mark.parametrize(
    "script",
    [
        hangs_up,
        Reply(200, b"a: &a [*a, *a]\n"),
        Reply(200, b"[" * 200_000),
        Reply(302, headers={"Location": "/openapi.json"}),
        Reply(200, b"\x89PNG", {"Content-Type": "image/png"}),
        as_json({**document({}), "paths": {"/a": {"get": {"parameters": [{"$ref": "file:///etc/passwd"}]}}}}),
    ],
)
async def test_the_old_catalog_outlives_every_bad_answer(harness: CatalogHarness, script: Any) -> None:
    await harness.connect(PATHS)
    harness.upstream.routes["/openapi.json"] = script
    with pytest.raises(SourceError):
        await harness.catalog.lifecycle.refresh(harness.workspace, "things")
    harness.upstream.routes["/things"] = as_json([1])
    tool = await harness.tool("things.things.listThings")
    assert await harness.catalog.invoke(tool, {}, idempotency_key="") == "[1]"
