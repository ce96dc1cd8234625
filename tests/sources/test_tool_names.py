from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.sources import tool_names
from executor.sources.kind import RESERVED

SAFE = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


@pytest.mark.parametrize(
    "hostile",
    ["__proto__", "constructor", "then", "toString", "valueOf", "hasOwnProperty", "__class__", "import", "class", "",
     "..", "a.b", "a/b", "*", "**", "1", "\u202eevil", "a\x00b", "🙂", "x" * 1000, "%2e", "prototype", "call"],
)  # fmt: skip
def test_hostile_names_become_harmless(hostile: str) -> None:
    name = tool_names.identifier(hostile, "operation")
    assert SAFE.match(name) and len(name) <= tool_names.MAX_LENGTH + 1
    assert name not in tool_names.TAKEN


@pytest.mark.parametrize("lookalike", ["раypal", "ｐaypal", "pay𝐩al", "ρaypal"])  # noqa: RUF001 - lookalikes on purpose
def test_lookalikes_never_share_a_name(lookalike: str) -> None:
    assert tool_names.identifier(lookalike, "group") != tool_names.identifier("paypal", "group")


def test_accents_are_dropped() -> None:
    assert tool_names.identifier("Événements créés", "group") == "evenementsCrees"


@given(
    st.lists(
        st.tuples(st.sampled_from(["a.b", "a.B", "a.c", "a.b_1"]), st.integers().map(str)), unique_by=lambda x: x[1]
    )
)
def test_paths_are_unique_even_without_regard_to_case(wanted: list[tuple[str, str]]) -> None:
    given_names = tool_names.unique(wanted)
    assert len({name.lower() for name in given_names}) == len(wanted)


def test_none_of_two_clashing_operations_takes_the_plain_name() -> None:
    first, second = tool_names.unique([("a.list", "GET /x"), ("a.list", "GET /y")])
    assert "a.list" not in (first, second)
    assert tool_names.unique([("a.list", "GET /y"), ("a.list", "GET /x")]) == [second, first]


@pytest.mark.parametrize(
    ("title", "host", "namespace"),
    [
        ("GitHub v3 REST API", "api.github.com", "github"),
        ("Swagger Petstore - OpenAPI 3.0", "x", "petstore"),
        ("API", "api.stripe.com", "stripe"),
        ("", "127.0.0.1", "api"),
        ("", "localhost", "api"),
        ("Executor", "", "api"),
        ("The Execut0r API", "api.weather.example", "weather"),
        ("3scale", "", "api_3scale"),
        ("天气", "api.weather.example", "weather"),
        ("The Jira Cloud platform REST API", "", "jira"),
        ("Slack Web API", "", "slack"),
        ("Box Platform API", "", "box"),
        ("Spotify Web API with fixes and improvements", "", "spotify"),
        ("Google Maps Platform", "", "google_maps"),
        ("Web API Reference", "api.stripe.com", "stripe"),
        ("www.zoomconnect.com", "", "zoomconnect"),
        ("import.io", "", "import_io"),
        ("Xero Accounting API", "", "xero_accounting"),
        ("Netlify's API documentation", "", "netlify"),
        ("Discord HTTP API (Preview)", "", "discord"),
    ],
)
def test_namespaces_are_what_someone_would_choose(title: str, host: str, namespace: str) -> None:
    assert tool_names.namespace_from(title, host) == namespace


@given(st.text(), st.text())
def test_a_derived_namespace_is_always_valid(title: str, host: str) -> None:
    namespace = tool_names.namespace_from(title, host)
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,62}", namespace) and namespace not in RESERVED
