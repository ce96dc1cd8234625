"""The validators of tools' arguments, each compiled once and kept while it is in use."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.catalog.cache import Recent
from executor.model.tool import Tool
from executor.schemas.references import names_in
from executor.schemas.validation import Validator, compile_schema
from executor.sources.kind import Kind
from executor.storage.catalog.definitions import read_reached, with_definitions
from executor.storage.database import Database


class Validators:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._compiled: Recent[tuple[str, str], Validator] = Recent(2_000)

    async def of(self, kind: Kind, tool: Tool, workspace_id: str) -> Validator:
        key = (tool.source_id, tool.schema_digest)
        validator = self._compiled.get(key)
        if validator is None:
            strict = kind.strict_schema(tool)

            def build(c: Connection) -> Validator:
                known = read_reached(c, workspace_id, tool.schema_digest, names_in(strict))
                return compile_schema(with_definitions(strict, known))

            validator = await self._database.read(build)
            self._compiled.put(key, validator)
        return validator
