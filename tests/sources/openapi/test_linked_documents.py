"""Documents made of several: which are read, and which are not."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from executor.errors import SourceUnreachable
from executor.model.source import Loaded, Source
from executor.network.client import Egress
from executor.sources.kind import Unchanged
from executor.sources.openapi.documents import containers, external_documents, parser
from executor.sources.openapi.documents import linked_files as parts
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, ReadContext, SourceRequest
from tests.sources.openapi.documents import answers, document, load
from tests.sources.upstream import Reply, Upstream, as_json


@pytest.fixture
async def kind(egress: Egress) -> AsyncIterator[OpenApi]:
    yield OpenApi(egress)


def output(schema: Any) -> dict[str, Any]:
    return {"/a": {"get": {"responses": answers(schema)}}}


async def loaded_from(kind: OpenApi, upstream: Upstream, paths: dict[str, Any], **parts: Any) -> Loaded:
    upstream.routes["/api/openapi.json"] = as_json(document(paths))
    request = SourceRequest(
        location=upstream.url + "/api/openapi.json", consented=Consent(private_network=True), **parts
    )
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
    request = SourceRequest(location=str(folder / "o.json"), document=root, consented=Consent(private_network=True))
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


def write_unbundled(folder: Path, count: int) -> Path:
    """A document in many files, whose references stand in another order than their names sort in."""
    paths = {f"/p{number}": {"$ref": f"paths/{number * 7 % count}.json"} for number in range(count)}
    (folder / "paths").mkdir(parents=True)
    for number in range(count):
        item = {"get": {"operationId": f"op{number}", "responses": answers({"$ref": f"../schemas/{number}.json"})}}
        (folder / "paths" / f"{number}.json").write_text(json.dumps(item))
    (folder / "schemas").mkdir()
    for number in range(count):
        (folder / "schemas" / f"{number}.json").write_text(json.dumps({"type": "string", "title": str(number)}))
    root = folder / "openapi.json"
    root.write_text(json.dumps(document(paths, servers=[{"url": "https://a.example"}])))
    return root


READ = """
import asyncio, sys
from pathlib import Path
from executor.network.client import Egress
from executor.sources.openapi.documents import external_documents, linked_files
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest

