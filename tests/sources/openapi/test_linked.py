"""Documents made of several: which are read, and which are not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from executor.model.source import Loaded, Source
from executor.sources.egress import Egress
from executor.sources.kind import SourceRequest, Unchanged
from executor.sources.openapi.kind import OpenApi
from tests.sources.openapi.documents import answers, document, load
from tests.sources.upstream import Reply, Upstream, as_json


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress)


def output(schema: Any) -> dict[str, Any]:
    return {"/a": {"get": {"responses": answers(schema)}}}


async def loaded_from(kind: OpenApi, upstream: Upstream, paths: dict[str, Any], **parts: Any) -> Loaded:
    upstream.routes["/api/openapi.json"] = as_json(document(paths))
    request = SourceRequest(location=upstream.url + "/api/openapi.json", allow_private=True, **parts)
    return await kind.load(request)


async def test_references_are_relative_to_the_document_they_stand_in(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/api/parts/things.yaml"] = Reply(
        200, b"Thing: {type: object, properties: {owner: {$ref: '../people.json#/Person'}, self: {$ref: '#/Thing'}}}\n"
    )
    upstream.routes["/api/people.json"] = as_json({"Person": {"type": "string"}})
    loaded = await loaded_from(kind, upstream, output({"$ref": "parts/things.yaml#/Thing"}))
    assert loaded.skipped == ()
    assert loaded.definitions["Thing"]["properties"] == {
        "owner": {"$ref": "#/$defs/Person"},
        "self": {"$ref": "#/$defs/Thing"},
    }
    assert loaded.definitions["Person"] == {"type": "string"}


async def test_path_items_operations_parameters_and_bodies_may_stand_elsewhere(
    kind: OpenApi, upstream: Upstream
) -> None:
    part = {
        "item": {"get": {"operationId": "one", "parameters": [{"$ref": "#/q"}]}, "post": {"$ref": "#/post"}},
        "post": {"operationId": "two", "requestBody": {"$ref": "#/body"}},
        "body": {"content": {"application/json": {"schema": {"type": "object", "properties": {"n": {"$ref": "#/n"}}}}}},
        "n": {"type": "integer"},
        "q": {"name": "q", "in": "query"},
    }
    upstream.routes["/api/part.json"] = as_json(part)
    loaded = await loaded_from(kind, upstream, {"/a": {"$ref": "part.json#/item", "summary": "beside"}})
    assert {tool.path: list(tool.input_schema["properties"]) for tool in loaded.tools} == {
        "things.a.one": ["q"], "things.a.two": ["n", "body"],
    }  # fmt: skip


async def test_documents_of_another_origin_are_read_only_if_that_is_allowed(
    kind: OpenApi, upstream: Upstream, elsewhere: Upstream
) -> None:
    elsewhere.routes["/s.json"] = as_json({"type": "integer"})
    paths = output({"$ref": elsewhere.url + "/s.json"})
    loaded = await loaded_from(kind, upstream, paths)
    assert elsewhere.connections == 0
    assert "another origin" in loaded.skipped[0].reason and loaded.tools[0].path
    headers = (("Authorization", "secret"),)
    private = await loaded_from(kind, upstream, paths, options={"remoteRefs": [elsewhere.url]}, headers=headers)
    assert "private" in private.skipped[0].reason and elsewhere.connections == 0
    granted = await loaded_from(
        kind, upstream, paths, options={"remoteRefs": True}, base_url=elsewhere.url, headers=(("X-Other", "1"),)
    )
    assert granted.definitions == {"s_json": {"type": "integer"}}


@pytest.mark.parametrize("ref", ["file:///etc/hostname", "http://169.254.169.254/x", "gopher://x/y", "/etc/hostname"])
async def test_no_reference_of_a_downloaded_document_leads_to_files_or_metadata(
    kind: OpenApi, upstream: Upstream, ref: str
) -> None:
    loaded = await loaded_from(kind, upstream, output({"$ref": ref}), options={"remoteRefs": True})
    assert len(loaded.tools) == 1 and "was not read" in loaded.skipped[0].reason
    assert next(iter(loaded.definitions.values())) == {}


async def test_a_file_may_refer_to_files_in_its_own_folder(kind: OpenApi, tmp_path: Path) -> None:
    folder = tmp_path / "api"
    (folder / "more").mkdir(parents=True)
    (tmp_path / "secret.json").write_text('{"type": "string", "const": "secret"}')
    (folder / "more" / "a b.json").write_text(json.dumps({"A": {"$ref": "../c.json"}}))
    (folder / "c.json").write_text('{"type": "integer"}')
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    parts = [{"$ref": "more/a%20b.json#/A"}, {"$ref": "../secret.json"}, {"$ref": "link.json"}]
    root = json.dumps(document(output({"anyOf": parts}), servers=[{"url": "https://a.example"}])).encode()
    request = SourceRequest(location=str(folder / "o.json"), document=root, allow_private=True)
    loaded = await kind.load(request)
    assert {"type": "integer"} in loaded.definitions.values()
    assert "secret" not in json.dumps(dict(loaded.definitions)).replace("secret_json", "")
    assert len(loaded.skipped) == 2 and all("outside the folder" in one.reason for one in loaded.skipped)
    agent = await kind.load(SourceRequest(location=str(folder / "o.json"), document=root))
    assert {"type": "integer"} not in agent.definitions.values()


async def test_a_change_of_a_part_is_a_change_of_the_document(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/api/s.json"] = as_json({"type": "integer"})
    first = await loaded_from(kind, upstream, output({"$ref": "s.json"}))
    source = Source("s", "w", "openapi", first.namespace, first.name, first.config)
    with pytest.raises(Unchanged):
        await kind.load(kind.reload_request(source))
    upstream.routes["/api/s.json"] = as_json({"type": "string"})
    assert (await kind.load(kind.reload_request(source))).definitions == {"s_json": {"type": "string"}}


async def test_parts_that_are_missing_cost_only_what_needs_them(kind: OpenApi, upstream: Upstream) -> None:
    paths = {"/a": {"$ref": "gone.json"}, "/b": {"get": {"responses": answers({"$ref": "also-gone.json"})}}}
    loaded = await loaded_from(kind, upstream, paths)
    assert [tool.path for tool in loaded.tools] == ["things.b.getB"]
    assert {one.where for one in loaded.skipped} == {"/a", upstream.url + "/api/also-gone.json"}


def test_references_into_paths_and_by_anchor_are_followed() -> None:
    schemas = {
        "A": {"$anchor": "here", "type": "integer"},
        "B": {"properties": {"x": {"$ref": "#/components/schemas/A"}}},
    }
    paths = {
        "/a/{b}": {"get": {"responses": answers({"type": "string"})}},
        "/c": {"get": {"responses": {"200": {"$ref": "#/paths/~1a~1%7Bb%7D/get/responses/200"}}}},
        "/d": {"$ref": "#/paths/~1c"},
        "/e": {"get": {"responses": answers({"$ref": "#here"})}},
        "/f": {"get": {"responses": answers({"$ref": "#/components/schemas/B/properties/x"})}},
        "/g": {"get": {"$ref": "#/paths/~1c/get"}},
    }
    loaded = load(paths, components={"schemas": schemas})
    assert loaded.skipped == ()
    shown = {tool.binding["path"]: tool.output_schema for tool in loaded.tools}
    assert shown["/c"] == shown["/d"] == shown["/g"] == {"type": "string"}
    assert loaded.definitions["here"] == {"type": "integer"}
    assert shown["/f"] is not None


def test_references_in_circles_end_everywhere() -> None:
    circle = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    tree = {
        "allOf": [{"$ref": "#/components/schemas/T"}],
        "properties": {"kids": {"items": {"$ref": "#/components/schemas/T"}}},
    }
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/T"}}}}
    paths = {
        "/a": {"get": {"responses": answers({"$ref": "#/components/schemas/A"})}},
        "/b": {"post": {"requestBody": body, "responses": answers({"$ref": "#/components/schemas/T"})}},
        "/c": {"$ref": "#/paths/~1c"},
        "/d": {"get": {"parameters": [{"$ref": "#/components/parameters/P"}]}},
    }
    loaded = load(
        paths, components={"schemas": {**circle, "T": tree}, "parameters": {"P": {"$ref": "#/components/parameters/P"}}}
    )
    assert {tool.binding["path"] for tool in loaded.tools} == {"/a", "/b"}
    assert {one.where for one in loaded.skipped} == {"/c", "GET /d"}
