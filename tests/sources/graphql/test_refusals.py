"""Services that refuse a field which nobody asked for by name: the rest of the answer is not lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from graphql import GraphQLError

from executor.errors import ToolError
from executor.model.credentials import Credential
from executor.model.source import Loaded
from executor.sources.graphql import refusals
from executor.sources.graphql.kind import GraphQL
from executor.sources.graphql.refusals import refusal_of, without
from executor.sources.results import WARNINGS
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.graphql.service import source_of, tool_of
from tests.sources.graphql.shapes import FORGE, SHOP, MadeUp
from tests.sources.upstream import Reply, Upstream, as_json

Send = Callable[..., Awaitable[Any]]
SCOPES = (
    "Your token has not been granted the required scopes to execute this query. "
    "The 'email' field requires one of the following scopes: ['user:email', 'read:user'], but your token has only []."
)


@pytest.fixture
def warnings() -> list[str]:
    found: list[str] = []
    WARNINGS.set(found)
    return found


class Connected:
    def __init__(self, kind: GraphQL, loaded: Loaded, warnings: list[str], service: MadeUp) -> None:
        self.kind, self.loaded, self.warned, self.service = kind, loaded, warnings, service

    async def call(self, name: str, credential: Credential | None = None, /, **arguments: Any) -> Any:
        WARNINGS.set(self.warned)
        tool = tool_of(self.loaded, name)
        source = source_of(self.loaded)
        return orjson.loads(await self.kind.invoke(source, tool, arguments, "key", credential=credential))

    async def failure(self, name: str, /, **arguments: Any) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await self.call(name, **arguments)
        return caught.value


@pytest.fixture
def connect(kind: GraphQL, upstream: Upstream, warnings: list[str]) -> Callable[[str], Awaitable[Connected]]:
    async def load(sdl: str) -> Connected:
        service = MadeUp(sdl)
        upstream.routes["/graphql"] = service
        request = SourceRequest(
            location=upstream.url + "/graphql", namespace="it", consented=Consent(private_network=True)
        )
        return Connected(kind, await kind.load(request), warnings, service)

    return load


Connect = Callable[[str], Awaitable[Connected]]


def scopes(document: Any) -> list[dict[str, Any]]:
    """As a service does that judges the whole document before it runs any of it."""
    start = document.loc.source.body.find("email")
    if start < 0:
        return []
    return [{"type": "INSUFFICIENT_SCOPES", "locations": [{"line": 1, "column": start + 1}], "message": SCOPES}]


async def test_a_query_that_is_refused_a_field_asks_again_without_it_and_says_so(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.refuse = scopes
    found = await it.call("query.viewer")
    assert found["login"] == "text" and "email" not in found
    assert len(it.service.queries) == 2 and "email" not in it.service.queries[1]
    assert "`email`" in it.warned[0] and "select" in it.warned[0]


async def test_the_next_call_does_not_ask_twice_and_still_says_so(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.refuse = scopes
    await it.call("query.viewer")
    it.warned.clear()
    await it.call("query.viewer")
    assert len(it.service.queries) == 3
    assert "`email`" in it.warned[0]


async def test_another_credential_is_asked_for_again(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    it = await connect(FORGE)
    it.service.refuse = scopes
    await it.call("query.viewer")
    it.service.refuse = lambda document: []
    other = Credential("mine", "https://elsewhere.example", "other")
    assert (await it.call("query.viewer", other))["email"] == "text"
    assert "email" not in await it.call("query.viewer")
    monkeypatch.setattr(refusals, "REMEMBERED_SECONDS", 0.0)
    assert (await it.call("query.viewer"))["email"] == "text"


async def test_nulls_that_take_the_whole_answer_with_them_are_recovered(connect: Connect) -> None:
    it = await connect(SHOP)
    it.service.denied["Product.margin"] = "To access this path, you need one of the following permissions: MANAGE"
    found = await it.call("query.products", first=1)
    assert found["edges"][0]["node"]["name"] == "text"
    assert "margin" not in found["edges"][0]["node"]
    assert "`edges.node.margin`" in it.warned[0]


@pytest.mark.parametrize(
    "errors",
    [
        [{"message": 'Cannot query field "email" on type "User".'}],
        [{"message": "Field 'email' doesn't exist on type 'User'", "path": ["query viewer", "viewer", "email"]}],
        [{"message": "Access denied for email field. Required access: `read_customers` access scope."}],
        [{"message": "no", "path": ["viewer", "email"], "extensions": {"code": "FORBIDDEN"}}],
        [{"message": "no", "path": ["viewer", "email"]}, {"message": "The 'bio' field requires more"}],
    ],
)
async def test_refusals_are_understood_by_path_place_and_message(connect: Connect, errors: list[Any]) -> None:
    it = await connect(FORGE)
    it.service.refuse = lambda document: errors if "email" in document.loc.source.body else []
    assert (await it.call("query.viewer"))["login"] == "text"
    assert len(it.service.queries) == 2


async def test_a_service_that_names_one_field_at_a_time_is_asked_a_few_times(connect: Connect) -> None:
    it = await connect(FORGE)

    def one_by_one(document: Any) -> list[dict[str, Any]]:
        found = [name for name in ("email", "bio") if name in document.loc.source.body]
        return [{"message": f"Cannot query field '{found[0]}' on type 'User'."}] if found else []

    it.service.refuse = one_by_one
    assert (await it.call("query.viewer"))["login"] == "text"
    assert len(it.service.queries) == 3


@pytest.mark.parametrize(
    "errors",
    [
        [{"message": "Could not resolve to a User", "type": "NOT_FOUND", "path": ["viewer"]}],
        [{"message": "API rate limit exceeded", "type": "RATE_LIMITED", "path": ["viewer", "email"]}],
        [{"message": "Argument 'email' on Field 'viewer' has an invalid value"}],
        [{"message": "something went wrong"}],
        [{"message": "no", "path": ["viewer", "email"]}, {"message": "something went wrong"}],
        [{"message": "Field 'nowhere' doesn't exist on type 'User'"}],
        ["no object at all"],
        "no list at all",
    ],
)
async def test_what_failed_for_another_reason_still_fails_and_is_not_sent_again(connect: Connect, errors: Any) -> None:
    it = await connect(FORGE)
    it.service.refuse = lambda document: errors
    error = await it.failure("query.viewer")
    assert error.tool_code == "upstream_error"
    assert len(it.service.queries) == 1 and not it.warned


@pytest.mark.parametrize("status", [401, 429, 503])
async def test_a_status_that_is_about_the_whole_request_fails_as_before(
    connect: Connect, upstream: Upstream, status: int
) -> None:
    it = await connect(FORGE)
    answer: Reply = as_json({"errors": [{"message": "no", "path": ["viewer", "email"]}]}, status)
    upstream.routes["/graphql"] = answer
    assert (await it.failure("query.viewer")).http_status == status


async def test_fields_that_the_caller_chose_are_not_taken_away(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.denied["User.email"] = GraphQLError("no", extensions={"code": "FORBIDDEN"})
    assert (await it.failure("query.viewer", select="{ login email }")).tool_code == "upstream_error"
    assert len(it.service.queries) == 1


async def test_what_fails_once_is_asked_for_again_the_next_time(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.denied["User.email"] = "the mail server is down"
    assert "email" not in await it.call("query.viewer")
    it.service.denied.clear()
    assert (await it.call("query.viewer"))["email"] == "text"


async def test_a_mutation_is_sent_once_and_what_came_is_returned_with_a_warning(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.denied["Repository.url"] = "you need the permission to see it"
    it.service.denied["User.bio"] = "you need the permission to see it"
    it.service.values["Issue.author"] = None
    found = await it.call("mutation.createIssue", title="x")
    assert found["issue"] is None  # the field may not be null, so nothing of the issue came
    assert (await it.call("mutation.createUser", login="x"))["bio"] is None
    assert len(it.service.queries) == 2
    assert "`issue.repository.url`" in it.warned[0] and "took effect" in it.warned[0]


async def test_a_mutation_of_which_nothing_could_be_read_was_done_all_the_same(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.denied["User.email"] = "you need the permission to see it"
    assert await it.call("mutation.createUser", login="x") is None
    assert len(it.service.queries) == 1
    assert "took effect" in it.warned[0]


async def test_a_mutation_that_was_refused_before_it_was_run_fails_and_works_the_next_time(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.refuse = scopes
    assert (await it.failure("mutation.createUser", login="x")).tool_code == "upstream_error"
    assert len(it.service.queries) == 1
    assert (await it.call("mutation.createUser", login="x"))["login"] == "text"
    assert len(it.service.queries) == 2


async def test_a_mutation_whose_own_field_failed_fails(connect: Connect) -> None:
    it = await connect(FORGE)
    it.service.denied["Mutation.createIssue"] = "the permission to write is missing"
    assert (await it.failure("mutation.createIssue", title="x")).tool_code == "upstream_error"
    assert not it.warned


def test_a_selection_loses_fields_and_what_they_leave_empty() -> None:
    text = "{id ...on User{email name} a{b} labels(first:10){nodes{id}} x:name}"
    assert (
        without(text, frozenset({("email",), ("a", "b"), ("x",)})) == "{id ...on User{name}labels(first:10){nodes{id}}}"
    )
    assert without("{a{b}}", frozenset({("a", "b")})) == ""


def test_aliases_are_understood_by_the_name_in_the_answer() -> None:
    query = "query q{q{__typename ...on A{name} ...on B{name_B:name}}}"
    found = refusal_of([{"message": "no access", "path": ["q", "name_B"]}], query)
    assert found is not None and found.ways == {("name_B",)} and found.is_lasting
    assert replace(found, is_lasting=False) != found
