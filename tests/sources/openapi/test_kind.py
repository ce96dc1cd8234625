from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from executor.errors import DocumentInvalid, EgressRefused, SourceError, SourceUnreachable, ToolError
from executor.model.source import Loaded, Source
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import answers, document, json_body
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress, load_seconds=60.0, call_seconds=60.0, answer_bytes=10_000)


THING = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def source_of(loaded: Loaded) -> Source:
    return Source("src", "ws", "openapi", loaded.namespace, loaded.name, loaded.config)


async def connect(kind: OpenApi, upstream: Upstream, operation: dict[str, Any], method: str = "get") -> Loaded:
    upstream.routes["/openapi.json"] = as_json(document({"/thing": {method: operation}}))
    return await kind.load(
        SourceRequest(location=upstream.url + "/openapi.json", consented=Consent(private_network=True))
    )


async def answer_of(
    kind: OpenApi, upstream: Upstream, reply: Reply, schema: Any = THING, method: str = "get", status: str = "200"
) -> str:
    loaded = await connect(kind, upstream, {"responses": answers(schema, status)}, method)
    upstream.routes["/thing"] = reply
    return await kind.invoke(source_of(loaded), loaded.tools[0], {}, "key")


async def failure_of(*given: Any, **options: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await answer_of(*given, **options)
    assert caught.value.hint
    return caught.value


async def test_a_document_is_loaded_and_its_service_called(kind: OpenApi, upstream: Upstream) -> None:
    assert json.loads(await answer_of(kind, upstream, as_json({"id": 1}))) == {"id": 1}
    assert [got.target for got in upstream.requests] == ["/openapi.json", "/thing"]


async def test_yaml_is_loaded_too(kind: OpenApi, upstream: Upstream) -> None:
    text = b"openapi: 3.0.0\ninfo: {title: Y, version: 1}\npaths: {/a: {get: {responses: {200: {description: x}}}}}\n"
    upstream.routes["/y"] = Reply(200, text, {"Content-Type": "text/yaml"})
    loaded = await kind.load(SourceRequest(location=upstream.url + "/y", consented=Consent(private_network=True)))
    assert [tool.path for tool in loaded.tools] == ["y.a.getA"]


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (Reply(200, b"<html>hi</html>", {"Content-Type": "text/html"}), DocumentInvalid, "HTML"),
        (Reply(404, b"no"), SourceUnreachable, "404"),
        (Reply(401, b"no"), SourceUnreachable, "401"),
        (Reply(500, b"no"), SourceUnreachable, "500"),
        (Reply(200, b""), DocumentInvalid, "empty"),
        (Reply(302, headers={"Location": "/doc"}), SourceUnreachable, "circle"),
        (as_json({"openapi": "3.0.0", "paths": {}}), DocumentInvalid, "no operations"),
        (as_json({"swagger": "1.2"}), DocumentInvalid, "Swagger"),
    ],
)
async def test_documents_that_can_not_be_used_say_why(
    kind: OpenApi, upstream: Upstream, reply: Reply, error: type[SourceError], says: str
) -> None:
    upstream.routes["/doc"] = reply
    with pytest.raises(error, match=says) as caught:
        await kind.load(SourceRequest(location=upstream.url + "/doc", consented=Consent(private_network=True)))
    assert caught.value.hint


async def test_a_document_that_never_comes_times_out(egress: Egress, upstream: Upstream) -> None:
    release = threading.Event()
    upstream.routes["/doc"] = lambda got, handler: (release.wait(120), as_json({}))[1]
    with pytest.raises(SourceUnreachable, match="did not answer"):
        request = SourceRequest(location=upstream.url + "/doc", consented=Consent(private_network=True))
        await OpenApi(egress, load_seconds=0.2).load(request)
    release.set()


async def test_an_agent_can_not_load_from_the_private_network(kind: OpenApi, upstream: Upstream) -> None:
    with pytest.raises(EgressRefused):
        await kind.load(SourceRequest(location=upstream.url + "/openapi.json"))
    assert upstream.connections == 0


