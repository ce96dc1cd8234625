"""Introspection: the query that reads a service's schema, and its answer turned into an outline."""

from __future__ import annotations

import re
from typing import Any

from executor.errors import DocumentInvalid
from executor.sources.graphql.schema.outline import SCALARS, Argument, Field, NamedType, Outline, TypeKind

MAX_WRAPPING = 12
MAX_DEFAULT = 500
GRAPHQL_NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]{0,199}\Z")
KINDS: dict[str, TypeKind] = {
    "SCALAR": "scalar", "OBJECT": "object", "INTERFACE": "interface", "UNION": "union", "ENUM": "enum",
    "INPUT_OBJECT": "input",
}  # fmt: skip

Notes = list[tuple[str, str]]


def introspection_query(*, modern: bool) -> str:
    """`modern` asks also for what older services don't know; the other form is shallow, for those that count depth."""
    old = "(includeDeprecated: true)"
    inner = "name kind"
    for _ in range(7 if modern else 3):
        inner = f"name kind ofType {{ {inner} }}"
    value = f"name description defaultValue type {{ {inner} }} {'isDeprecated' if modern else ''}"
    return (
        "query Introspection { __schema { queryType { name } mutationType { name } subscriptionType { name } types { "
        f"kind name description {'isOneOf' if modern else ''} "
        f"fields{old} {{ name description isDeprecated args{old if modern else ''} {{ {value} }} type {{ {inner} }} }} "
        f"inputFields{old if modern else ''} {{ {value} }} "
        f"enumValues{old} {{ name }} interfaces {{ name }} possibleTypes {{ name }} }} }} }}"
    )


def read(schema: Any, where: str, notes: Notes) -> Outline:
    """From the `__schema` of an answer. What is broken in it is left out and noted."""
    types = schema.get("types") if isinstance(schema, dict) else None
    if not isinstance(types, list):
        raise DocumentInvalid(f"{where}: the introspection has no list of types", hint="request the whole `__schema`")
    found = {name: NamedType(name, "scalar") for name in SCALARS}
    for given in types:
        one = named_type(given, notes)
        if one is not None and one.name not in found:
            found[one.name] = one
    return Outline(roots(schema), found)


def roots(schema: dict[str, Any]) -> dict[str, str]:
    named = {operation: schema.get(f"{operation}Type") for operation in ("query", "mutation", "subscription")}
    return {operation: name for operation, given in named.items() if (name := name_of(given))}


def named_type(given: Any, notes: Notes) -> NamedType | None:
    name, kind = name_of(given), KINDS.get(given.get("kind", "")) if isinstance(given, dict) else None
    if not name or kind is None:
        notes.append((f"type {shown_name(given)}", "it has no usable name or kind"))
        return None
    if name.startswith("__"):
        return None
    return NamedType(
        name,
        kind,
        text_of(given),
        fields={one.name: one for part in items(given, "fields") if (one := field(part, name, notes)) is not None},
        inputs={one.name: one for one in arguments(items(given, "inputFields"), name, notes)},
        values=tuple(value for part in items(given, "enumValues") if (value := name_of(part))),
        members=names(given, "possibleTypes") if kind == "union" else (),
        interfaces=names(given, "interfaces"),
        one_of=given.get("isOneOf") is True,
    )


def field(given: Any, owner: str, notes: Notes) -> Field | None:
    name, type = name_of(given), type_text(given.get("type")) if isinstance(given, dict) else None
    if not name or type is None:
        notes.append((f"{owner}.{shown_name(given)}", "it has no usable name or type"))
        return None
    found = arguments(items(given, "args"), f"{owner}.{name}", notes)
    return Field(name, type, tuple(found), text_of(given), given.get("isDeprecated") is True)


def arguments(given: list[Any], owner: str, notes: Notes) -> list[Argument]:
    found = []
    for part in given:
        name, type = name_of(part), type_text(part.get("type")) if isinstance(part, dict) else None
        if not name or type is None:
            notes.append((f"{owner}({shown_name(part)})", "it has no usable name or type"))
            continue
        default = part.get("defaultValue")
        default = default[:MAX_DEFAULT] if isinstance(default, str) else None
        found.append(Argument(name, type, default, text_of(part), part.get("isDeprecated") is True))
    return found


def type_text(given: Any) -> str | None:
    """`[Issue!]!` from a chain of `ofType`; None if the chain is broken."""
    chain = []
    for _ in range(MAX_WRAPPING):
        if not isinstance(given, dict):
            return None
        if given.get("kind") not in ("LIST", "NON_NULL"):
            text = name_of(given)
            break
        chain.append(given["kind"])
        given = given.get("ofType")
    else:
        return None
    for kind in reversed(chain):
        if not text or (kind == "NON_NULL" and text.endswith("!")):
            return None
        text = f"[{text}]" if kind == "LIST" else f"{text}!"
    return text or None


def name_of(given: Any) -> str:
    """The name, or nothing if it is none that GraphQL allows."""
    name = given.get("name") if isinstance(given, dict) else None
    return name if isinstance(name, str) and GRAPHQL_NAME.match(name) else ""


def shown_name(given: Any) -> str:
    name = given.get("name") if isinstance(given, dict) else given
    return repr(name)[:80]


def text_of(given: dict[str, Any]) -> str:
    text = given.get("description")
    return text.strip() if isinstance(text, str) else ""


def items(given: dict[str, Any], key: str) -> list[Any]:
    value = given.get(key)
    return value if isinstance(value, list) else []


def names(given: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in items(given, key) if (name := name_of(part))))
