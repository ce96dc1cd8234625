"""What is asked for when the caller does not choose: of schemas in the manner of large services."""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema_rs
import orjson
import pytest
from graphql import build_schema, parse, validate
from graphql.language import FieldNode, InlineFragmentNode, OperationDefinitionNode, SelectionSetNode

from executor.model.source import Loaded
from executor.sources.graphql.kind import GraphQL
from executor.sources.graphql.loader import build_catalog
from executor.sources.graphql.relevance import is_guarded
from executor.sources.graphql.request import call_of
from executor.sources.source_request import Consent, SourceRequest
from tests.sources.graphql.service import source_of, tool_of
from tests.sources.graphql.shapes import FORGE, SHOP, TRACKER, MadeUp
from tests.sources.upstream import Upstream

ENDPOINT = "https://api.example.com/graphql"


def load(sdl: str) -> Loaded:
    return build_catalog(SourceRequest(namespace="it", base_url=ENDPOINT), sdl.encode(), ENDPOINT, [])


def fields(loaded: Loaded, name: str) -> list[str]:
    """Ways to the fields that are asked for, below the root field, in their order."""
    tool = tool_of(loaded, name)
    document = parse(call_of(tool, {}, tool.binding["selection"]).query)
    [operation] = document.definitions
    assert isinstance(operation, OperationDefinitionNode)
    [root] = operation.selection_set.selections
    assert isinstance(root, FieldNode)
    return list(ways(root.selection_set, ""))


def ways(selections: SelectionSetNode | None, before: str) -> Iterator[str]:
    for one in selections.selections if selections else ():
        if isinstance(one, InlineFragmentNode):
            assert one.type_condition is not None
            yield from ways(one.selection_set, f"{before}{one.type_condition.name.value}:")
        elif isinstance(one, FieldNode):
            yield f"{before}{one.name.value}"
            yield from ways(one.selection_set, f"{before}{one.name.value}.")


def test_a_repository_shows_what_people_look_at_first() -> None:
    found = fields(load(FORGE), "query.repository")
    assert found[:4] == ["id", "name", "nameWithOwner", "url"]
    wanted = {
        "visibility",
        "stargazerCount",
        "forkCount",
        "pushedAt",
        "isArchived",
        "owner.login",
        "primaryLanguage.name",
    }
    assert wanted <= set(found)
    assert {"labels.nodes.name", "labels.pageInfo.hasNextPage"} <= set(found)
    assert not {"descriptionHTML", "resourcePath", "viewerHasStarred", "watchers", "issues", "issue"} & set(found)


def test_long_texts_come_last_and_in_one_form_only() -> None:
    found = fields(load(FORGE), "mutation.createIssue")
    plain = [way for way in found if way.startswith("issue.") and way.count(".") == 1]
    leaves = [way for way in plain if not any(other.startswith(f"{way}.") for other in found)]
    assert leaves[-1] == "issue.body"
    assert not {"issue.bodyHTML", "issue.bodyText"} & set(found)


def test_an_issue_shows_its_state_team_assignee_project_and_labels() -> None:
    found = fields(load(TRACKER), "query.issues")
    issue = {way.removeprefix("nodes.") for way in found if way.startswith("nodes.")}
    assert {"identifier", "title", "dueDate", "priority", "url"} <= issue
    assert {"state.name", "team.key", "assignee.name", "project.name", "creator.name", "labels.nodes.name"} <= issue
    assert {"pageInfo.hasNextPage", "pageInfo.endCursor"} <= set(found)


def test_types_of_a_union_show_whose_they_are() -> None:
    found = set(fields(load(FORGE), "query.search"))
    assert {"nodes.Repository:owner.login", "nodes.Repository:stargazerCount", "nodes.Issue:author.login"} <= found


def test_an_amount_is_shown_with_its_currency_wherever_it_is() -> None:
    found = set(fields(load(SHOP), "query.products"))
    assert {"edges.node.price.gross.amount", "edges.node.price.gross.currency"} <= found
    assert "edges.node.price.gross.fractionalAmount" not in found
    assert "amount" not in fields(load(SHOP), "query.refund")  # it is deprecated
    assert {"amount.amount", "label"} <= set(fields(load(SHOP), "query.fee"))


@pytest.mark.parametrize(
    ("sdl", "tool", "never"),
    [
        (FORGE, "query.viewer", "sponsorsIncome"),
        (FORGE, "mutation.createIssue", "query"),
        (TRACKER, "query.issue", "activitySummary"),
        (TRACKER, "query.issue", "descriptionState"),
        (TRACKER, "query.issue", "activity"),
        (TRACKER, "query.issue", "release"),
        (TRACKER, "query.webhooks", "secret"),
        (SHOP, "query.product", "privateMetadata"),
        (SHOP, "query.product", "privateMetafields"),
        (SHOP, "query.product", "cost"),
    ],
)
def test_what_needs_a_permission_or_is_not_meant_to_be_used_is_not_asked_for(sdl: str, tool: str, never: str) -> None:
    found = fields(load(sdl), tool)
    assert found and never not in {step for way in found for step in way.split(".")}


@pytest.mark.parametrize(
    "text",
    [
        "[Internal] The sort order.",
        "[ALPHA] Whether it is on.",
        "Deprecated. Use `other`.",
        "DEPRECATED: this field will be removed",
        "Private metadata. Requires staff permissions to access.",
        "The note.\n\nRequires one of the following permissions: MANAGE_ORDERS.",
        "Enterprise information visible to enterprise owners.",
        "Requires the `read_orders` access scope.",
        "The address. Token must have the `user:email` scope.",
        "Only visible to members of the enterprise.",
        "Price for internal partner display, requires partner access",
        "For internal use.",
        "Admin only.",
        "This field is currently in private beta.",
        "Note: this API is currently in Feature Preview and can be subject to changes.",
    ],
)
def test_descriptions_that_demand_something_are_understood(text: str) -> None:
    assert is_guarded(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Whether the user is an admin.",
        "Whether the organization requires two-factor authentication.",
        "List of public metadata items. Can be accessed without permissions.",
        "Internal representation of an attribute name.",
        "The internal ID of the campaign",
        "The permissions of the viewer on this repository.",
        "The project that this subscription is scoped to.",
        "Identifies if the repository is private or internal.",
        "This option requires a channel filter to work.",
        "The owner of the repository.",
    ],
)
def test_descriptions_that_only_speak_of_such_things_are_not_taken_for_demands(text: str) -> None:
    assert not is_guarded(text)


@pytest.mark.parametrize("sdl", [FORGE, TRACKER, SHOP], ids=["forge", "tracker", "shop"])
async def test_what_is_asked_for_is_valid_and_the_answer_has_the_declared_type(
    kind: GraphQL, upstream: Upstream, sdl: str
) -> None:
    upstream.routes["/graphql"] = service = MadeUp(sdl)
    request = SourceRequest(location=upstream.url + "/graphql", namespace="it", consented=Consent(private_network=True))
    loaded = await kind.load(request)
    tools = [tool for tool in loaded.tools if tool.binding.get("selection") and "all" not in tool.binding]
    assert len(tools) >= 3
    for tool in tools:
        given = {name: 1 if type == "Int!" else "x" for name, type in tool.binding["arguments"].items() if "!" in type}
        value = orjson.loads(await kind.invoke(source_of(loaded), tool, given, "key"))
        assert not validate(build_schema(sdl), parse(service.queries[-1]))
        jsonschema_rs.validate({**(tool.output_schema or {}), "$defs": dict(loaded.definitions)}, value)
