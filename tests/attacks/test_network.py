"""Attacks 29 to 35: on where requests go, with a whole Executor between the attacker and the network."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from executor.errors import ExecutorError
from executor.model.source import Source
from executor.sources.source_request import Consent, SourceRequest
from tests.execution.conftest import ExecutorHarness, value
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving

INSIDE = (
    "169.254.169.254", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1",
    "0.0.0.0",  # noqa: S104 - reached from here, not listened on
    "127.1", "[::1]", "[::]", "localhost", "[64:ff9b::7f00:1]", "[fd00:ec2::254]", "metadata.google.internal",
    "\u0661\u0662\u0667.0.0.1", "127.0.0.1.",
)  # fmt: skip
PATHS = {
    "/things/{id}": {
        "get": {
            "operationId": "getThing",
            "tags": ["use"],
            "parameters": [
                {"in": "path", "name": "id", "required": True, "schema": {"type": "string"}},
                {"in": "header", "name": "X-Note", "schema": {"type": "string"}},
                {"in": "query", "name": "q", "schema": {"type": "string"}},
            ],
            "responses": {"200": {}},
        }
    },
    "/plain": {"get": {"operationId": "plain", "tags": ["use"], "responses": {"200": {}}}},
}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        server.otherwise = as_json({"ok": True})
        yield server


def write_document(server: str, paths: Any = None) -> bytes:
    document = {"openapi": "3.1.0", "info": {"title": "Net", "version": "1"}, "paths": paths or PATHS}
    return json.dumps({**document, "servers": [{"url": server}]}).encode()


async def connect(harness: ExecutorHarness, server: str, **given: Any) -> Source:
    request = SourceRequest(**{"document": write_document(server), "kind": "openapi", "namespace": "net", **given})
    return await harness.executor.catalog.add_source(harness.executor.tenancy.workspace.id, request)


async def caught(harness: ExecutorHarness, call: str) -> Any:
    return value(await harness.run(f"try {{ return await {call} }} catch (e) {{ return [e.code, e.message] }}"))


@pytest.mark.parametrize("host", INSIDE)
async def test_29_a_base_url_or_a_document_inside_the_network(
    harness: ExecutorHarness, upstream: Upstream, host: str
) -> None:
    """Defence: `addresses.private` of what a name resolves to, checked in `Egress.send` before anything is opened."""
    port = upstream.server_address[1]
    with pytest.raises(ExecutorError):
        await connect(harness, "", location=f"http://{host}:{port}/openapi.json", document=None)
    for server in (f"http://{host}:{port}", f"http://{host}"):
        try:
            await connect(harness, server)
        except ExecutorError:
            continue
        assert (await caught(harness, "tools.net.use.plain({})"))[0] in ("egress_refused", "upstream_unreachable")
        await harness.executor.catalog.lifecycle.remove(harness.executor.tenancy.workspace.id, "net")
    assert upstream.connections == 0


@pytest.mark.parametrize(
    "host",
    ["[fec0::1]", "[3fff::1]", "192.88.99.1", "[2002:c0a8:101::]", "[64:ff9b:1::1]", "[2606:4700::5efe:a00:1]",
     "198.51.100.1", "[100::1]"],
)  # fmt: skip
async def test_93_a_network_that_is_not_the_internet_under_a_rare_address(harness: ExecutorHarness, host: str) -> None:
    """Defence: `addresses.is_private` has one list of networks, and takes IPv6 outside 2000::/3 for private."""
    with pytest.raises(ExecutorError) as caught:
        await connect(harness, "", location=f"http://{host}:9/openapi.json", document=None)
    assert caught.value.code == "egress_refused"


async def test_29_a_reference_or_a_redirect_inside_the_network(harness: ExecutorHarness, upstream: Upstream) -> None:
    """Defence: each hop and each `$ref` is sent by the same client, with the grant of the source alone."""
    with serving() as inside:
        upstream.routes["/plain"] = Reply(302, headers={"Location": f"{inside.url}/secret"})
        paths = {**PATHS, "/r": {"$ref": f"{inside.url}/part.json#/x"}, "/m": {"$ref": "http://169.254.169.254/#/x"}}
        document = write_document(upstream.url, paths)
        await connect(
            harness, upstream.url, document=document, base_url=upstream.url, consented=Consent(private_network=True)
        )
        code, message = await caught(harness, "tools.net.use.plain({})")
        assert code == "egress_refused" and "private" in message
        assert inside.connections == 0


async def test_30_a_name_that_is_turned_inside_after_it_was_checked(
    harness: ExecutorHarness, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `GuardedResolver` (network/private_access.py): what is connected to is the very answer that was
    judged."""
    asked: list[str] = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = "93.184.216.34" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    used: list[str] = []

    async def start_connection(addr_infos: Any, **_: Any) -> Any:
        used.extend(info[4][0] for info in addr_infos)
        raise OSError("no network in tests")

    await connect(harness, upstream.url.replace("127.0.0.1", "api.example.com"))
    await connect(harness, "http://api.example.com:81", namespace="later")
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", start_connection)
    first = await caught(harness, "tools.net.use.plain({})")
    second = await caught(harness, "tools.later.use.plain({})")
    assert (first[0], second[0]) == ("upstream_unreachable", "egress_refused")
    assert set(used) == {"93.184.216.34"} and upstream.connections == 0


