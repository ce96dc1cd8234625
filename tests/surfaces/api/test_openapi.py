"""The OpenAPI document stays one that linters pass and from which generators make clients; scripts/try-openapi does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

import jsonschema_rs
import pytest

from executor.surfaces.api.app import create_app
from executor.surfaces.api.openapi.examples import EXAMPLES
from executor.surfaces.api.openapi.operations import operation_id, summary

Operation = dict[str, Any]


@cache
def document() -> Any:
    return create_app(None, None).openapi()  # type: ignore[arg-type]  # only its routes are looked at


def operations() -> Iterator[tuple[str, str, Operation]]:
    for path, item in document()["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def test_every_operation_has_a_name_of_its_own_that_is_an_identifier_everywhere() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names)) > 150
    assert not [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name)]


@pytest.mark.parametrize(
    ("method", "path", "is_list", "name"),
    [
        ("get", "/v1/executions", True, "executions_list"),
        ("post", "/v1/executions", False, "executions_create"),
        ("get", "/v1/executions/{execution_id}", False, "executions_get"),
        ("post", "/v1/executions/{execution_id}/resume", False, "executions_resume"),
        ("post", "/v1/sessions/{session_id}/terminals", False, "sessions_terminals_create"),
        ("put", "/v1/sources/{source}/hints", False, "sources_hints_set"),
        ("delete", "/v1/anonymous", False, "anonymous_clear"),
    ],
)
def test_the_name_of_an_operation_follows_from_its_address(method: str, path: str, is_list: bool, name: str) -> None:
    assert operation_id(method, path, is_list=is_list) == name


def test_every_operation_says_what_it_does() -> None:
    unsaid = [path for _, path, one in operations() if not one.get("description") or not one["summary"]]
    assert not unsaid
    assert not [path for _, path, one in operations() if len(one["summary"]) > 160]
    assert summary("Get `a.b` or another tool. Then more.") == "Get `a.b` or another tool"


def test_every_operation_says_how_it_can_refuse() -> None:
    for _, path, operation in operations():
        answers = operation["responses"]
        assert {"400", "default"} <= answers.keys(), path
        assert ("404" in answers) == ("{" in path), path
        assert ("401" in answers) == (operation.get("security") != []), path
        assert any(status.startswith("2") for status in answers), path
    problem = document()["components"]["responses"]["NotFound"]["content"]["application/problem+json"]
    assert problem["schema"] == {"$ref": "#/components/schemas/Problem"}


def test_every_tag_is_described_and_used() -> None:
    described = {tag["name"] for tag in document()["tags"] if tag["description"]}
    assert described == {tag for _, _, operation in operations() for tag in operation["tags"]}


def test_the_document_says_where_the_api_is_and_which_credentials_it_takes() -> None:
    assert document()["servers"] and document()["info"]["license"]["identifier"] == "MIT"
    assert document()["security"] == [{"token": []}, {"apiKey": []}, {"browser": []}]
    assert document()["components"]["securitySchemes"].keys() == {"token", "apiKey", "browser"}
    public = {path for _, path, operation in operations() if operation.get("security") == []}
    assert "/healthz" in public and "/v1/executions" not in public


def test_no_two_addresses_can_be_taken_for_each_other() -> None:
    parts = [path.strip("/").split("/") for path in document()["paths"]]
    mixed = [(a, b) for a, b in combinations(parts, 2) if len(a) == len(b) and differs_in_both(a, b)]
    assert not mixed


def differs_in_both(a: list[str], b: list[str]) -> bool:
    """Each has a parameter where the other has a word, and everything else is alike: /x/{id}/test and /x/ways/{id}."""
    sides = set()
    for one, other in zip(a, b, strict=True):
        if one.startswith("{") != other.startswith("{"):
            sides.add(one.startswith("{"))
        elif one != other and not one.startswith("{"):
            return False
    return len(sides) == 2


def test_every_example_is_one_that_the_api_would_take() -> None:
    seen = set()
    for _, _, operation in operations():
        for name in EXAMPLES.get(operation["operationId"], {}):
            seen.add(operation["operationId"])
            content = operation["requestBody"]["content"]["application/json"]
            schema = {**content["schema"], "components": document()["components"]}
            jsonschema_rs.validator_for(schema).validate(content["examples"][name.replace(" ", "-")]["value"])
    assert seen == EXAMPLES.keys()


def test_every_default_fits_its_schema() -> None:
    """Generators write defaults into clients."""
    for at, schema in schemas(document(), ""):
        if "default" in schema:
            whole = {**schema, "components": document()["components"]}
            jsonschema_rs.validator_for(whole).validate(schema["default"])
        values = [re.sub(r"[^a-z0-9]+", "_", str(one).lower()) for one in schema.get("enum", ())]
        assert len(values) == len(set(values)), at  # generated constants would have the same name


def schemas(node: Any, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        if isinstance(node.get("schema"), dict):
            yield at, node["schema"]
        for name, one in node.get("properties", {}).items() if isinstance(node.get("properties"), dict) else ():
            yield f"{at}/{name}", one
        for name, one in node.items():
            yield from schemas(one, f"{at}/{name}")
    elif isinstance(node, list):
        for number, one in enumerate(node):
            yield from schemas(one, f"{at}/{number}")


def test_streams_are_described_where_they_can_be_had() -> None:
    streams = {
        (method, path): one for method, path, one in operations() if "text/event-stream" in str(one["responses"])
    }
    assert ("post", "/v1/sources") in streams
    reads = {path: one for (method, path), one in streams.items() if method == "get"}
    assert reads.keys() == {
        "/v1/events",
        "/v1/executions/{execution_id}/events",
        "/v1/sessions/{session_id}/messages",
    }
    for path, operation in reads.items():
        assert "Last-Event-ID" in {one["name"] for one in operation["parameters"]}, path
