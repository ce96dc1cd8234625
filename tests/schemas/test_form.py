"""Forms that servers may show to people, and what is an answer to them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.errors import InvalidRequest
from executor.schemas.form import find_problems, read_form


def form(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("definition", "good", "bad"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd", 1, None]),
        ({"type": "string", "format": "email"}, ["a@b.example"], ["a", ""]),
        ({"type": "string", "format": "uri"}, ["https://a.example/"], ["a b"]),
        ({"type": "string", "format": "date"}, ["2026-02-28"], ["2026-02-30", "28.2.2026"]),
        ({"type": "string", "format": "date-time"}, ["2026-02-28T01:02:03Z"], ["2026-02-28"]),
        ({"type": "integer", "minimum": 1, "maximum": 9}, [1, 9], [0, 10, 1.5, "1", True]),
        ({"type": "number", "maximum": 0.5}, [0.5, -3], [0.6, "0"]),
        ({"type": "boolean"}, [True, False], [0, "true"]),
        ({"type": "string", "enum": ["a", "b"]}, ["a"], ["c", ""]),
        ({"type": "string", "enum": ["a"], "enumNames": ["A"]}, ["a"], ["A"]),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, ["a"], ["A"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1}, [["b"]], [["a", "b"], "a"]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1}, [["a"]], [[], ["b"]]),
    ],
)  # fmt: skip
def test_each_kind_of_field_takes_what_it_says_and_nothing_else(
    definition: Any, good: list[Any], bad: list[Any]
) -> None:
    fields = read_form(form(field=definition))
    assert [find_problems(fields, {"field": value}) for value in good] == [[]] * len(good)
    assert all(find_problems(fields, {"field": value}) for value in bad)


def test_problems_name_the_field_and_never_repeat_what_was_entered() -> None:
    fields = read_form({**form(code={"type": "string", "maxLength": 3}, age={"type": "integer"}), "required": ["age"]})
    assert sorted(find_problems(fields, {"code": "hunter2", "x": 1})) == [
        "age: it is required",
        "code: it is longer than 3 characters",
        "x: not part of this form",
    ]
    assert find_problems(fields, "text") and find_problems(fields, {"age": 1, "code": "x" * 100_000})


def test_a_default_that_is_not_valid_is_left_out() -> None:
    fields = read_form(form(a={"type": "integer", "default": "x"}, b={"type": "integer", "default": 3}))
    assert [one.default for one in fields] == [None, 3]


@pytest.mark.parametrize("name", ["password", "apiKey", "access_token", "PIN", "Client-Secret", "oneTimeCode", "cvv"])
def test_labels_that_ask_for_secrets_are_noticed(name: str) -> None:
    assert read_form(form(**{name: {"type": "string"}}))[0].looks_secret
    assert read_form(form(x={"type": "string", "title": name}))[0].looks_secret


@pytest.mark.parametrize("name", ["name", "shipping", "pinned", "country", "keyboard", "opinion"])
def test_other_labels_are_not(name: str) -> None:
    assert not read_form(form(**{name: {"type": "string"}}))[0].looks_secret


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "properties", "items", "enum", "oneOf", "const", "title", "default", "required", "a"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(anything)
def test_whatever_a_server_sends_is_read_or_refused(schema: Any) -> None:
    try:
        fields = read_form({"type": "object", "properties": {"a": schema}})
    except InvalidRequest:
        return
    find_problems(fields, {"a": schema})
