from __future__ import annotations

import pytest

from executor.catalog.nearest import Nearest
from executor.catalog.search import Index, stem, terms
from executor.errors import NotFound
from executor.model.tool import Effect
from executor.storage.tools import Head
from tests.catalog.conftest import House
from tests.sources.openapi.documents import answers


def head(path: str, description: str = "", effect: Effect = "read", deprecated: bool = False) -> Head:
    return Head(path, description, effect, (), deprecated, "src")


TOOLS = [
    head("github.issues.create", "Create an issue", "write"),
    head("github.issues.list", "List repository issues"),
    head("github.pulls.create", "Create a pull request", "write"),
    head("github.pulls.list", "List pull requests"),
    head("github.repos.delete", "Delete a repository", "destructive"),
    head("github.repos.get", "Get a repository"),
    head("github.reactions.createForIssue", "Create reaction for an issue", "write"),
    head("shop.refunds.createRefund", "Refund an invoice, in full or in part", "write"),
    head("shop.refunds.listRefunds", "List the refunds of an invoice"),
    head("shop.invoices.voidInvoice", "Void an invoice", "write"),
    head("old.issues.createIssue", "Create an issue", "write", deprecated=True),
]


def first(query: str, namespace: str | None = None) -> str:
    return Index(TOOLS).search(query, namespace=namespace)[0][0].head.path


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("github create issue", "github.issues.create"),
        ("open a new issue on GitHub", "github.issues.create"),
        ("list PRs", "github.pulls.list"),
        ("remove repo", "github.repos.delete"),
        ("fetch a repository", "github.repos.get"),
        ("refund an invoice", "shop.refunds.createRefund"),
        ("list refunds", "shop.refunds.listRefunds"),
        ("createForIssue", "github.reactions.createForIssue"),
        ("github.issues.list", "github.issues.list"),
        ("void invoices", "shop.invoices.voidInvoice"),
    ],
)
def test_the_meant_tool_comes_first(query: str, path: str) -> None:
    assert first(query) == path


def test_a_namespace_is_an_exact_filter() -> None:
    hits, total = Index(TOOLS).search("create issue", namespace="old")
    assert [hit.head.path for hit in hits] == ["old.issues.createIssue"] and total == 1
    assert Index(TOOLS).search("create issue", namespace="git") == ([], 0)


def test_the_order_is_stable() -> None:
    tools = [head(f"a.b.same{letter}", "Same words") for letter in "cab"]
    hits, _ = Index(tools).search("same words")
    assert [hit.head.path for hit in hits] == ["a.b.samea", "a.b.sameb", "a.b.samec"]


def test_a_limit_cuts_the_list_but_not_the_total() -> None:
    tools = [head(f"a.b.tool{number}", "Same words") for number in range(1_000)]
    hits, total = Index(tools).search("same words", limit=5)
    assert (len(hits), total) == (5, 1_000)


def test_stuffing_a_description_with_words_does_not_win() -> None:
    stuffed = head("evil.things.doIt", "Does it.\n\n" + "create issue github " * 200, "write")
    assert Index([*TOOLS, stuffed]).search("github create issue")[0][0].head.path == "github.issues.create"


@pytest.mark.parametrize("query", ["", "?", "🙂", "x" * 100_000, "the of", "'; DROP TABLE tools; --", "\x00", "你好"])
def test_odd_queries_are_answered(query: str) -> None:
    Index(TOOLS).search(query)


def test_words_are_split_and_stemmed() -> None:
    assert terms("listPullRequests for HTTPServers") == ["list", "pull", "request", "http", "server"]
    assert [stem(word) for word in ("entries", "boxes", "status", "address", "running", "gas")] == [
        "entry", "box", "status", "address", "runn", "gas"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("github.issues.creat", "github.issues.create"),
        ("github.issue.create", "github.issues.create"),
        ("GitHub.Issues.Create", "github.issues.create"),
        ("shop.createRefund", "shop.refunds.createRefund"),
        ("github.pulls.lst", "github.pulls.list"),
    ],
)
def test_the_nearest_path_is_found(wanted: str, near: str) -> None:
    assert Nearest(tool.path for tool in TOOLS).to(wanted, 3)[0] == near


def test_what_resembles_nothing_has_no_nearest() -> None:
    assert Nearest(tool.path for tool in TOOLS).to("zzzzqqqq", 3) == []
    assert Nearest([]).to("a.b", 3) == []


async def connected(house: House) -> None:
    operation = {"operationId": "getThing", "tags": ["things"], "summary": "Get a thing. It has more to say."}
    schema = {"$ref": "#/components/schemas/Thing"}
    parts = {"components": {"schemas": {"Thing": {"type": "object", "properties": {"id": {"type": "string"}}}}}}
    await house.connect({"/things/{id}": {"get": {**operation, "responses": answers(schema)}}}, **parts)


async def test_a_search_answers_as_deep_as_asked(house: House) -> None:
    await connected(house)
    names = await house.catalog.search(house.workspace, "get thing", depth=0)
    assert names["bestPath"] == "things.things.getThing" and names["total"] == 1
    assert set(names["items"][0]) == {"path", "description", "effect", "score"}
    assert names["items"][0]["description"] == "Get a thing."
    signatures = await house.catalog.search(house.workspace, "get thing")
    assert "Promise<Thing>" in signatures["items"][0]["signature"]
    schemas = await house.catalog.search(house.workspace, "get thing", depth=2)
    assert schemas["items"][0]["outputSchema"]["$defs"]["Thing"]["type"] == "object"


async def test_an_empty_query_lists_what_there_is(house: House) -> None:
    await connected(house)
    answer = await house.catalog.search(house.workspace, "  ")
    assert answer["bestPath"] is None
    assert answer["total"] == 1 and answer["namespaces"] == {"things": 1}


async def test_an_unknown_namespace_is_said(house: House) -> None:
    await connected(house)
    answer = await house.catalog.search(house.workspace, "thing", namespace="thnigs")
    assert answer["items"] == [] and "things" in answer["hint"]


async def test_a_tool_is_described_with_its_schemas_on_request(house: House) -> None:
    await connected(house)
    described = await house.catalog.describe(house.workspace, "things.things.getThing")
    assert described["effect"] == "read" and described["source"] == "things"
    assert "inputSchema" not in described
    with_schemas = await house.catalog.describe(house.workspace, "things.things.getThing", include_schemas=True)
    assert with_schemas["inputSchema"]["required"] == ["id"]


async def test_describing_an_unknown_tool_suggests_the_nearest(house: House) -> None:
    await connected(house)
    with pytest.raises(NotFound) as caught:
        await house.catalog.describe(house.workspace, "things.thing.getThing")
    assert "things.things.getThing" in caught.value.hint
