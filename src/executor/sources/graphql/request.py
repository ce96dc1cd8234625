"""What is posted for a call of one field."""

from __future__ import annotations

import json
from typing import Any

from executor.dataclass import dataclass
from executor.model.tool import Tool
from executor.sources.graphql.storage_format import binding_of


@dataclass(frozen=True, slots=True)
class Body:
    """What is posted. `variables` are never part of the text."""

    query: str
    variables: dict[str, Any]
    operation_name: str = ""

    def encode(self) -> bytes:
        """By the standard library: callers may give integers of any size."""
        named = {"operationName": self.operation_name} if self.operation_name else {}
        return json.dumps({"query": self.query, "variables": self.variables, **named}).encode()


def call_of(tool: Tool, arguments: dict[str, Any], selection: str, fragments: str = "") -> Body:
    """A document for one field. Only arguments that were given are mentioned: defaults stay the service's own."""
    binding = binding_of(tool)
    types, field, choosing = binding["arguments"], binding["field"], binding["select"]
    given = {name: value for name, value in arguments.items() if name in types and name != choosing}
    declared = ",".join(f"${name}:{types[name]}" for name in given)
    passed = ",".join(f"{name}:${name}" for name in given)
    head = f"{binding['type']} {field}" + (f"({declared})" if given else "")
    call = field + (f"({passed})" if given else "")
    return Body(f"{head}{{{call}{selection}}}{fragments}", given)