@pytest.mark.parametrize("location", ["/etc/hostname", "file:///etc/hostname", "etc/hostname", "gopher://x"])
@pytest.mark.parametrize("allow_private", [True, False])
async def test_a_new_request_never_reads_files(kind: OpenApi, location: str, allow_private: bool) -> None:
    with pytest.raises(EgressRefused):
        await kind.load(SourceRequest(location=location, consented=Consent(private_network=allow_private)))


async def test_a_document_of_a_public_host_can_not_point_into_the_private_network(kind: OpenApi) -> None:
    text = json.dumps(document({"/a": {"get": {}}}, servers=[{"url": "http://127.0.0.1:9/"}])).encode()
    request = SourceRequest(
        location="https://api.example.com/o.json", document=text, consented=Consent(private_network=True)
    )
    with pytest.raises(EgressRefused):
        await kind.load(request)


async def test_an_operators_own_file_may_point_at_this_machine_but_not_at_metadata(kind: OpenApi) -> None:
    def upload(server: str) -> SourceRequest:
        text = json.dumps(document({"/a": {"get": {}}}, servers=[{"url": server}])).encode()
        return SourceRequest(location="/home/me/o.json", document=text, consented=Consent(private_network=True))

    assert (await kind.load(upload("http://127.0.0.1:9"))).config["origins"] == ["http://127.0.0.1:9"]
    with pytest.raises(EgressRefused):
        await kind.load(upload("http://169.254.169.254"))


@pytest.mark.parametrize(
    ("servers", "base_url", "expected"),
    [
        ([{"url": "https://a.example/v1/"}], "", "https://a.example/v1"),
        ([{"url": "/v2"}], "", "https://docs.example/v2"),
        ([{"url": "../v3"}], "", "https://docs.example/v3"),
        (None, "", "https://docs.example"),
        ([], "", "https://docs.example"),
        ([{"url": "https://{r}.a.example", "variables": {"r": {"default": "eu"}}}], "", "https://eu.a.example"),
        ([{"url": "https://a.example"}], "https://b.example/x?y#z", "https://b.example/x"),
    ],
)
async def test_the_base_url_is_found(kind: OpenApi, servers: Any, base_url: str, expected: str) -> None:
    text = json.dumps(document({"/a": {"get": {}}}, servers=servers)).encode()
    request = SourceRequest(location="https://docs.example/api/o.json", document=text, base_url=base_url)
    assert (await kind.load(request)).config["base_url"] == expected


@pytest.mark.parametrize("servers", [None, [{"url": "/relative"}], [{"url": "https://{x}.example"}], [{"url": ""}]])
async def test_a_file_that_names_no_server_asks_for_the_base_url(kind: OpenApi, servers: Any) -> None:
    text = json.dumps(document({"/a": {"get": {}}}, servers=servers)).encode()
    with pytest.raises(DocumentInvalid) as caught:
        await kind.load(SourceRequest(location="o.json", document=text))
    assert "baseUrl" in caught.value.hint


async def test_a_file_is_read_again_from_its_path(kind: OpenApi, tmp_path: Path) -> None:
    path = tmp_path / "o.json"
    path.write_text(json.dumps(document({"/a": {"get": {}}}, servers=[{"url": "https://a.example"}])))
    first = await kind.load(
        SourceRequest(location=str(path), document=path.read_bytes(), consented=Consent(private_network=True))
    )
    path.write_text(json.dumps(document({"/b": {"get": {}}}, servers=[{"url": "http://10.0.0.1"}])))
    with pytest.raises(EgressRefused):  # what it was granted when it was added does not grow by itself
        await kind.load(kind.reload_request(source_of(first)))
    path.unlink()
    with pytest.raises(SourceUnreachable, match="can't be read"):
        await kind.load(kind.reload_request(source_of(first)))


