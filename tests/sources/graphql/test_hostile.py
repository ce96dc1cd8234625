"""Schemas that are large, broken or meant to harm."""

from __future__ import annotations

import re
from typing import Any

import jsonschema_rs
import orjson
import pytest
from graphql import build_schema, parse, validate

from executor.catalog.signatures.signature import signature
from executor.errors import DocumentInvalid
from executor.model.source import Loaded
from executor.sources.graphql import loader
from executor.sources.graphql.kind import GraphQL
from executor.sources.graphql.request import call_of
from executor.sources.graphql.tools import tool_names
from executor.sources.source_request import SourceRequest
from tests.sources.graphql.service import source_of, tool_of

ENDPOINT = "https://api.example.com/graphql"
PATH = re.compile(r"h\.(?:query|mutation|graphql)\.[A-Za-z][A-Za-z0-9_]{0,80}\Z")


def read(document: str | dict[str, Any], **given: Any) -> Loaded:
    data = document.encode() if isinstance(document, str) else orjson.dumps(document)
    request = SourceRequest(document=data, base_url=ENDPOINT, namespace="h", **given)
    return loader.build_catalog(request, data, ENDPOINT, [])


def type_reference(name: Any, kind: str = "SCALAR") -> dict[str, Any]:
    return {"kind": kind, "name": name, "ofType": None}


def introspection(fields: list[Any], *types: Any) -> dict[str, Any]:
    query = {"kind": "OBJECT", "name": "Query", "fields": fields, "interfaces": []}
    return {"__schema": {"queryType": {"name": "Query"}, "types": [query, *types]}}


def field(name: Any, type: Any = None, args: Any = ()) -> dict[str, Any]:
    return {"name": name, "type": type or type_reference("String"), "args": list(args)}


def test_names_with_a_meaning_of_their_own_become_harmless() -> None:
    names = ["__proto__", "constructor", "then", "toString", "class", "_entities", "__", "_", "a" * 200, "User", "user"]
    loaded = read(introspection([field(name) for name in names]))
    paths = [tool.path for tool in loaded.tools if ".query." in tool.path]
    assert len(paths) == len(names)
    assert len({path.lower() for path in paths}) == len(names)
    assert all(PATH.match(path) for path in paths)
    last = {path.rpartition(".")[2] for path in paths}
    assert not last & {"__proto__", "constructor", "then", "toString", "class"}
    assert {tool.binding.get("field") for tool in loaded.tools} >= set(names)


def test_the_same_schema_always_gives_the_same_names() -> None:
    fields = ["user", "User", "USER", "_user", "other"]
    names = tool_names("query", fields, {})
    assert names == tool_names("query", fields[::-1], {})
    assert names["other"] == "other"
    assert len({name.lower() for name in names.values()}) == len(fields)


def test_names_given_before_stay_when_others_come() -> None:
    before = {
        "query.user": "query.user",
        "query.gone": "query.gone",
        "query.odd": "mutation.x",
        "query.bad": "query.a b",
    }
    names = tool_names("query", ["User", "user", "odd", "bad"], before)
    assert names["user"] == "user"
    assert names["User"].startswith("User_")
    assert (names["odd"], names["bad"]) == ("odd", "bad")


def test_broken_parts_are_left_out_and_named() -> None:
    loaded = read(
        introspection(
            [
                field("good"),
                field("bad name"),
                field(7),
                None,
                field("untyped", {"kind": "LIST"}),
                field("unknown", type_reference("Nowhere", "OBJECT")),
                field("wrong", type_reference("In", "INPUT_OBJECT")),
                field("optional", args=[{"name": "x", "type": type_reference("Nowhere")}]),
                field(
                    "needed", args=[{"name": "x", "type": {"kind": "NON_NULL", "ofType": type_reference("Nowhere")}}]
                ),
                field(
                    "output",
                    args=[{"name": "x", "type": {"kind": "NON_NULL", "ofType": type_reference("Query", "OBJECT")}}],
                ),
            ],
            {"kind": "INPUT_OBJECT", "name": "In", "inputFields": [{"name": "a", "type": type_reference("Int")}]},
            {"kind": "OBJECT", "name": "String", "fields": [field("evil")]},
            {"kind": "STRANGE", "name": "Odd"},
            "not a type",
        )
    )
    assert {tool.path for tool in loaded.tools if ".query." in tool.path} == {"h.query.good", "h.query.optional"}
    where = " ".join(one.where for one in loaded.skipped)
    for part in ("bad name", "7", "untyped", "unknown", "wrong", "needed", "output", "Odd", "not a type"):
        assert part in where
    assert all(one.reason for one in loaded.skipped)


