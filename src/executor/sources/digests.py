"""Digests of tools that change exactly when something an approval was based on changes.

A tool's digest covers its schemas with every definition they reach. Definitions are digested once per source, also
where they refer to each other in circles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from executor.model.digest import digest
from executor.model.references import deep_digests, names_in
from executor.model.tool import Schema, Tool


def with_digests(tools: Iterable[Tool], definitions: Mapping[str, Schema]) -> tuple[Tool, ...]:
    deep = deep_digests(definitions)
    return tuple(replace(tool, schema_digest=tool_digest(tool, deep)) for tool in tools)


def tool_digest(tool: Tool, deep: Mapping[str, str]) -> str:
    own = [tool.path, tool.effect, tool.idempotent, tool.input_schema, tool.output_schema, tool.binding]
    return digest([own, {name: deep.get(name, "") for name in names_in(own)}])
