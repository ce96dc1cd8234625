from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.sources.openapi.tools import tool_names
from executor.sources.tool_names import TAKEN

SAFE = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


@pytest.mark.parametrize(
    ("operation_id", "tag", "name"),
    [
        ("createThing", "things", "createThing"),
        ("list_things", "things", "listThings"),
        ("ListThings", "", "listThings"),
        ("issues/list-for-repo", "issues", "listForRepo"),
        ("issues/list-for-repo", "other", "issuesListForRepo"),
        ("GetUserByID", "", "getUserByID"),
        ("URLCheck", "", "urlCheck"),
        ("things.list", "things", "list"),
        ("read_item_items__id__get", "items", "readItem"),
        ("", "items", "getItemsById"),
        ("   ", "items", "getItemsById"),
        ("列出", "items", "getItemsById"),
    ],
)
def test_operations_get_readable_names(operation_id: str, tag: str, name: str) -> None:
    assert tool_names.operation_name(operation_id, "get", "/items/{id}", tag) == name


@given(st.text(), st.text(), st.sampled_from(["get", "post"]), st.text())
def test_any_text_gives_a_harmless_name_and_always_the_same(
    operation_id: str, tag: str, method: str, path: str
) -> None:
    name = tool_names.operation_name(operation_id, method, path, tag)
    assert SAFE.match(name) and name not in TAKEN
    assert name == tool_names.operation_name(operation_id, method, path, tag)
    assert SAFE.match(tool_names.tag_group(tag, "") or tool_names.path_group(path, ""))


def make_names(
    *operations: tuple[str, str, str, str], namespace: str = "shop", held: dict[str, str] | None = None
) -> list[str]:
    """(method, path, tag, operationId) each."""
    parts = [tool_names.NameParts(method, path, (tag,) if tag else (), id) for method, path, tag, id in operations]
    return tool_names.names_of(parts, namespace, held or {})


@pytest.mark.parametrize(
    ("namespace", "operation", "name"),
    [
        ("slack", ("post", "/chat.postMessage", "chat", "chat_postMessage"), "chat.postMessage"),
        (
            "docusign",
            ("delete", "/a/{id}/custom_fields", "AccountCustomFields", "AccountCustomFields_DeleteAccountCustomFields"),
            "accountCustomFields.delete",
        ),
        ("k8s", ("post", "/api/v1/pods", "core_v1", "createCoreV1NamespacedPod"), "core.createNamespacedPod"),
        ("twilio", ("post", "/2010-04-01/M.json", "Api20100401Message", "CreateMessage"), "message.createMessage"),
        (
            "hubspot",
            ("get", "/crm/v3/objects/contacts/{contactId}", "Basic",
             "get-/crm/v3/objects/contacts/{contactId}_getById"),
            "basic.getById",
        ),
        ("sentry", ("post", "/api/0/internal/rpc/x/", "", ""), "internal.postInternalRpcX"),
        ("nest", ("get", "/users", "Users", "UsersController_findAll"), "users.findAll"),
        ("shop", ("get", "/v1/countries/all", "countries", "countriesAll"), "countries.countriesAll"),
        ("shop", ("post", "/x/import", "x", "xImport"), "x.xImport"),
        ("google_maps", ("get", "/maps/api/directions/json", "Directions API", "directions"), "directions.directions"),
    ],
)  # fmt: skip
def test_names_have_no_repeated_words_versions_or_slugs(
    namespace: str, operation: tuple[str, str, str, str], name: str
) -> None:
    assert make_names(operation, namespace=namespace) == [name]


def test_a_tag_that_is_the_name_of_the_whole_is_no_group() -> None:
    whole = [
        ("post", f"/accounts/{part}/get", "plaid", f"accounts{part.title()}Get") for part in ("a1", "b", "c", "d", "e")
    ]
    assert make_names(*whole, namespace="plaid")[1] == "accounts.bGet"
    assert make_names(*whole[:2], namespace="plaid") == ["plaid.accountsA1Get", "plaid.accountsBGet"]


def test_names_that_clash_say_more_of_themselves_instead_of_a_hash() -> None:
    one, other = ("get", "/a/{id}", "a", "read"), ("get", "/b/{name}", "a", "read")
    assert make_names(one, other) == ["a.readById", "a.readByName"] == make_names(other, one)[::-1]
    assert make_names(("get", "/a", "a", "do"), ("post", "/a", "a", "do")) == ["a.getDo", "a.postDo"]
    assert make_names(("get", "/a/x", "a", "do"), ("get", "/a/y", "a", "do")) == ["a.getAX", "a.getAY"]
    versions = make_names(("get", "/v1/t", "things_v1", "list"), ("get", "/v2/t", "things_v2", "list"))
    assert versions == ["thingsV1.list", "thingsV2.list"]
    plural = make_names(
        ("put", "/x/{id}", "OrderItems", "OrderItems_PutOrderItem"),
        ("put", "/x", "OrderItems", "OrderItems_PutOrderItems"),
    )
    assert plural == ["orderItems.putOrderItem", "orderItems.putOrderItems"]


def test_names_that_are_held_stay_and_newcomers_make_way() -> None:
    old = {"GET /a": "chat.chatPostMessage", "GET /b": "old_group.x_1f2e"}
    operations = (
        ("get", "/a", "chat", "chatPostMessage"),
        ("get", "/b", "b", "b"),
        ("get", "/c", "chat", "chat_postMessage"),
    )
    assert make_names(*operations, held=old) == ["chat.chatPostMessage", "old_group.x_1f2e", "chat.postMessage"]


def test_long_names_lose_what_their_group_says_and_never_get_a_hash() -> None:
    long = "EnvelopeWorkflowStep_PutEnvelopeWorkflowStepDefinitionOfTheWholeEnvelopeWithEverythingInIt"
    [name] = make_names(("put", "/x", "EnvelopeWorkflowDefinition", long), namespace="docusign")
    assert len(name) <= 85 and "_" not in name and name.startswith("envelopeWorkflowDefinition.")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["get", "post"]),
            st.sampled_from(["/a", "/a/{id}", "/v1/a", "/b/{x}/c", "/"]),
            st.sampled_from(["", "a", "A v1", "A v2", "shop"]),
            st.sampled_from(["", "a", "aList", "all", "A_list", "list", "import"]),
        ),
        unique_by=lambda one: one[:2],
    )
)
def test_names_are_unique_and_don_t_depend_on_the_order(operations: list[tuple[str, str, str, str]]) -> None:
    found = make_names(*operations)
    assert len({name.lower() for name in found}) == len(operations)
    assert all(re.fullmatch(r"[A-Za-z]\w*\.[A-Za-z]\w*", name) and not name.endswith(".all") for name in found)
    assert make_names(*reversed(operations)) == found[::-1]