def test_types_wrapped_without_end_are_left_out() -> None:
    deep: dict[str, Any] = type_reference("String")
    for _ in range(200):
        deep = {"kind": "LIST", "ofType": deep}
    loaded = read(introspection([field("deep", deep), field("good")]))
    assert "Query.'deep'" in {one.where for one in loaded.skipped}
    assert "h.query.good" in {tool.path for tool in loaded.tools}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("{", "JSON"),
        ("[]", "not an introspection"),
        ('{"openapi": "3.0.0"}', "not an introspection"),
        ("<html></html>", "HTML"),
        ("type Query {", "not a GraphQL schema"),
        ("query { a }", "no queries"),
        ("type Query { a: " + "[" * 5_000 + "Int" + "]" * 5_000 + " }", "nested too deeply"),
        ('{"__schema": ' + "[" * 100_000 + "]" * 100_000 + "}", "JSON"),
        ("scalar A type A { a: Int } type Query { a: A }", "both"),
        ("type Query { a: Nowhere }", "can be used"),
    ],
)
def test_documents_that_are_no_schema_say_so(document: str, says: str) -> None:
    with pytest.raises(DocumentInvalid, match=says) as caught:
        read(document)
    assert caught.value.hint


def test_a_schema_file_that_is_too_large_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(DocumentInvalid, match="larger than"):
        read("type Query { a: Int }" + " " * 6_000_001 + "#")


def test_descriptions_can_not_break_out_of_signatures() -> None:
    loaded = read('"""Do */ evil(); /* it\n\n`${x}`"""\ntype Query { "a */ b \\u2028 c" a("*/ x" b: Int): Int }')
    written = signature(tool_of(loaded, "query.a"), loaded.definitions)
    assert written.count("*/") == written.count("/*")
    assert "\u2028" not in written


def test_recursive_types_are_shown_once_and_stay_small() -> None:
    loaded = read("type Query { a: A } type A { b: B id: ID } type B { a: A as: [A!] c: Int }")
    assert tool_of(loaded, "query.a").binding["selection"] == "{id b{c}}"
    wrappers = read("type Query { a: A } type A { b: B } type B { a: A }")
    assert tool_of(wrappers, "query.a").binding["selection"]


def test_a_type_without_plain_fields_can_still_be_asked() -> None:
    loaded = read("type Query { a: A } type A { a(x: Int!): A }")
    assert tool_of(loaded, "query.a").binding["selection"] == "{__typename}"


def test_wrappers_of_wrappers_do_not_multiply() -> None:
    name = "x" * 60
    parts = [
        f"type T{n}Payload {{ {' '.join(f'{name}{k}: T{(n * 8 + k) % 90}Payload a{k}{name}: Int' for k in range(8))} }}"
        for n in range(90)
    ]
    loaded = read("\n".join([*parts, "type Query { a: T0Payload }"]))
    assert len(tool_of(loaded, "query.a").binding["selection"]) <= 6_002


def test_fields_that_would_clash_in_one_answer_get_names_of_their_own() -> None:
    sdl = """
      union U = A | B | C
      type A { value: Int! same: String } type B { value: String same: String } type C { value: [Int] value_B: Int }
      type Query { u: U }
    """
    loaded = read(sdl)
    tool = tool_of(loaded, "query.u")
    assert tool.binding["selection"] == (
        "{__typename ...on A{value same} ...on B{value_B:value same} ...on C{value_C:value value_B_C:value_B}}"
    )
    assert not validate(build_schema(sdl), parse(call_of(tool, {}, tool.binding["selection"]).query))