async def test_an_empty_answer_is_null(kind: OpenApi, upstream: Upstream) -> None:
    loaded = await connect(kind, upstream, {"responses": {"204": {"description": ""}}}, "delete")
    upstream.routes["/thing"] = Reply(204)
    assert await kind.invoke(source_of(loaded), loaded.tools[0], {}, "") == "null"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(200, "grüß".encode(), {"Content-Type": "text/plain"}), "grüß"),
        (Reply(200, "grüß".encode("latin-1"), {"Content-Type": "text/plain; charset=latin-1"}), "grüß"),
        (Reply(200, b"\xff\x00", {"Content-Type": "image/png"}), {"contentType": "image/png", "base64": "/wA="}),
        (as_json([1]), [1]),
        (Reply(200, b""), None),
    ],
)
async def test_answers_the_document_does_not_describe_are_passed_on(
    kind: OpenApi, upstream: Upstream, reply: Reply, expected: Any
) -> None:
    loaded = await connect(kind, upstream, {})
    upstream.routes["/thing"] = reply
    assert json.loads(await kind.invoke(source_of(loaded), loaded.tools[0], {}, "")) == expected


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>login</html>", {"Content-Type": "text/html"}),
        Reply(200, b"{broken", {"Content-Type": "application/json"}),
        Reply(200, b"", {"Content-Type": "application/json"}),
        Reply(200, b"NaN", {"Content-Type": "application/json"}),
        Reply(200, b"\xff\xfe", {"Content-Type": "application/json"}),
        as_json([1, 2]),
        as_json("text"),
        as_json(None),
        as_json({"ok": False, "error": "login"}),
        as_json({"id": "not an integer"}),
        as_json({}),
    ],
)
async def test_a_success_that_breaks_the_documents_promise_is_reported(
    kind: OpenApi, upstream: Upstream, reply: Reply
) -> None:
    error = await failure_of(kind, upstream, reply)
    assert (error.tool_code, error.http_status) == ("unexpected_response", 200)


async def test_what_came_instead_of_the_promise_is_not_lost(kind: OpenApi, upstream: Upstream) -> None:
    error = await failure_of(kind, upstream, as_json([1, 2]), method="post")
    assert error.tool_details["data"] == [1, 2]
    assert "don't repeat it blindly" in error.hint
    html = await failure_of(kind, upstream, Reply(200, b"<p>hello</p>", {"Content-Type": "text/html"}))
    assert html.tool_details["body"] == "<p>hello</p>"


PERSON = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string"},
        "secret": {"writeOnly": True},
    },
    "required": ["id", "name", "secret"],
}


@pytest.mark.parametrize("value", [{"id": 1, "more": 2}, {"id": "1", "name": "x"}, {"id": None}, {"name": "x"}])
async def test_slips_inside_an_answer_are_tolerated(kind: OpenApi, upstream: Upstream, value: Any) -> None:
    assert json.loads(await answer_of(kind, upstream, as_json(value), PERSON)) == value


@pytest.mark.parametrize("value", [{"id": "x"}, {"secret": 1}, {"ok": True}, {"id": [], "name": {}}])
@pytest.mark.parametrize("required", [True, False])
async def test_an_object_that_is_nothing_like_the_promised_one_is_reported(
    kind: OpenApi, upstream: Upstream, value: Any, required: bool
) -> None:
    schema = PERSON if required else {**PERSON, "required": []}
    if required or "secret" not in value:
        error = await failure_of(kind, upstream, as_json(value), {"allOf": [schema]})
        assert error.tool_code == "unexpected_response" and error.tool_details["data"] == value


@pytest.mark.parametrize("schema", [{**PERSON, "required": [], "additionalProperties": True}, {"type": "object"}, {}])
async def test_an_open_promise_is_hard_to_break(kind: OpenApi, upstream: Upstream, schema: Any) -> None:
    assert json.loads(await answer_of(kind, upstream, as_json({"ok": True}), schema)) == {"ok": True}


async def test_numbers_no_reader_agrees_on_are_made_plain(kind: OpenApi, upstream: Upstream) -> None:
    reply = Reply(200, b'{"id": 123456789012345678901234567890, "s": "\\ud800x"}', {"Content-Type": "application/json"})
    assert json.loads(await answer_of(kind, upstream, reply)) == {"id": 1.2345678901234568e29, "s": "\ufffdx"}


