"""HTTP servers whose answers the test writes down: what may be reached, and what is made of every refusal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpcore2
import pytest

from executor.errors import EgressRefused, SourceUnreachable, ToolError
from executor.network.private_access import PUBLIC
from executor.sources.mcp.kind import Mcp
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.mcp.conftest import McpConnector
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json
from tests.support.conditions import until

TOOLS = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}


class Server:
    """Speaks the protocol by hand; `on_call` is what it does with a call."""

    def __init__(self, upstream: Upstream) -> None:
        self.sessions = 0
        self.on_call: Callable[[Got, Handler], Reply | None] = lambda got, handler: self.answer(
            got, text_result("done")
        )
        upstream.routes["/mcp"] = self.handle

    def handle(self, got: Got, handler: Handler) -> Reply | None:
        if got.method != "POST":
            return Reply(405)
        method = got.json.get("method")
        if method == "initialize":
            self.sessions += 1
            version = got.json["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "hand", "version": "1"}}
            return self.answer(got, result, **{"Mcp-Session-Id": f"s{self.sessions}"})
        if method == "tools/list":
            return self.answer(got, TOOLS)
        return self.on_call(got, handler) if method == "tools/call" else Reply(202)

    def answer(self, got: Got, result: Any, **headers: str) -> Reply:
        reply = as_json({"jsonrpc": "2.0", "id": got.json["id"], "result": result})
        reply.headers |= headers
        return reply


def text_result(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


@pytest.fixture
def server(upstream: Upstream) -> Server:
    return Server(upstream)


async def call_and_fail(connect: McpConnector, upstream: Upstream) -> ToolError:
    connected = await connect.to_url(f"{upstream.url}/mcp")
    with pytest.raises(ToolError) as failed:
        await connected.call("work")
    return failed.value


async def test_static_headers_go_with_every_request_and_are_kept_in_the_config(
    connect: McpConnector, upstream: Upstream, server: Server
) -> None:
    connected = await connect.to_url(upstream.url, headers=(("X-Key", "k1"),))
    assert await connected.call("work") == "done"
    assert all(got.headers.get("x-key") == "k1" for got in upstream.requests)
    assert connected.source.config["headers"] == [["X-Key", "k1"]]
    again = await connect.kind.load(connect.kind.reload_request(connected.source))
    assert again.config == connected.source.config and again.document_digest == connected.loaded.document_digest


@pytest.mark.parametrize("name", ["Host", "Mcp-Session-Id", "Content-Length"])
async def test_a_static_header_can_not_take_the_protocols_place(
    connect: McpConnector, upstream: Upstream, name: str
) -> None:
    with pytest.raises(EgressRefused, match=name):
        await connect.to_url(upstream.url, headers=((name, "x"),))


async def test_a_private_address_that_no_operator_named_is_refused(
    kind: Mcp, upstream: Upstream, server: Server
) -> None:
    for url in (f"{upstream.url}/mcp", upstream.url.replace("127.0.0.1", "localhost"), "http://169.254.169.254/mcp"):
        with pytest.raises(EgressRefused):
            await kind.load(SourceRequest(kind="mcp", location=url))
        with pytest.raises(EgressRefused):
            await kind.probe(SourceRequest(location=url))
    assert not upstream.requests


async def test_a_name_that_resolves_to_a_private_address_is_refused(
    kind: Mcp, upstream: Upstream, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the look-up is made up: the name of a stranger's server that leads back here."""

    async def look_up(*args: Any, **options: Any) -> Any:
        return [(2, 1, 6, "", ("127.0.0.1", args[1]))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up, raising=False)
    port = upstream.url.rpartition(":")[2]
    with pytest.raises(EgressRefused, match="private"):
        await kind.load(SourceRequest(kind="mcp", location=f"http://mcp.example.com:{port}/mcp"))
    assert not upstream.requests


async def test_a_redirect_to_another_origin_is_not_followed(
    connect: McpConnector, upstream: Upstream, elsewhere: Upstream, server: Server
) -> None:
    server.on_call = lambda got, handler: Reply(307, b"", {"Location": f"{elsewhere.url}/mcp"})
    error = await call_and_fail(connect, upstream)
    assert error.tool_code == "egress_refused" and elsewhere.url in error.message
    assert not elsewhere.requests


async def test_a_login_that_is_needed_is_named(connect: McpConnector, kind: Mcp, upstream: Upstream) -> None:
    metadata = "https://login.example.com/.well-known/oauth-protected-resource"
    upstream.routes["/mcp"] = Reply(401, b"", {"WWW-Authenticate": f'Bearer realm="x", resource_metadata="{metadata}"'})
    found = await kind.probe(SourceRequest(location=upstream.url, consented=Consent(private_network=True)))
    assert found is not None and found.location == f"{upstream.url}/mcp"
    assert found.auth[0].type == "oauth2" and found.auth[0].details["resource_metadata"] == metadata
    with pytest.raises(SourceUnreachable, match="OAuth") as needed:
        await connect.to_url(upstream.url)
    assert metadata in needed.value.message and needed.value.details["auth"][0]["details"]["realm"] == "x"


