"""Documents that are small to write and endless to walk."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from executor.errors import DocumentInvalid, SourceUnreachable
from executor.model.source import Loaded
from executor.network.client import Egress
from executor.sources.documents import subprocess as apart
from executor.sources.documents.threads import Loading, Stopped
from executor.sources.openapi import kind as kinds
from executor.sources.openapi.documents import walk_budget
from executor.sources.openapi.kind import OpenApi, build_catalog
from executor.sources.source_request import SourceRequest
from tests.sources.openapi.documents import answers, json_body, load

REF = "#/components/schemas/"


def ladder(keyword: str, steps: int, width: int, last: Any, **beside: Any) -> dict[str, Any]:
    """Each schema refers `width` times to the next: width ** steps ways down."""
    schemas: dict[str, Any] = {
        f"S{step}": {keyword: [{"$ref": f"{REF}S{step + 1}"} for _ in range(width)], **beside} for step in range(steps)
    }
    return {**schemas, f"S{steps}": last}


def load_with(schemas: dict[str, Any]) -> Loaded:
    first = {"$ref": f"{REF}S0"}
    operation = {"requestBody": json_body(first), "responses": answers(first)}
    return load({"/x": {"post": operation}}, components={"schemas": schemas})


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
@pytest.mark.parametrize("width", [8, 60])
def test_a_ladder_of_alternatives_is_walked_once_per_step(keyword: str, width: int) -> None:
    last = {"type": "object", "properties": {"z": {"type": "string"}}, "required": ["z"]}
    (tool,) = load_with(ladder(keyword, 7, width, last)).tools
    assert tool.binding["answers"]["200"]["types"] == ["object"]
    assert tool.binding["body"]["flat"] == ["z"]


def test_a_ladder_that_is_too_long_is_cut_and_promises_nothing() -> None:
    (tool,) = load_with(ladder("anyOf", 30, 10, {"type": "object"})).tools
    assert "types" not in tool.binding["answers"]["200"]


def test_alternatives_in_every_order_do_not_multiply() -> None:
    schemas: dict[str, Any] = {}
    names = "ABCDEFGH"
    for step in range(11):
        for turn, name in enumerate(names):
            order = names[turn:] + names[:turn]
            schemas[f"{name}{step}"] = {"anyOf": [{"$ref": f"{REF}{other}{step + 1}"} for other in order]}
    for name in names:
        schemas[f"{name}11"] = {"type": "object", "properties": {"x": {"const": name}}}
    operation = {"requestBody": json_body({"$ref": f"{REF}A0"})}
    (tool,) = load({"/x": {"post": operation}}, components={"schemas": schemas}).tools
    assert {part["const"] for part in tool.input_schema["properties"]["x"]["anyOf"]} == set(names)


def test_an_operation_beyond_the_budget_is_skipped_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_budget, "PER_OPERATION", 1_000)
    wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(1_000)}}
    loaded = load({"/wide": {"post": {"requestBody": json_body(wide)}}, "/plain": {"get": {}}})
    assert [tool.binding["path"] for tool in loaded.tools] == ["/plain"]
    assert [(one.where, "too complex" in one.reason) for one in loaded.skipped] == [("POST /wide", True)]


def test_one_part_used_by_many_operations_can_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_budget, "PER_DOCUMENT", 50_000)
    wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(500)}}
    body = {"requestBody": {"$ref": "#/components/requestBodies/wide"}}
    paths = {f"/x{n}": {"post": body} for n in range(200)}
    loaded = load(paths, components={"requestBodies": {"wide": json_body(wide)}})
    assert 0 < len(loaded.tools) < 100
    assert "document is too complex" in loaded.skipped[-1].reason


def test_many_schemas_of_one_name_are_distinguished_without_counting_again() -> None:
    schemas = {f"{n:b}".replace("0", "-").replace("1", "+"): {"type": "string"} for n in range(20_000)}
    whole = {"type": "object", "properties": {str(n): {"$ref": REF + name} for n, name in enumerate(schemas)}}
    loaded = load({"/x": {"get": {"responses": answers(whole)}}}, components={"schemas": schemas})
    assert len(loaded.definitions) == 20_000


class Blocking:
    """Stands in for a document that takes long: one reading, which waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.under_way = threading.Semaphore(0)
        monkeypatch.setattr(kinds, "read_catalog", self.build)

    def build(self, *given: Any, **more: Any) -> Loaded:
        self.under_way.release()
        assert self.go.wait(120)
        return build_catalog(*given, **more)


async def test_reading_is_bounded_as_a_whole(egress: Egress, monkeypatch: pytest.MonkeyPatch) -> None:
    blocking = Blocking(monkeypatch)
    request = SourceRequest(location="https://a.example/o.json", document=b"{}")
    with pytest.raises(SourceUnreachable, match=r"within 0\.2 seconds") as caught:
        await OpenApi(egress, load_seconds=0.2).load(request)
    blocking.go.set()
    assert caught.value.details["reason"] == "timeout"


async def test_documents_that_are_being_read_leave_threads_to_everybody_else(
    egress: Egress, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocking = Blocking(monkeypatch)
    kind = OpenApi(egress, load_seconds=120)
    request = SourceRequest(location="https://a.example/o.json", document=b"{}")
    loads = [asyncio.create_task(kind.load(request)) for _ in range(40)]
    for _ in range(2):
        assert await asyncio.to_thread(blocking.under_way.acquire, timeout=60)
    assert await asyncio.wait_for(asyncio.to_thread(lambda: "free"), 60) == "free"
    assert not blocking.under_way.acquire(blocking=False)
    blocking.go.set()
    results = await asyncio.gather(*loads, return_exceptions=True)
    assert len(results) == 40


async def test_a_reading_that_no_one_waits_for_stops_by_itself(egress: Egress, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def build(*given: Any, stopped: Stopped) -> Loaded:
        counted = walk_budget.Visits(0, stopped)
        try:
            while True:
                counted.begin()
                counted.spend(0)
        finally:
            ended.set()

    monkeypatch.setattr(kinds, "read_catalog", build)
    with pytest.raises(SourceUnreachable):
        request = SourceRequest(location="https://a.example/o.json", document=b"{}")
        await OpenApi(egress, load_seconds=1.0).load(request)
    assert await asyncio.to_thread(ended.wait, 120)


def test_many_paths_can_not_share_one_item_of_many_operations() -> None:
    more = {f"M{chr(65 + n // 26 % 26)}{chr(65 + n % 26)}{chr(65 + n // 676)}": {} for n in range(2_000)}
    paths = {f"/x{n}": {"$ref": "#/components/pathItems/wide"} for n in range(2_000)}
    with pytest.raises(DocumentInvalid, match="too complex"):
        load(paths, components={"pathItems": {"wide": {"additionalOperations": more}}})


async def test_large_documents_take_turns_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0

    async def elsewhere(*given: Any) -> Loaded:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return Loaded("", "", (), {}, (), "")

    monkeypatch.setattr(apart, "elsewhere", elsewhere)
    loading = Loading()
    request = SourceRequest(location="https://a.example/o.json")
    builds = [apart.build(build_catalog, request, b"{}", "", large=0, loading=loading) for _ in range(10)]
    await asyncio.gather(*builds)
    assert most == 2
