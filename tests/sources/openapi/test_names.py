from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.sources.names import TAKEN
from executor.sources.openapi import names

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
        ("things.list", "things", "thingsList"),
        ("read_item_items__id__get", "items", "readItem"),
        ("", "items", "getItemsById"),
        ("   ", "items", "getItemsById"),
        ("列出", "items", "getItemsById"),
    ],
)
def test_operations_get_readable_names(operation_id: str, tag: str, name: str) -> None:
    assert names.operation_name(operation_id, "get", "/items/{id}", tag) == name


@given(st.text(), st.text(), st.sampled_from(["get", "post"]), st.text())
def test_any_text_gives_a_harmless_name_and_always_the_same(
    operation_id: str, tag: str, method: str, path: str
) -> None:
    name = names.operation_name(operation_id, method, path, tag)
    assert SAFE.match(name) and name not in TAKEN
    assert name == names.operation_name(operation_id, method, path, tag)
    assert SAFE.match(names.group_name([tag], path))