async def test_a_call_that_is_refused_for_want_of_a_login_was_not_carried_out(
    connect: McpConnector, upstream: Upstream, server: Server
) -> None:
    server.on_call = lambda got, handler: Reply(401, b"", {"WWW-Authenticate": "Bearer"})
    error = await call_and_fail(connect, upstream)
    assert error.http_status == 401 and error.tool_details["sent"] is False and not error.retryable


@pytest.mark.parametrize(
    "refusal", [Reply(404), as_json({"error": {"code": -32000, "message": "No valid session"}}, 400)]
)
async def test_a_session_that_the_server_has_ended_is_opened_again_and_the_call_sent_once(
    connect: McpConnector, upstream: Upstream, server: Server, refusal: Reply
) -> None:
    connected = await connect.to_url(f"{upstream.url}/mcp")
    assert await connected.call("work") == "done"
    dead = f"s{server.sessions}"
    carried_out = []

    def only_new(got: Got, handler: Handler) -> Reply:
        if got.headers["mcp-session-id"] == dead:
            return refusal
        carried_out.append(got)
        return server.answer(got, text_result("again"))

    server.on_call = only_new
    assert await connected.call("work") == "again" and len(carried_out) == 1


async def test_an_answer_that_breaks_off_fails_only_its_own_call(
    connect: McpConnector, upstream: Upstream, server: Server
) -> None:
    connected = await connect.to_url(f"{upstream.url}/mcp")
    server.on_call = lambda got, handler: None
    with pytest.raises(ToolError) as cut:
        await connected.call("work")
    assert cut.value.tool_code == "upstream_unreachable" and cut.value.tool_details == {"sent": True}
    server.on_call = lambda got, handler: server.answer(got, text_result("fine"))
    before = server.sessions
    assert await connected.call("work") == "fine" and server.sessions == before


@pytest.mark.parametrize("form", ["json", "events"])
async def test_an_answer_without_end_is_cut_off(
    connect: McpConnector, upstream: Upstream, server: Server, form: str
) -> None:
    def endless(got: Got, handler: Handler) -> None:
        content_type = "application/json" if form == "json" else "text/event-stream"
        handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode())
        try:
            for _ in range(100):
                handler.wfile.write(b"data: " + b"x" * 1_000_000 + b"\n")
        except OSError:
            return

    server.on_call = endless
    error = await call_and_fail(connect, upstream)
    assert error.tool_code == "result_too_large"


async def test_a_compressed_answer_is_refused_unread(connect: McpConnector, upstream: Upstream, server: Server) -> None:
    server.on_call = lambda got, handler: Reply(
        200, b"x", {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    )
    assert "compressed" in (await call_and_fail(connect, upstream)).message


async def test_an_error_of_the_server_tells_its_status_or_its_own_words(
    connect: McpConnector, upstream: Upstream, server: Server
) -> None:
    server.on_call = lambda got, handler: Reply(503, b"<h1>busy</h1>", {"Content-Type": "text/html"})
    error = await call_and_fail(connect, upstream)
    assert error.tool_code == "upstream_unreachable" and error.http_status == 503
    said_so = {"jsonrpc": "2.0", "error": {"code": -32000, "message": "out of paper", "data": {"tray": 2}}}
    server.on_call = lambda got, handler: as_json(said_so, 500)
    error = await call_and_fail(connect, upstream)
    assert error.tool_code == "upstream_error" and "out of paper" in error.message
    assert error.tool_details == {"code": -32000, "message": "out of paper", "data": {"tray": 2}}


async def test_a_page_that_is_no_server_is_not_taken_for_one(
    kind: Mcp, connect: McpConnector, upstream: Upstream
) -> None:
    upstream.otherwise = Reply(200, b"<html></html>", {"Content-Type": "text/html"})
    assert await kind.probe(SourceRequest(location=upstream.url, consented=Consent(private_network=True))) is None
    with pytest.raises(SourceUnreachable, match="no MCP server answers"):
        await connect.to_url(upstream.url)
    rpc = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "the method does not exist"}}
    upstream.otherwise = Reply(200, json.dumps(rpc).encode(), {"Content-Type": "application/json"})
    assert await kind.probe(SourceRequest(location=upstream.url, consented=Consent(private_network=True))) is None
    assert await kind.probe(SourceRequest(location="openapi.yaml")) is None


