from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from executor.errors import ConsentRequired, DocumentInvalid, EgressRefused, InvalidRequest, SourceUnreachable
from executor.network.client import Egress
from executor.sources import detection
from executor.sources.kind import Probe
from executor.sources.lifecycle import address_grants
from executor.sources.lifecycle.consent import check_consent
from executor.sources.registry import Kinds
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.openapi.documents import document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json

HERE = SourceRequest(location="https://api.example.com/x")


class Fake:
    """A kind that answers a probe as it is told."""

    def __init__(self, name: str, answer: Any) -> None:
        self.name = name
        self.answer = answer
        self.cancelled = False

    async def probe(self, request: SourceRequest) -> Probe | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer == "never":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return Probe(self.name, request.location) if self.answer else None


def kinds(*fakes: Fake) -> Kinds:
    return Kinds.of({fake.name: fake for fake in fakes})  # type: ignore[misc]


async def test_the_first_in_order_that_knows_it_wins_and_the_others_are_let_go() -> None:
    slow = Fake("c", "never")
    found = await detection.probe(kinds(Fake("a", False), Fake("b", True), slow), HERE)
    assert found.kind == "b"
    assert slow.cancelled


@pytest.mark.parametrize(
    ("path", "kind"), [("graphql", "graphql"), ("api/GraphQL?v=1", "graphql"), ("docs", "openapi")]
)
async def test_a_kind_that_the_address_names_comes_before_one_that_found_something_nearby(path: str, kind: str) -> None:
    request = SourceRequest(location=f"https://api.example.com/{path}")
    found = await detection.probe(kinds(Fake("openapi", True), Fake("graphql", True)), request)
    assert found.kind == kind


async def test_a_kind_that_breaks_does_not_keep_another_from_knowing_it() -> None:
    found = await detection.probe(kinds(Fake("a", RuntimeError("bug")), Fake("b", True)), HERE)
    assert found.kind == "b"


async def test_a_kind_that_never_answers_is_given_up() -> None:
    with pytest.raises(SourceUnreachable, match="could not be identified"):
        await detection.probe(kinds(Fake("a", "never")), HERE, seconds=0.05)


async def test_what_no_one_knows_is_refused_with_what_each_said() -> None:
    said = DocumentInvalid("it is a page about cats", hint="")
    with pytest.raises(DocumentInvalid, match="nothing to connect") as caught:
        await detection.probe(kinds(Fake("a", said), Fake("b", False)), HERE)
    assert caught.value.details["tried"] == {"a": "it is a page about cats", "b": "not of this kind"}


@pytest.mark.parametrize(
    "error", [SourceUnreachable("it is down", hint="", reason="refused"), EgressRefused("it is private", hint="")]
)
async def test_what_can_not_be_reached_is_said_to_be_so(error: Exception) -> None:
    with pytest.raises(type(error), match="it is"):
        await detection.probe(kinds(Fake("a", False), Fake("b", error)), HERE)


async def test_a_prefix_or_a_command_names_the_kind() -> None:
    both = kinds(Fake("a", True), Fake("mcp", True))
    assert (await detection.with_kind(both, SourceRequest(location="a:b.c"))).kind == "a"
    assert (await detection.with_kind(both, SourceRequest(location="a://b"))).kind == ""
    assert (await detection.with_kind(both, SourceRequest(command=("x",)))).kind == "mcp"


async def test_a_command_is_not_accepted_without_consent() -> None:
    request = SourceRequest(command=("rm", "-rf", "x"), consented=Consent(by_operator=True))
    with pytest.raises(ConsentRequired) as caught:
        check_consent(Fake("mcp", True), request)  # type: ignore[arg-type]
    assert caught.value.details["command"] == ["rm", "-rf", "x"]


