"""The order of arguments in signatures, and what is said about them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from executor.catalog.signatures.escape import comment
from executor.errors import NotFound, ToolError
from tests.catalog.conftest import CatalogHarness

TEXT = {"type": "string"}


def parameter(name: str, place: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": TEXT, **more}


def event(**parts: Any) -> dict[str, Any]:
    fields = {"start": TEXT, "summary": TEXT, "color": TEXT}
    schema = {"type": "object", "properties": fields, "required": ["summary"]}
    own = [parameter("notify"), parameter("calendar", "path", required=True), parameter("region", required=True)]
    body = {"content": {"application/json": {"schema": schema}}, **parts}
    return {"operationId": "insert", "tags": ["events"], "parameters": own, "requestBody": body}


async def arguments(harness: CatalogHarness, path: str, language: Any = "typescript") -> list[str]:
    told = await harness.catalog.describe(harness.workspace, path, language=language)
    head = told["signature"].split("Promise<")[0].split("->")[0]
    return re.findall(r"\b(notify\??|calendar\??|region\??|start\??|summary\??|color\??|alt\??|trace\??)\s*:", head)


@pytest.mark.parametrize("required", [True, False])
async def test_signatures_show_what_must_be_given_then_fields_then_own_arguments_then_shared_ones(
    harness: CatalogHarness, required: bool
) -> None:
    """A field that its body demands is shown as required, also where the body as a whole is not."""
    shared = [parameter("alt"), parameter("trace", "header")]
    others = {
        f"/other{number}": {"parameters": shared[:1], "get": {"operationId": f"o{number}", "parameters": shared[1:]}}
        for number in range(9)
    }
    own = event(required=required)
    paths = {
        "/c/{calendar}/events": {
            "parameters": shared[:1],
            "post": {**own, "parameters": [shared[1], *own["parameters"]]},
        }
    }
    await harness.connect({**paths, **others})
    found = await arguments(harness, "things.events.insert")
    assert set(found[:3]) == {"calendar", "region", "summary"}
    assert found[3:] == ["start?", "color?", "notify?", "trace?", "alt?"] or found[3:] == [
        "start?", "color?", "notify?", "alt?", "trace?",
    ]  # fmt: skip


async def test_python_shows_the_same_order(harness: CatalogHarness) -> None:
    await harness.connect({"/c/{calendar}/events": {"post": event(required=True)}})
    assert await arguments(harness, "things.events.insert", "python") == [
        "calendar", "region", "summary", "start", "color", "notify",
    ]  # fmt: skip


async def test_a_field_called_body_is_in_the_signature_and_is_checked_as_that(harness: CatalogHarness) -> None:
    doc = {"type": "object", "properties": {"type": TEXT}, "required": ["type"]}
    schema = {"type": "object", "properties": {"body": doc, "public": {"type": "boolean"}}, "required": ["body"]}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    await harness.connect({"/c": {"post": {"operationId": "comment", "tags": ["c"], "requestBody": body}}})
    tool = await harness.tool("things.c.comment")
    told = await harness.catalog.describe(harness.workspace, tool.path)
    assert "body: " in told["signature"] and "requestBody" not in told["signature"]
    await harness.catalog.check(tool, {"body": {"type": "doc"}})
    await harness.catalog.check(tool, {"requestBody": {"body": {"type": "doc"}}})
    with pytest.raises(ToolError) as wrong:
        await harness.catalog.check(tool, {"body": {"type": 1}})
    assert "/body/type" in str(wrong.value) and "requestBody" not in str(wrong.value)
    with pytest.raises(ToolError) as wrong:
        await harness.catalog.check(tool, {"requestBody": {"body": {"type": 1}}})
    assert "/requestBody/body/type" in str(wrong.value)


async def test_a_list_without_all_names_the_tool_and_its_cursor(harness: CatalogHarness) -> None:
    operation = {"operationId": "find", "tags": ["t"], "parameters": [parameter("nextPage"), parameter("per_page")]}
    await harness.connect({"/t": {"get": operation}, "/one": {"get": {"operationId": "one", "tags": ["t"]}}})
    with pytest.raises(NotFound) as missing:
        await harness.catalog.describe(harness.workspace, "things.t.find.all")
    assert missing.value.hint == "things.t.find has no `.all`: call it page by page, with `nextPage`"
    with pytest.raises(NotFound) as missing:
        await harness.catalog.describe(harness.workspace, "things.t.one.all")
    assert missing.value.hint == "things.t.one has no `.all`: call it as it is, without `.all`"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The SID of the [Account](https://x.example/docs/account) it is of", "The SID of the Account it is of"),
        ("The [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339#section-5.6 'a title') date", "The RFC 3339 date"),
        ("See [the guide][guide], e.g. for names. More.", "See the guide, e.g. for names."),
        ("A [wiki page](https://x.example/a_(b)) here", "A wiki page here"),
        ("[broken](", "broken"),
    ],
)  # fmt: skip
def test_comments_have_the_words_of_links(text: str, shown: str) -> None:
    assert comment(text, 60) == shown