@pytest.mark.parametrize(
    ("status", "method", "retryable"),
    [(400, "get", False), (404, "get", False), (429, "get", True), (429, "post", True), (500, "get", True),
     (503, "get", True), (503, "post", False)],
)  # fmt: skip
async def test_an_error_of_the_service_carries_status_body_and_hint(
    kind: OpenApi, upstream: Upstream, status: int, method: str, retryable: bool
) -> None:
    error = await failure_of(
        kind, upstream, as_json({"detail": "because"}, status, **{"Retry-After": "7"}), method=method
    )
    assert (error.tool_code, error.http_status, error.retryable) == ("upstream_error", status, retryable)
    later = {"retryAfter": 7} if status in (429, 503) else {}
    assert error.tool_details == {"detail": "because", **later}
    assert "because" in error.message
    assert ("7 seconds" in error.hint) == (status in (429, 503))


async def test_a_service_that_is_down_was_not_reached(kind: OpenApi, upstream: Upstream, egress: Egress) -> None:
    loaded = await connect(kind, upstream, {"operationId": "do"}, "post")
    upstream.shutdown()
    upstream.server_close()
    await egress.close()
    with pytest.raises(ToolError) as caught:
        await kind.invoke(source_of(loaded), loaded.tools[0], {}, "")
    assert (caught.value.tool_code, caught.value.retryable) == ("upstream_unreachable", True)


@pytest.mark.parametrize(("method", "retryable"), [("get", True), ("post", False)])
async def test_a_write_without_an_answer_is_never_called_retryable(
    egress: Egress, upstream: Upstream, method: str, retryable: bool
) -> None:
    release, hasty = threading.Event(), OpenApi(egress, load_seconds=60.0, call_seconds=10.0)

    def hang(got: Got, handler: Handler) -> Reply:
        release.wait(120)
        return as_json({})

    error = await failure_of(hasty, upstream, hang, method=method)
    release.set()
    assert (error.tool_code, error.retryable) == ("upstream_timeout", retryable)
    assert ("may have taken effect" in error.hint) == (method == "post")


async def test_an_answer_that_is_too_large_is_refused(kind: OpenApi, upstream: Upstream) -> None:
    assert (await failure_of(kind, upstream, as_json({"id": "x" * 20_000}))).tool_code == "result_too_large"


async def test_a_redirect_into_the_private_network_is_refused(kind: OpenApi, upstream: Upstream) -> None:
    reply = Reply(302, headers={"Location": "http://169.254.169.254/latest"})
    assert (await failure_of(kind, upstream, reply)).tool_code == "egress_refused"


async def test_bodies_arrive_as_json(kind: OpenApi, upstream: Upstream) -> None:
    loaded = await connect(kind, upstream, {"requestBody": json_body(THING)}, "post")
    upstream.routes["/thing"] = as_json({})
    await kind.invoke(source_of(loaded), loaded.tools[0], {"id": 5}, "")
    assert upstream.requests[-1].json == {"id": 5}


async def test_a_header_that_the_source_has_is_no_argument(kind: OpenApi, upstream: Upstream) -> None:
    tenant = {"name": "tenant", "in": "header", "required": True, "schema": {"type": "string"}}
    here = {"get": {"operationId": "here", "parameters": [tenant]}}
    elsewhere = {"get": {**here["get"], "operationId": "there", "servers": [{"url": "https://b.example"}]}}
    upstream.routes["/openapi.json"] = as_json(document({"/here": here, "/there": elsewhere}))
    upstream.routes["/here"] = as_json({})
    request = SourceRequest(
        location=upstream.url + "/openapi.json", headers=(("Tenant", "acme"),), consented=Consent(private_network=True)
    )
    loaded = await kind.load(request)
    tools = {tool.path.rpartition(".")[2]: tool for tool in loaded.tools}
    assert [tools[name].input_schema.get("required", []) for name in ("here", "there")] == [[], ["tenant"]]
    await kind.invoke(source_of(loaded), tools["here"], {}, "key")
    assert upstream.requests[-1].headers["tenant"] == "acme"