async def test_an_openapi_document_behind_a_url_is_recognised_by_the_real_kinds(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.routes["/api.json"] = as_json(document({"/a": {"get": {"operationId": "a"}}}))
    all_kinds = Kinds(Egress(), tmp_path)
    try:
        request = SourceRequest(location=f"{upstream.url}/api.json", consented=Consent(private_network=True))
        resolved = await detection.resolve(all_kinds, request)
        assert resolved.kind == "openapi"
        assert [name for name in await all_kinds.names() if all_kinds.ready(name)] == ["openapi"]
    finally:
        await all_kinds.close()


DOCUMENT = document({"/a": {"get": {"operationId": "a"}}})
PAGE = Reply(200, b'<html><a href="/docs/openapi.json">API</a></html>', {"Content-Type": "text/html"})
STREAM = Reply(200, b"event: endpoint\ndata: /messages\n\n", {"Content-Type": "text/event-stream"})


def answer_graphql(got: Got, handler: Handler) -> Reply:
    return as_json({"data": {"__typename": "Query"}}) if got.method == "POST" else as_json({"errors": "GET"}, 405)


@pytest.mark.parametrize(
    ("path", "routes", "kind", "methods"),
    [
        ("/api.json", {"/api.json": as_json(DOCUMENT)}, "openapi", {"GET"}),
        ("/", {"/": PAGE, "/docs/openapi.json": as_json(DOCUMENT)}, "openapi", {"GET"}),
        ("/sse", {"/sse": STREAM}, "mcp", {"GET"}),
        ("/graphql", {"/graphql": answer_graphql}, "graphql", {"GET", "POST"}),
    ],
)
async def test_nothing_is_posted_to_an_address_that_a_get_has_explained(
    upstream: Upstream, tmp_path: Path, path: str, routes: dict[str, Any], kind: str, methods: set[str]
) -> None:
    upstream.routes |= routes
    all_kinds = Kinds(Egress(), tmp_path)
    try:
        request = SourceRequest(location=f"{upstream.url}{path}", consented=Consent(private_network=True))
        resolved = await detection.resolve(all_kinds, request)
    finally:
        await all_kinds.close()
    assert resolved.kind == kind
    assert resolved.options == ({"transport": "sse"} if kind == "mcp" else {})
    assert {got.method for got in upstream.requests} == methods
    assert next(got.method for got in upstream.requests if got.target == path) == "GET"


CARRIER = """
from executor.sources.kind import Probe

class Pigeon:
    name = "pigeon"
    def __init__(self, surroundings):
        self.surroundings = surroundings
    async def probe(self, request):
        return Probe(self.name, request.location) if request.location.startswith("pigeon:") else None
    async def close(self):
        pass

class Any(Pigeon):
    name = "any"
    async def probe(self, request):
        return Probe(self.name, request.location)
"""


async def test_a_package_registers_a_kind_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "carrier.py").write_text(CARRIER)
    info = tmp_path / "carrier-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[executor.kinds]\npigeon = carrier:Pigeon\nopenapi = carrier:Pigeon\n"
        "any = carrier:Any\nan_error = carrier:Missing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = Kinds(Egress(), tmp_path)
    kind = await found.get("pigeon")
    assert kind.surroundings.state_dir == tmp_path  # type: ignore[attr-defined]
    assert (await found.get("openapi")).__class__.__name__ == "OpenApi"  # a built-in one can't be replaced
    assert (await detection.probe(found, SourceRequest(location="nothing"))).kind == "any"  # whatever else is broken
    assert (await detection.resolve(found, SourceRequest(location="pigeon:home"))).kind == "pigeon"
    with pytest.raises(InvalidRequest, match="owl"):
        await found.get("owl")
    await found.close()


class Elsewhere(Fake):
    """Finds itself at another address than the one that was asked for."""

    async def probe(self, request: SourceRequest) -> Probe | None:
        return Probe(self.name, "http://127.0.0.1:9/o.json", base_url="http://10.0.0.5")


async def test_what_probing_finds_opens_nothing_that_no_one_asked_for() -> None:
    asked = SourceRequest(location="https://93.184.216.34/docs", consented=Consent(private_network=True))
    found = await detection.resolve(kinds(Elsewhere("a", True)), asked)
    assert (found.location, found.base_url) == ("http://127.0.0.1:9/o.json", "")
    assert (await address_grants.grant_addresses(found)).consented.origins == ()


async def test_what_was_asked_for_is_opened_before_anything_is_asked() -> None:
    asked = SourceRequest(location="http://127.0.0.1:8/docs", consented=Consent(private_network=True))
    found = await detection.resolve(kinds(Elsewhere("a", True)), asked)
    assert found.consented.origins == ("http://127.0.0.1:8",)