def large(types: int) -> str:
    """Every type points at every tenth other, by objects, lists and connections, in a circle."""
    parts = [
        "enum E { A B }",
        "input I { a: Int i: I e: E }",
        "type PageInfo { endCursor: String hasNextPage: Boolean }",
    ]
    for n in range(types):
        links = "\n".join(
            f"o{k}: T{(n * 7 + k) % types} l{k}: [T{(n + k) % types}!]! c{k}: C{(n + k) % types}Connection"
            for k in range(10)
        )
        leaves = "\n".join(f"f{k}: String" for k in range(40))
        parts.append(f"type T{n} {{ id: ID! {leaves} {links} }}")
        parts.append(f"type C{n}Connection {{ nodes: [T{n}] pageInfo: PageInfo totalCount: Int }}")
        parts.append(f"extend type Query {{ t{n}(id: ID!, i: I): T{n} c{n}(first: Int): C{n}Connection }}")
    return "\n".join(parts)


def test_a_large_tangled_schema_stays_small() -> None:
    sdl = large(150)
    loaded = read(sdl)
    tools = [tool for tool in loaded.tools if tool.binding["type"] == "query"]
    assert len(tools) == 300
    assert len(orjson.dumps(dict(loaded.definitions))) < 10 * len(sdl)
    assert max(len(tool.binding["selection"]) for tool in tools) < 3_000
    schema = build_schema("type Query { nothing: Int }\n" + sdl)
    for tool in tools[::30]:
        arguments = dict.fromkeys(tool.binding["arguments"])
        assert not validate(schema, parse(call_of(tool, arguments, tool.binding["selection"]).query))


def test_a_long_chain_of_types_and_inputs_is_no_matter(kind: GraphQL) -> None:
    chain = [f"type T{n} {{ t: T{n + 1} }} input I{n} {{ i: I{n + 1} }}" for n in range(3_000)]
    loaded = read("\n".join([*chain, "type T3000 { a: Int } input I3000 { a: Int } type Query { t(i: I0): T0 }"]))
    assert len(loaded.definitions) > 3_000
    assert loader.stored_schema(loaded.config["schema"]).get_type("T2999") is not None


async def test_defaults_that_can_not_be_read_still_make_arguments_optional(kind: GraphQL) -> None:
    arguments = [
        {"name": "a", "type": {"kind": "NON_NULL", "ofType": type_reference("Int")}, "defaultValue": "[" * 5_000},
        {"name": "b", "type": {"kind": "NON_NULL", "ofType": type_reference("Int")}, "defaultValue": "}{"},
        {"name": "c", "type": type_reference("Int"), "defaultValue": "5"},
    ]
    loaded = read(introspection([field("x", args=arguments)]))
    schema = tool_of(loaded, "query.x").input_schema
    assert "required" not in schema
    assert schema["properties"]["c"]["default"] == 5
    assert "x(" in await kind.invoke(source_of(loaded), tool_of(loaded, "graphql.type"), {"name": "Query"}, "key")


def test_one_of_inputs_want_exactly_one_field() -> None:
    loaded = read("input By @oneOf { id: ID name: String } type Query { a(by: By!): Int }")
    by = jsonschema_rs.validator_for(loaded.definitions["By"])
    assert by.is_valid({"id": 1})
    assert by.is_valid({"name": "x"})
    for wrong in ({}, {"id": 1, "name": "x"}, {"id": None}):
        assert not by.is_valid(wrong)


def test_files_glued_together_and_odd_directives_are_read() -> None:
    loaded = read(
        """
        extend schema @link(url: "x") { query: Root }
        type Root @key(fields: "id") { a: Int a: Int }
        extend type Root { b(c: Int = 1 @constraint(max: 3)): Int }
        """
    )
    assert {"h.query.a", "h.query.b"} <= {tool.path for tool in loaded.tools}
