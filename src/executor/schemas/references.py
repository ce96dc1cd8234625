"""References between schemas: `#/$defs/Name`, where the names are those of a source's definitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import orjson

from executor.model.digest import digest

PREFIX = "#/$defs/"
_MARK = b'"$ref":"#/$defs/'
_NAME = re.compile(rb'((?:[^"\\]|\\.)*)"')


def target_name(schema: Any) -> str:
    """The name of the definition that a schema refers to; empty if it refers to none."""
    ref = schema.get("$ref") if isinstance(schema, dict) else None
    return ref[len(PREFIX) :] if isinstance(ref, str) and ref.startswith(PREFIX) else ""


def names_in(*values: Any) -> set[str]:
    """Names of the definitions that schemas point at directly."""
    found: set[str] = set()
    stack = list(values)
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith(PREFIX):
                found.add(ref[len(PREFIX) :])
            stack.extend(part for part in node.values() if isinstance(part, dict | list))
        elif isinstance(node, list):
            stack.extend(part for part in node if isinstance(part, dict | list))
    return found


def named_in(written: bytes) -> set[str]:
    """The same of JSON text without white space: much faster than walking through the values."""
    found: set[str] = set()
    for before, after in pairwise(written.split(_MARK)):
        name = _NAME.match(after)
        if name is not None and not before.endswith(b"\\"):  # else its first quote is inside a longer key
            found.add(orjson.loads(b'"%b"' % name[1]) if b"\\" in name[1] else name[1].decode())
    return found


def rename_references(schema: Any, rename: Callable[[str], str]) -> Any:
    """The schema with every definition that it points at called as `rename` says."""
    if isinstance(schema, list):
        return [rename_references(part, rename) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: rename_references(value, rename) for key, value in schema.items()}
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref.startswith(PREFIX):
        changed["$ref"] = PREFIX + rename(ref[len(PREFIX) :])
    return changed


def links_of(definitions: Mapping[str, Any]) -> dict[str, list[str]]:
    """For each definition the names it points at, as far as they exist."""
    known = definitions.keys()
    return {name: sorted(named_in(orjson.dumps(schema)) & known) for name, schema in definitions.items()}


def deep_digests(definitions: Mapping[str, Any], links: Mapping[str, list[str]] | None = None) -> dict[str, str]:
    """A digest per definition that covers everything it reaches, also where definitions refer in circles.

    The members of a circle (a strongly connected component) share one digest beneath their own.
    """
    links = links_of(definitions) if links is None else links
    deep: dict[str, str] = {}
    for component in components(links):
        members = set(component)
        inside = {name: definitions[name] for name in component}
        outside = {other: deep[other] for name in component for other in links[name] if other not in members}
        together = digest([inside, outside])
        deep |= {name: digest([name, together]) for name in component}
    return deep


def components(links: Mapping[str, list[str]]) -> list[list[str]]:
    """Strongly connected components, those they point at first (Tarjan, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    is_open: set[str] = set()
    found: list[list[str]] = []
    for root in links:
        if root in order:
            continue
        work = [(root, iter(links[root]))]
        enter(root, order, low, open_names, is_open)
        while work:
            name, following = work[-1]
            child = next(following, None)
            if child is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == order[name]:
                    found.append(close(name, open_names, is_open))
            elif child not in order:
                enter(child, order, low, open_names, is_open)
                work.append((child, iter(links[child])))
            elif child in is_open:
                low[name] = min(low[name], order[child])
    return found


def enter(name: str, order: dict[str, int], low: dict[str, int], open_names: list[str], is_open: set[str]) -> None:
    order[name] = low[name] = len(order)
    open_names.append(name)
    is_open.add(name)


def close(name: str, open_names: list[str], is_open: set[str]) -> list[str]:
    component = []
    while True:
        member = open_names.pop()
        is_open.discard(member)
        component.append(member)
        if member == name:
            return sorted(component)
