"""Whatever a document holds in whatever place, reading it ends with tools or with one of our errors."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from executor.catalog.signatures.signature import signature
from executor.errors import ExecutorError, ToolError
from executor.schemas.validation import compile_schema, problems
from executor.sources.openapi.calls import arguments as forms
from executor.sources.openapi.calls.request import build
from executor.sources.openapi.kind import build_catalog
from executor.sources.source_request import SourceRequest
from executor.storage.catalog.definitions import with_definitions
from tests.sources.openapi.documents import LOCATION, answers, document, json_body

NODE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}}}
BODY = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^a", "enum": ["a"]},
        "node": {"$ref": "#/components/schemas/Node"},
    },
    "additionalProperties": False,
    "oneOf": [{"properties": {"x": {"type": "integer", "minimum": 1, "exclusiveMinimum": True}}}],
    "allOf": [{"$ref": "#/components/schemas/Node"}],
}
QUERY = {"name": "q", "in": "query", "style": "form", "explode": True, "schema": {"type": "array"}, "description": "x"}
WHOLE = document(
    {
        "/things/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "servers": [{"url": "https://b.example"}],
            "post": {
                "operationId": "make",
                "tags": ["t"],
                "summary": "Make",
                "deprecated": False,
                "parameters": [QUERY, {"name": "Idempotency-Key", "in": "header"}],
                "requestBody": json_body(BODY, required=True),
                "responses": answers({"$ref": "#/components/schemas/Node"}, "201"),
            },
        }
    },
    servers=[{"url": "https://{a}.example/v1", "variables": {"a": {"default": "x"}}}],
    components={
        "schemas": {"Node": NODE},
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}},
    },
)

keys = st.one_of(st.sampled_from(["$ref", "type", "properties", "name", "in"]), st.text(max_size=5))
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
        st.sampled_from(["#/components/schemas/Node", "#", "#/paths", "object", "array", "body", "id", "$ref", "{id}"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(keys, inner, max_size=4),
    ),
    max_leaves=6,
)  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


PLACES = [place for place in places(WHOLE) if place]


def change_node(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    whole = copy.deepcopy(WHOLE)
    node: Any = whole
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return whole


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(PLACES), values, st.dictionaries(st.sampled_from(["id", "q", "name", "body", "x", "odd"]), values)
)
def test_any_value_in_any_place_is_survived(place: tuple[Any, ...], value: Any, arguments: dict[str, Any]) -> None:
    text = json.dumps(change_node(place, value)).encode()
    try:
        loaded = build_catalog(SourceRequest(location=LOCATION), text, LOCATION)
    except ExecutorError as error:
        assert error.hint
        return
    for tool in loaded.tools:
        validator = compile_schema(with_definitions(forms.strict_schema(tool), dict(loaded.definitions)))
        assert signature(tool, loaded.definitions)
        with contextlib.suppress(ToolError):
            arranged = forms.arrange(tool, arguments)
            if not problems(validator, arranged, arguments, tool):
                build("https://a.example", tool.binding, arranged, "key")