external_documents.MAX_DOCUMENTS, linked_files.BATCH = 17, 5
root = Path(sys.argv[1])
request = SourceRequest(location=str(root), document=root.read_bytes(), consented=Consent(private_network=True))
loaded = asyncio.run(OpenApi(Egress()).load(request))
tools = (f"{tool.path} {tool.schema_digest}" for tool in loaded.tools)
print(*tools, *loaded.skipped, loaded.document_digest, sep="\\n")
"""


async def test_the_same_files_are_read_whatever_the_hash_seed(tmp_path: Path) -> None:
    root = write_unbundled(tmp_path, 30)

    async def read(seed: int) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", READ, str(root)),
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdout=asyncio.subprocess.PIPE,
        )
        return (await process.communicate())[0].decode()

    first, *others = await asyncio.gather(*(read(seed) for seed in (1, 2, 3)))
    assert first.count("things.p") == 17  # in the order in which the document refers to them
    assert all(f"op{number * 7 % 30} " in first for number in range(17))
    assert others == [first, first]


async def test_files_beyond_the_limit_are_said_once_with_a_remedy(
    kind: OpenApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_unbundled(tmp_path, 12)
    monkeypatch.setattr(external_documents, "MAX_DOCUMENTS", 8)
    request = SourceRequest(location=str(root), document=root.read_bytes(), consented=Consent(private_network=True))
    loaded = await kind.load(request)
    assert len(loaded.tools) == 8 and len(loaded.skipped) == 1
    assert loaded.skipped[0].where == "12 parts" and "npx @redocly/cli bundle" in loaded.skipped[0].reason
    monkeypatch.setattr(external_documents, "MAX_DOCUMENTS", 1_000)
    monkeypatch.setattr(parser, "MAX_BYTES", len(request.document or b"") + 100)
    small = await kind.load(request)
    assert 0 < len(small.tools) < 12
    assert [one.where for one in small.skipped if "bundle" in one.reason] == [one.where for one in small.skipped]


async def test_many_files_are_read_by_url_a_few_at_a_time_and_progress_is_shown(
    kind: OpenApi, upstream: Upstream
) -> None:
    lines: list[str] = []
    for number in range(parts.BATCH + 5):
        upstream.routes[f"/api/{number}.json"] = as_json({"get": {"operationId": f"op{number}"}})
    paths = {f"/p{number}": {"$ref": f"{number}.json"} for number in range(parts.BATCH + 5)}
    loaded = await loaded_from(kind, upstream, paths, context=ReadContext(lines.append))
    assert [tool.binding["path"] for tool in loaded.tools] == list(paths)
    assert f"reading the files it refers to: {parts.BATCH} read, 5 to come" in lines
    assert upstream.connections <= parts.AT_ONCE + 1


@pytest.mark.parametrize(
    "reply", [Reply(404), Reply(503), Reply(200, b"{unfinished: ["), Reply(302, headers={"Location": "/elsewhere"})]
)
async def test_a_refresh_that_lacks_a_file_it_had_keeps_everything_as_it_was(
    kind: OpenApi, upstream: Upstream, reply: Reply
) -> None:
    upstream.routes["/api/s.json"] = as_json({"type": "integer"})
    upstream.routes["/api/item.json"] = as_json({"get": {}})
    paths = {**output({"$ref": "s.json"}), "/b": {"$ref": "item.json"}}
    first = await loaded_from(kind, upstream, paths)
    source = Source("s", "w", "openapi", first.namespace, first.name, first.config)
    for part in ("/api/s.json", "/api/item.json"):
        kept = upstream.routes[part]
        upstream.routes[part] = reply
        with pytest.raises(
            SourceUnreachable, match=f"{part} was not read.* when the document was last read"
        ) as refused:
            await kind.load(kind.reload_request(source))
        assert "the tools are unchanged" in refused.value.hint
        upstream.routes[part] = kept
    with pytest.raises(Unchanged):
        await kind.load(kind.reload_request(source))


async def test_a_refresh_goes_on_where_only_new_files_are_missing(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/api/s.json"] = as_json({"type": "integer"})
    first = await loaded_from(kind, upstream, output({"$ref": "s.json"}))
    source = Source("s", "w", "openapi", first.namespace, first.name, first.config)
    more = {**output({"$ref": "s.json"}), "/new": {"$ref": "not-yet.json"}, "/c": {"get": {"operationId": "third"}}}
    upstream.routes["/api/openapi.json"] = as_json(document(more))
    again = await kind.load(kind.reload_request(source))
    assert {tool.binding["path"] for tool in again.tools} == {"/a", "/c"}
    assert [one.where for one in again.skipped] == ["/new"]


async def test_whole_maps_and_lists_may_stand_in_other_files(kind: OpenApi, upstream: Upstream) -> None:
    files = {
        "paths/_index.yml": "/a: {$ref: a.yml}\n/b: {$ref: a.yml}\n",
        "paths/a.yml": "get:\n  operationId: one\n  parameters: {$ref: ../lists.yml#/parameters}\n"
        "  responses: {$ref: ../lists.yml#/responses}\n",
        "lists.yml": "parameters: [{$ref: '../api/openapi.json#/components/parameters/Limit'}]\n"
        "responses: {'200': {content: {$ref: '#/content'}}}\n"
        "content: {application/json: {schema: {$ref: 'openapi.json#/components/schemas/Thing'}}}\n"
        "states: [open, closed]\n",
        "parameters.yml": "Limit: {name: limit, in: query, schema: {type: integer}}",
        "schemas.yml": "Thing: {type: object, required: {$ref: '#/needed'}, properties: {$ref: '#/fields'}}\n"
        "fields: {state: {type: string, enum: {$ref: lists.yml#/states}}, $ref: {type: string}}\nneeded: [state]\n",
    }
    for name, text in files.items():
        upstream.routes[f"/api/{name}"] = Reply(200, text.encode())
    components = {"parameters": {"$ref": "parameters.yml"}, "schemas": {"$ref": "schemas.yml"}}
    paths = {"$ref": "paths/_index.yml", "/c": {"get": {"operationId": "own"}}}
    upstream.routes["/api/openapi.json"] = as_json(document(paths, components=components))
    loaded = await kind.load(
        SourceRequest(location=upstream.url + "/api/openapi.json", consented=Consent(private_network=True))
    )
    assert loaded.skipped == ()
    assert {tool.binding["path"]: list(tool.input_schema["properties"]) for tool in loaded.tools} == {
        "/a": ["limit"], "/b": ["limit"], "/c": [],
    }  # fmt: skip
    assert loaded.definitions["Thing"] == {
        "type": "object",
        "required": ["state"],
        "properties": {"state": {"type": "string", "enum": ["open", "closed"]}, "$ref": {"type": "string"}},
    }


@pytest.mark.parametrize("where", ["components", "paths", "operations"])
def test_whole_maps_may_stand_elsewhere_in_the_same_document(where: str) -> None:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    paths: dict[str, Any] = {"/a": {"post": {"operationId": "one", "requestBody": body}}}
    components: dict[str, Any] = {
        "schemas": {"A": {"type": "object", "properties": {"parameters": {"$ref": "#/x-any"}}}}
    }
    more: dict[str, Any] = {"x-any": {"type": "integer"}}
    if where == "components":
        more["x-components"], components = components, {"$ref": "#/x-components"}
    elif where == "paths":
        more["x-paths"], paths = paths, {"$ref": "#/x-paths"}
    else:
        more["x-content"] = body["content"]
        body["content"] = {"$ref": "#/x-content"}
    loaded = load(paths, components=components, **more)
    assert loaded.skipped == () and list(loaded.tools[0].input_schema["properties"]) == ["parameters", "body"]


@pytest.mark.parametrize(
    ("text", "looked_for"),
    [
        ('{"paths": {"$ref": "p.json"}}', True),
        ("paths: {$ref: p.yml}", True),
        ("{tags: {$ref: p.yml}}", True),
        ("a:\n  'required':\n    $ref: p.yml", True),
        ("\ufeffpaths:\n  $ref: p.yml", True),
        ('{"sha_pinning_required": {"$ref": "#/a"}}', False),
        ("repository-contains-content:\n  $ref: '#/a'", False),
    ],
)
def test_whole_maps_are_looked_for_only_where_a_key_says_so(text: str, looked_for: bool) -> None:
    """Looking for them walks through all of a document."""
    assert containers.may_have(text.encode()) is looked_for


def test_maps_that_lead_nowhere_or_in_circles_are_named_and_cost_only_themselves() -> None:
    circle = {"type": "object", "properties": {"$ref": "#/components/schemas/C/properties"}}
    inside = {
        "type": "object",
        "properties": {"x": {"type": "object", "properties": {"$ref": "#/components/schemas/D/properties"}}},
    }
    paths = {
        "/a": {"get": {"responses": {"$ref": "#/nowhere"}}},
        "/b": {"get": {"responses": answers({"$ref": "#/components/schemas/C"})}},
        "/c": {"get": {"responses": answers({"$ref": "#/components/schemas/D"})}},
        "/d": {"get": {"operationId": "fine"}},
    }
    loaded = load(paths, components={"schemas": {"C": circle, "D": inside}})
    assert "/d" in {tool.binding["path"] for tool in loaded.tools}
