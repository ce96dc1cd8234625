"""Pass-through: the tools of a toolkit that MCP clients see beside `execute`, and the code that a call of one is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Connection

from executor.catalog.cache import Recent
from executor.dataclass import dataclass
from executor.execution.policies.cache import PolicyCache
from executor.execution.toolkits.reach import reach_of, read_heads
from executor.model.event import Announcement
from executor.model.identity.actor import Actor
from executor.model.tool import Schema, Tool
from executor.model.toolkit import Toolkit
from executor.policy.visibility import Visibility
from executor.storage.catalog import tools
from executor.storage.catalog.definitions import schemas_of
from executor.storage.database import Database
from executor.storage.feed import Feed

KEPT = 64
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


@dataclass(frozen=True, slots=True)
class Exposed:
    """A tool under the name that MCP clients call it by."""

    name: str
    tool: Tool
    input_schema: Schema


NONE: Mapping[str, Exposed] = {}


class Exposures:
    """Kept for each toolkit, and for each way in which policies narrow it, until something changes. A stale one would
    only show a tool: its calls are judged like all others."""

    def __init__(self, database: Database, policies: PolicyCache, feed: Feed) -> None:
        self._database = database
        self._policies = policies
        self._known: Recent[tuple[Any, ...], Mapping[str, Exposed]] = Recent(KEPT)
        feed.listen(self._hear)

    async def of(self, actor: Actor) -> Mapping[str, Exposed]:
        """By name, as far as the actor may see them."""
        toolkit = (await self._policies.of(actor.workspace_id)).toolkits.get(actor.toolkit_id)
        if toolkit is None or not toolkit.pass_through:
            return NONE
        visibility = await self._policies.visibility(actor.workspace_id, actor.id, toolkit.id)
        key = (toolkit.id, toolkit.updated_at, visibility and visibility.key)
        kept = self._known
        known = kept.get(key)
        if known is None:
            known = await self._database.read(lambda c: read_exposed(c, toolkit, visibility))
            kept.put(key, known)  # if something changed meanwhile, no one looks in there any longer
        return known

    def _hear(self, announcement: Announcement) -> None:
        if announcement.type.startswith(("source.", "policy.", "toolkit.")):
            self._known = Recent(KEPT)


def read_exposed(c: Connection, toolkit: Toolkit, visibility: Visibility | None) -> Mapping[str, Exposed]:
    reach = reach_of(toolkit, read_heads(c, toolkit.workspace_id, [toolkit]), visibility)
    found: dict[str, Exposed] = {}
    for one in reach.exposed_tools:
        tool = tools.get(c, toolkit.workspace_id, one.path)
        if tool is not None:
            schema = schemas_of(c, toolkit.workspace_id, tool)["inputSchema"]
            found[one.name] = Exposed(one.name, tool, schema)
    return found


def code_for(path: str, arguments: dict[str, Any]) -> str:
    """TypeScript that calls the tool and returns what it returns. JSON is a literal, but for a key that sets the
    prototype of an object instead of a property."""
    given = json.dumps(arguments, ensure_ascii=False, indent=2 if len(arguments) > 1 else None)
    if "__proto__" in given:
        given = f"JSON.parse({json.dumps(json.dumps(arguments))})"
    called = "".join(f".{one}" if _IDENTIFIER.fullmatch(one) else f"[{json.dumps(one)}]" for one in path.split("."))
    return f"return await tools{called}({given})"