async def test_a_redirect_from_https_to_http_is_refused_also_at_the_same_host() -> None:
    import httpx2

    from executor.sources.mcp.sessions.allowance import Allowance
    from executor.sources.mcp.transports.endpoint import Endpoint
    from executor.sources.mcp.transports.http_client import GuardedTransport

    endpoint = Endpoint("http", url="https://a.example/mcp")
    transport = GuardedTransport(endpoint, reach=PUBLIC, limit=1, allowance=Allowance(1), ssl_context=None)
    request = httpx2.Request("POST", "https://a.example/mcp")
    with pytest.raises(EgressRefused, match="unencrypted"):
        transport._check_redirect(request, httpx2.Response(307, headers={"Location": "http://a.example/mcp"}))
    for place in ("/other", "https://a.example/other", "//a.example/mcp/../other"):
        with pytest.raises(EgressRefused, match="not followed"):
            transport._check_redirect(request, httpx2.Response(307, headers={"Location": place}))


def as_events(server: Server, got: Got) -> Reply:
    body = server.answer(got, text_result("done")).body
    return Reply(200, b"event: message\ndata: " + body + b"\n\n", {"Content-Type": "text/event-stream"})


async def test_calls_one_after_the_other_share_a_connection_also_when_answers_are_events(
    connect: McpConnector, upstream: Upstream, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports: list[int] = []
    pools: list[httpcore2.AsyncConnectionPool] = []

    class Pool(httpcore2.AsyncConnectionPool):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            pools.append(self)

    def answer(got: Got, handler: Handler) -> Reply:
        ports.append(handler.client_address[1])
        return as_events(server, got)

    monkeypatch.setattr(httpcore2, "AsyncConnectionPool", Pool)
    server.on_call = answer
    connected = await connect.to_url(f"{upstream.url}/mcp")
    for _ in range(10):
        assert await connected.call("work") == "done"
        # The SDK hands an answer on before it closes the stream that brought it. A call that begins in between takes
        # another connection.
        await until(lambda: all(one.is_idle() for pool in pools for one in pool.connections), "idle connections")
    assert pools
    assert len(set(ports)) == 1, ports


async def test_a_stream_that_goes_on_after_its_answer_is_left_behind(
    connect: McpConnector, upstream: Upstream, server: Server
) -> None:
    def endless(got: Got, handler: Handler) -> None:
        reply = as_events(server, got)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + reply.body)
        left.append(handler.connection.recv(1) == b"")  # until the other side goes

    left: list[bool] = []
    server.on_call = endless
    connected = await connect.to_url(f"{upstream.url}/mcp")
    assert [await connected.call("work"), await connected.call("work")] == ["done", "done"]
    await connect.kind.close()
    await until(lambda: left == [True, True])


async def test_a_server_that_never_answers_costs_only_its_own_call(
    connect_within: Callable[..., McpConnector], upstream: Upstream, server: Server
) -> None:
    """The first call gets no answer at all, the second only its head."""
    connect = connect_within(call_seconds=10.0)
    connected = await connect.to_url(f"{upstream.url}/mcp")
    gone: list[bytes] = []

    def mute(got: Got, handler: Handler) -> None:
        if gone:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        gone.append(b"")
        handler.connection.recv(1)  # until the other side goes

    server.on_call = mute
    for _ in range(2):
        with pytest.raises(ToolError) as late:
            await connected.call("work")
        assert late.value.tool_code == "upstream_timeout" and late.value.tool_details == {"sent": True}
    server.on_call = lambda got, handler: server.answer(got, text_result("done"))
    assert await connected.call("work") == "done" and len(gone) == 2
    await connect.kind.close()


async def test_tools_in_pages_are_all_read(connect: McpConnector, upstream: Upstream, server: Server) -> None:
    def paged(got: Got, handler: Handler) -> Reply | None:
        if got.method != "POST" or got.json.get("method") != "tools/list":
            return server.handle(got, handler)
        start = int((got.json.get("params") or {}).get("cursor", 0))
        page = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(start, start + 10)]
        return server.answer(got, {"tools": page, **({"nextCursor": str(start + 10)} if start < 40 else {})})

    upstream.routes["/mcp"] = paged
    connected = await connect.to_url(f"{upstream.url}/mcp")
    assert list(connected.tools) == [f"tool_{number}" for number in range(50)]


async def test_only_messages_have_a_content_type(connect: McpConnector, upstream: Upstream, server: Server) -> None:
    """Strict frameworks refuse a DELETE or GET that is said to be JSON and has no body."""
    connected = await connect.to_url(f"{upstream.url}/mcp")
    assert await connected.call("work") == "done"
    await connect.kind.close()
    await until(lambda: any(got.method == "DELETE" for got in upstream.requests))
    typed = {(got.method, "content-type" in got.headers) for got in upstream.requests if got.method != "POST"}
    assert ("DELETE", False) in typed and not any(has_type for _, has_type in typed)
    assert all(got.headers["content-type"] == "application/json" for got in upstream.requests if got.method == "POST")
