from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from executor.errors import DocumentInvalid, EgressRefused, SourceUnreachable
from executor.network.client import Egress
from executor.sources import detection
from executor.sources.kind import Probe
from executor.sources.openapi.kind import OpenApi
from executor.sources.registry import Kinds
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import document, load
from tests.sources.upstream import Reply, Upstream, as_json

KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
DOCUMENT = document({"/a": {"get": {}}}, components={"securitySchemes": {"key": KEY}})


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress)


async def probe_place(kind: OpenApi, upstream: Upstream, place: str = "", **parts: Any) -> Probe | None:
    return await kind.probe(
        SourceRequest(location=upstream.url + place, consented=Consent(private_network=True), **parts)
    )


def page(text: str, **headers: str) -> Reply:
    return Reply(200, text.encode(), {"Content-Type": "text/html", **headers})


async def test_a_document_is_recognised_with_all_that_is_to_know(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/o.json"] = as_json(DOCUMENT)
    found = await probe_place(kind, upstream, "/o.json")
    assert found is not None
    assert (found.kind, found.location, found.name, found.namespace) == (
        "openapi",
        upstream.url + "/o.json",
        "Things",
        "things",
    )
    assert (found.base_url, found.transport, found.note) == (upstream.url, "http", "OpenAPI 3.1.0")
    assert [(one.name, one.type, one.details) for one in found.auth] == [
        ("key", "apiKey", {"in": "header", "name": "X-Key"})
    ]


@pytest.mark.parametrize(
    "place",
    ["/openapi.json", "/openapi.yaml", "/swagger.json", "/v3/api-docs", "/api-docs", "/swagger/v1/swagger.json",
     "/docs/openapi.json"],
)  # fmt: skip
async def test_the_usual_places_are_tried(kind: OpenApi, upstream: Upstream, place: str) -> None:
    upstream.routes["/"] = page("<html>Welcome</html>")
    upstream.routes[place] = as_json(DOCUMENT)
    found = await probe_place(kind, upstream, "/")
    assert found is not None and found.location == upstream.url + place


async def test_places_under_the_address_come_before_those_of_the_host(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/api/v2/openapi.json"] = as_json(DOCUMENT)
    upstream.routes["/openapi.json"] = as_json(DOCUMENT)
    found = await probe_place(kind, upstream, "/api/v2")
    assert found is not None and found.location == upstream.url + "/api/v2/openapi.json"


@pytest.mark.parametrize(
    "reply",
    [
        page('<link rel="service-desc" href="/spec/here.yaml">'),
        page("hi", Link='</spec/here.yaml>; rel="service-desc"'),
        page('<script>SwaggerUIBundle({ url: "/spec/here.yaml", dom_id: "#x" })</script>'),
        page("<redoc spec-url='/spec/here.yaml'></redoc>"),
        page('<elements-api apiDescriptionUrl="spec/here.yaml"></elements-api>'),
        page('<script id="api-reference" data-url="/spec/here.yaml"></script>'),
        page('<script src="./swagger-initializer.js"></script>'),
        page('<a href="/spec/openapi-here.yaml">document</a>'),
        page('<script>ui({ configUrl: "/swagger-config" })</script>'),
    ],
)
async def test_a_page_leads_to_its_document(kind: OpenApi, upstream: Upstream, reply: Reply) -> None:
    upstream.routes["/"] = reply
    upstream.routes["/spec/here.yaml"] = upstream.routes["/spec/openapi-here.yaml"] = as_json(DOCUMENT)
    script = b'window.ui = SwaggerUIBundle({ url: "/spec/here.yaml" })'
    upstream.routes["/swagger-initializer.js"] = Reply(200, script, {"Content-Type": "application/javascript"})
    upstream.routes["/swagger-config"] = as_json({"urls": [{"url": "/spec/here.yaml"}]})
    found = await probe_place(kind, upstream, "/")
    assert found is not None and "/spec/" in found.location


async def test_an_api_catalog_leads_to_the_document(kind: OpenApi, upstream: Upstream) -> None:
    links = {"linkset": [{"anchor": "/", "service-desc": [{"href": "/deep/spec.json", "type": "application/json"}]}]}
    upstream.routes["/.well-known/api-catalog"] = Reply(
        200, json.dumps(links).encode(), {"Content-Type": "application/linkset+json"}
    )
    upstream.routes["/deep/spec.json"] = as_json(DOCUMENT)
    found = await probe_place(kind, upstream, "/")
    assert found is not None and found.location.endswith("/deep/spec.json")


async def test_what_is_no_document_is_not_of_this_kind(kind: OpenApi, upstream: Upstream) -> None:
    upstream.otherwise = as_json({"hello": "openapi"})
    assert await probe_place(kind, upstream, "/graphql") is None
    assert len(upstream.requests) <= 30


async def test_a_page_can_not_lead_to_another_origin(kind: OpenApi, upstream: Upstream, elsewhere: Upstream) -> None:
    elsewhere.routes["/o.json"] = as_json(DOCUMENT)
    upstream.routes["/"] = page(f'<link rel="service-desc" href="{elsewhere.url}/o.json">')
    with pytest.raises(DocumentInvalid, match="on another origin") as raised:
        await probe_place(kind, upstream, "/")
    assert elsewhere.url in raised.value.hint and elsewhere.connections == 0


async def test_a_probe_raises_when_nothing_could_be_asked(kind: OpenApi, upstream: Upstream) -> None:
    with pytest.raises(EgressRefused):
        await kind.probe(SourceRequest(location=upstream.url))
    upstream.shutdown()
    upstream.server_close()
    with pytest.raises(SourceUnreachable):
        await probe_place(kind, upstream)


async def test_a_document_that_is_given_needs_no_asking(kind: OpenApi) -> None:
    found = await kind.probe(SourceRequest(location="o.json", document=json.dumps(DOCUMENT).encode()))
    assert found is not None and found.base_url == "" and "baseUrl" in found.note
    assert await kind.probe(SourceRequest(location="o.json", document=b"hello")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"openapi: 3.0.0\npaths:\n  /a:\n    get: {\n   responses: [}\n", "is not valid JSON or YAML"),
        (b'{"info": {}, "openapi": "3.0.0", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'swagger: "1.2"\npaths: {}\n', "Swagger 1.2"),
    ],
)
async def test_a_broken_document_is_refused_with_what_is_wrong(
    kind: OpenApi, upstream: Upstream, text: bytes, said: str
) -> None:
    upstream.routes["/o.yaml"] = Reply(200, text)
    with pytest.raises(DocumentInvalid, match=said):
        await probe_place(kind, upstream, "/o.yaml")
    with pytest.raises(DocumentInvalid, match=said):
        kinds = Kinds.of({"openapi": kind, "none": Nothing()})  # type: ignore[dict-item]
        await detection.probe(kinds, SourceRequest(location="o.yaml", document=text))


class Nothing:
    """A kind that knows nothing."""

    name = "none"

    async def probe(self, request: SourceRequest) -> Probe | None:
        return None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('<a href="/www/spec/acme-v1.yaml">description</a>', "/www/spec/acme-v1.yaml"),
        ('<a href="/downloads/acme.json?raw=1">the file</a>', "/downloads/acme.json?raw=1"),
        ('<a href="/get/17">OpenAPI description</a>', "/get/17"),
        ('<link rel="alternate" type="application/vnd.oai.openapi+json" href="/alt">', "/alt"),
        (
            '<script>fetch("/spec.json").then(r => r.json()).then(spec => SwaggerUIBundle({spec}))</script>',
            "/spec.json",
        ),
        ("<script>$.getJSON('/x/definition', show)</script>", "/x/definition"),
        ("<script>const spec = await axios.get(`/ax.json`)</script>", "/ax.json"),
        ('<rapi-doc spec-url="/rapi.yaml"></rapi-doc>', "/rapi.yaml"),
        ('<div id="redoc" data-spec-url="/red.yaml"></div>', "/red.yaml"),
        ("<script>Scalar.createApiReference('#app', { url: '/scalar.json' })</script>", "/scalar.json"),
    ],
)
async def test_a_page_leads_to_its_document_in_many_ways(
    kind: OpenApi, upstream: Upstream, text: str, place: str
) -> None:
    upstream.routes["/"] = page(f"<html>{text}</html>")
    upstream.routes[place.partition("?")[0]] = as_json(DOCUMENT)
    found = await probe_place(kind, upstream, "/")
    assert found is not None and found.location == upstream.url + place