TRICKS = ("../admin", "..", ".", "%2e%2e/admin", "a/b", "a%2fb", "a;b", "//evil.example", "@evil.example", "a?b=1",
          "a#b", "\\..\\admin", "a\\b", "..;/admin", "\u2025/admin", "a\x00b")  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
async def test_31_a_path_parameter_that_climbs(harness: ExecutorHarness, upstream: Upstream, trick: str) -> None:
    """Defence: `encode` percent-encodes all but unreserved characters, and refuses `.` and `..`
    (openapi/calls/parameter_styles.py)."""
    await connect(harness, upstream.url, base_url=upstream.url, consented=Consent(private_network=True))
    await caught(harness, f"tools.net.use.getThing({{id: {json.dumps(trick)}}})")
    for got in upstream.requests:
        path, _, query = got.target.partition("?")
        assert path.startswith("/things/") and path.count("/") == 2 and not query
        assert path.rpartition("/")[2] not in (".", "..", "") and "\\" not in path and ";" not in path


@pytest.mark.parametrize("place", ["X-Note", "q", "id"])
@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\u560d\u560a", "\x85", "\0"])
async def test_32_crlf(harness: ExecutorHarness, upstream: Upstream, place: str, end: str) -> None:
    """Defence: `header_value` (openapi/calls/parameter_styles.py), then `check_headers` of egress, then aiohttp: each
    is enough."""
    await connect(harness, upstream.url, base_url=upstream.url, consented=Consent(private_network=True))
    hostile = f"a{end}X-Evil: 1{end}{end}GET /evil HTTP/1.1"
    await caught(harness, f"tools.net.use.getThing({json.dumps({'id': 'x', place: hostile})})")
    assert all("x-evil" not in got.headers and got.target.startswith("/things/") for got in upstream.requests)
    assert len(upstream.requests) <= 1


SCHEMES = ("file:///etc/passwd", "gopher://127.0.0.1/x", "ftp://127.0.0.1/x", "unix:///run/docker.sock",
           "http+unix://%2Frun%2Fdocker.sock/x", "data:application/json,{}", "jar:http://x!/", "ldap://127.0.0.1/",
           "javascript:1", "HTTP://user:pw@127.0.0.1/x")  # fmt: skip


@pytest.mark.parametrize("address", SCHEMES)
async def test_34_other_schemes(harness: ExecutorHarness, upstream: Upstream, address: str) -> None:
    """Defence: `addresses.parse` knows http and https alone; of a new request no file is read."""
    with pytest.raises(ExecutorError) as refused:
        await connect(harness, "", location=address, document=None, consented=Consent(private_network=True))
    assert "root:" not in str(refused.value)
    upstream.routes["/plain"] = Reply(302, headers={"Location": address})
    await connect(harness, upstream.url, base_url=upstream.url, consented=Consent(private_network=True))
    code, message = await caught(harness, "tools.net.use.plain({})")
    assert code in ("egress_refused", "upstream_unreachable", "upstream_error") and "root:" not in message
    with pytest.raises(ExecutorError):
        await connect(harness, address, namespace="other", consented=Consent(private_network=True))


async def test_35_a_bomb_an_endless_body_and_a_slow_one(harness: ExecutorHarness, upstream: Upstream) -> None:
    """Defence: `Bounds` counts what was unpacked, and `asyncio.timeout` in `Egress.send` bounds the whole of it."""
    bomb = gzip.compress(bytes(200 << 20), 9)
    upstream.routes["/plain"] = Reply(200, bomb, {"Content-Encoding": "gzip", "Content-Type": "application/json"})
    await connect(harness, upstream.url, base_url=upstream.url, consented=Consent(private_network=True))
    code, _ = await caught(harness, "tools.net.use.plain({})")
    assert code == "result_too_large"
    upstream.routes["/plain"] = endless
    code, _ = await caught(harness, "tools.net.use.plain({})")
    assert code == "result_too_large"
    outcome = await harness.run("return 1")
    assert value(outcome) == 1


def endless(got: Got, handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"[" * 65536)
    except OSError:
        return
