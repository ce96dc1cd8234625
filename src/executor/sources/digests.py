"""Digests of tools that change exactly when something an approval was based on changes.

A tool's digest covers its schemas with every definition they reach. Definitions are digested once per source, also
where they refer to each other in circles: the members of a circle (a strongly connected component) share one digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from executor.model.digest import digest
from executor.model.tool import Schema, Tool
from executor.sources.references import names_in


def with_digests(tools: Iterable[Tool], definitions: Mapping[str, Schema]) -> tuple[Tool, ...]:
    deep = deep_digests(definitions)
    return tuple(replace(tool, schema_digest=tool_digest(tool, deep)) for tool in tools)


def tool_digest(tool: Tool, deep: Mapping[str, str]) -> str:
    own = [tool.path, tool.effect, tool.idempotent, tool.input_schema, tool.output_schema, tool.binding]
    return digest([own, {name: deep.get(name, "") for name in names_in(own)}])


def deep_digests(definitions: Mapping[str, Schema]) -> dict[str, str]:
    links = {name: sorted(names_in(schema) & definitions.keys()) for name, schema in definitions.items()}
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