async def test_a_page_that_links_to_a_page_of_the_document_leads_to_it(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/"] = page('<a href="/developers">Swagger</a>')
    upstream.routes["/developers"] = page('<redoc spec-url="/deep/one.json"></redoc>')
    upstream.routes["/deep/one.json"] = as_json(DOCUMENT)
    found = await probe_place(kind, upstream, "/")
    assert found is not None and found.location.endswith("/deep/one.json")


@pytest.mark.parametrize(("status", "is_warned"), [(404, True), (410, True), (200, False), (405, False)])
async def test_a_document_beside_a_wrong_address_comes_with_a_warning(
    kind: OpenApi, upstream: Upstream, status: int, is_warned: bool
) -> None:
    upstream.routes["/v2/openapi.yaml"] = Reply(status, b"nothing")
    upstream.routes["/openapi.json"] = as_json(DOCUMENT)
    found = await probe_place(kind, upstream, "/v2/openapi.yaml")
    assert found is not None and found.location == f"{upstream.url}/openapi.json"
    said = f"{upstream.url}/v2/openapi.yaml answered {status}; the document at {found.location} is used instead"
    assert found.warning.startswith(said) == is_warned
    assert ("add it with the right address" in found.warning) == is_warned


@pytest.mark.parametrize(("status", "hint"), [(404, "openapi.json"), (500, "check the address")])
async def test_the_status_of_an_address_is_said(egress: Egress, upstream: Upstream, status: int, hint: str) -> None:
    upstream.routes["/nope.yaml"] = Reply(status)
    request = SourceRequest(location=upstream.url + "/nope.yaml", consented=Consent(private_network=True))
    with pytest.raises(DocumentInvalid, match=f"nope.yaml: it answered {status}") as raised:
        await detection.probe(Kinds.of({"openapi": OpenApi(egress), "other": Nothing()}), request)  # type: ignore[dict-item]
    assert hint in raised.value.hint


OTHERS = {
    "a Postman collection of an old format": '{"id": "1", "name": "A", "order": [], "requests": []}',
    "an Insomnia export": '{"_type": "export", "__export_format": 4, "resources": []}',
    "an AsyncAPI document": "asyncapi: 2.6.0\ninfo: {title: see the openapi one}\n",
    "a list of Google APIs": '{"kind": "discovery#directoryList", "discoveryVersion": "v1", "items": []}',
    "a WSDL document": '<?xml version="1.0"?><definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>',
    "a RAML document": "#%RAML 1.0\ntitle: A\n",
    "an API Blueprint": "FORMAT: 1A\n# Things\n",
    "a protocol buffer definition": '// things\nsyntax = "proto3";\nservice A {}\n',
    "a HAR file": '{"log": {"version": "1.2", "creator": {}, "entries": []}}',
    "an OpenRPC document": '{"openrpc": "1.2.6", "methods": []}',
    "an OData metadata document": '<edmx:Edmx Version="4.0"></edmx:Edmx>',
    "an MCP client configuration": '{"mcpServers": {"a": {"command": "npx"}}}',
}


@pytest.mark.parametrize("name", OTHERS)
async def test_other_formats_are_called_what_they_are(kind: OpenApi, upstream: Upstream, name: str) -> None:
    upstream.routes["/o"] = Reply(200, OTHERS[name].encode())
    for request in (
        SourceRequest(location=upstream.url + "/o", consented=Consent(private_network=True)),
        SourceRequest(location="/somewhere/file", document=OTHERS[name].encode()),
    ):
        with pytest.raises(DocumentInvalid, match=f"is {name}") as raised:
            await kind.probe(request)
        assert raised.value.hint
        with pytest.raises(DocumentInvalid, match=f"is {name}"):
            await kind.load(request)


def test_a_document_that_mentions_other_formats_is_still_one() -> None:
    paths = {"/mcpServers": {"get": {"description": '"_postman_id" asyncapi: 2 syntax = "proto3"', "operationId": "a"}}}
    assert len(load(paths).tools) == 1
