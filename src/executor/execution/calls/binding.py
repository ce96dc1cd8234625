"""Where a call goes and with which credential, and the binding of a human's decision to exactly that."""

from __future__ import annotations

from executor.catalog.catalog import Catalog
from executor.connections.connections import Connections
from executor.connections.resolution import Use
from executor.execution.builtins import tools as builtins
from executor.execution.policies.cache import PolicyCache
from executor.model.execution import Call, Execution
from executor.model.interaction import Binding
from executor.model.source import Source
from executor.model.tool import Tool

DESTINATIONS = 1_000


class Bindings:
    def __init__(self, catalog: Catalog, policies: PolicyCache, connections: Connections | None) -> None:
        self._catalog = catalog
        self._policies = policies
        self._connections = connections
        self._destinations: dict[int, tuple[Source, str]] = {}

    async def source_of(self, workspace_id: str, tool: Tool) -> Source | None:
        return None if tool.source_id == builtins.SOURCE else await self._catalog.source(workspace_id, tool.source_id)

    async def use(self, execution: Execution, tool: Tool) -> Use:
        """Which credential a call of this execution is sent with, or which one is missing."""
        source = await self.source_of(execution.workspace_id, tool)
        if source is None or self._connections is None:
            return Use()
        return await self._connections.resolve(source, tool, execution.actor_id)

    async def destination(self, source: Source) -> str:
        """Remembered with the very object that it is of: every call asks for it."""
        known = self._destinations.get(id(source))
        if known is None:
            if len(self._destinations) >= DESTINATIONS:
                self._destinations.clear()
            known = self._destinations[id(source)] = source, await self._catalog.destination(source)
        return known[1]

    async def destination_for(self, source: Source, tool: Tool | None) -> str:
        """What a policy for a tool is bound to. A document of one's own reaches whatever the whole schema offers."""
        where = await self.destination(source)
        return (
            f"{where}:{source.document_digest}" if tool is not None and tool.known_keys.get("type") == "raw" else where
        )

    async def route(self, execution: Execution, tool: Tool, use: Use | None = None) -> str:
        """Where a call of the tool goes now, and with which credential: in one word, so that it is kept and compared
        whole. Empty for the tools of Executor itself."""
        source = await self.source_of(execution.workspace_id, tool)
        if source is None:
            return ""
        mark = (use or await self.use(execution, tool)).mark
        return f"{await self.destination(source)} {mark}"

    async def bind(self, execution: Execution, call: Call, tool: Tool, source: Source | None) -> Binding:
        """What a decision applies to: the call, the tool as it is now, where it goes, and the policies in force."""
        return Binding(
            actor_id=execution.actor_id,
            execution_id=execution.id,
            call_seq=call.seq,
            path=tool.path,
            schema_digest=tool.schema_digest,
            arguments_digest=call.arguments_digest,
            source_digest=await self.destination(source) if source else "",
            policy_revision=(await self._policies.of(execution.workspace_id)).revision,
            connection=(await self.use(execution, tool)).mark,
        )
