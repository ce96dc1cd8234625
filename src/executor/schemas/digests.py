"""Digests of tools that change exactly when something an approval was based on changes.

A tool's digest covers its schemas with every definition they reach. Definitions are digested once per source, also
where they refer to each other in circles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from executor.model.digest import canonical
from executor.model.source import Loaded
from executor.model.tool import Schema, Tool
from executor.schemas.references import deep_digests, named_in


def add_digests(loaded: Loaded) -> Loaded:
    """With the digests that its tools lack."""
    if all(tool.schema_digest for tool in loaded.tools):
        return loaded
    return replace(loaded, tools=with_digests(loaded.tools, loaded.definitions))


def with_digests(tools: Iterable[Tool], definitions: Mapping[str, Schema]) -> tuple[Tool, ...]:
    deep = deep_digests(definitions)
    return tuple(replace(tool, schema_digest=tool_digest(tool, deep)[0]) for tool in tools)


def tool_digest(tool: Tool, deep: Mapping[str, str]) -> tuple[str, set[str]]:
    """The digest, and the names of the definitions that the tool points at itself."""
    own = canonical([tool.path, tool.effect, tool.idempotent, tool.input_schema, tool.output_schema, tool.binding])
    names = named_in(own)
    beneath = canonical({name: deep.get(name, "") for name in names})
    return hashlib.sha256(b"[%b,%b]" % (own, beneath)).hexdigest(), names
