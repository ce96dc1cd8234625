"""What a toolkit says of calls that can hold others: a document of the caller's own may call nothing outside of it."""

from __future__ import annotations

import re
from typing import Any

from executor.catalog.catalog import Catalog
from executor.errors import ToolError
from executor.execution.builtins.declaration import SOURCE
from executor.execution.policies.cache import PolicyCache
from executor.model.execution import Execution
from executor.model.tool import Tool

_SUGGESTION = re.compile(r"\s*Did you mean [^;]*?\?(?=\s|;|$)")
INTROSPECTION = "graphql.type"  # of the fields `__schema` and `__type`, which show the whole schema


class ToolkitChecks:
    def __init__(self, catalog: Catalog, policies: PolicyCache) -> None:
        self._catalog = catalog
        self._policies = policies

    async def check(self, execution: Execution, tool: Tool, arguments: dict[str, Any]) -> None:
        """Raises ToolError if the call would reach what the toolkit of the execution does not have."""
        if tool.source_id == SOURCE:
            return
        in_force = await self._policies.within(execution.workspace_id, execution.toolkit_id)
        if in_force.toolkit is None or in_force.toolkit.has_whole(tool.namespace):
            return
        if tool.known_keys.get("type") == "describe":
            raise ToolError(
                "denied",
                f"{tool.path} shows the whole schema, and this toolkit has only a part of it",
                hint="tools.describe.tool shows every field of a tool",
            )
        if not await self._catalog.may_hold_calls(tool):
            return
        meaning = await self._catalog.meaning(tool, arguments)
        fields = (await self._catalog.operations(await self._catalog.source_of(tool))).fields if meaning.parts else {}
        for part in meaning.parts:
            path = fields.get(part.operation) or f"{tool.namespace}.{part.operation}"
            if part.operation == INTROSPECTION or in_force.hides(path, part.effect):
                raise ToolError(
                    "unknown_tool",
                    f"the document calls {part.operation}, which is not a tool of {tool.namespace}",
                    hint="find tools with tools.discover",
                )

    async def redact(self, execution: Execution, tool: Tool, refusal: ToolError) -> ToolError:
        """Why a document was refused, without suggestions: they name what may be outside of the toolkit."""
        if not execution.toolkit_id or tool.known_keys.get("type") is None or refusal.tool_code != "invalid_arguments":
            return refusal
        in_force = await self._policies.within(execution.workspace_id, execution.toolkit_id)
        is_whole = in_force.toolkit is None or in_force.toolkit.has_whole(tool.namespace)
        return refusal if is_whole else remove_suggestions(refusal)


def remove_suggestions(error: ToolError) -> ToolError:
    details = dict(error.tool_details or {})
    if isinstance(problems := details.get("problems"), list):
        details["problems"] = [{**one, "message": _SUGGESTION.sub("", str(one.get("message", "")))} for one in problems]
    message = _SUGGESTION.sub("", error.message)
    return ToolError(error.tool_code, message, hint="nothing was sent; see tools.describe.tool", details=details)
